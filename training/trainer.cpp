// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/trainer.h>

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/plain_errors.h>
#include <transmute/training/session.h>

#include <new>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// While it lives, the calling thread computes as a new one does: with gradients, outside inference mode and without
// autocasts, whatever the application has set.
struct OrdinaryModes {
  const c10::InferenceMode normal{false};  // which sets gradients, too
  const c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::autocast_dispatch_keyset};
};

// Rethrows the current exception with a message for users, and tells the other ranks.
[[noreturn]] void fail(ProcessGroup& group) {
  try {
    rethrow_plainly();
  } catch (const std::bad_alloc& error) {
    const std::runtime_error plain(
        fmt::format("there is not enough memory ({}); use a smaller training.micro_batch_tokens, "
                    "training.recompute: true, or a smaller network",
                    error.what()));
    group.fail(plain.what());
    throw plain;
  } catch (const std::exception& error) {
    group.fail(error.what());
    throw;
  }
}

}  // namespace

Trainer::Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options) {
  config.check();
  const OrdinaryModes modes;
  group_ = std::make_unique<ProcessGroup>(options.ranks, device_of(options));
  try {
    session_ = std::make_unique<TrainingSession>(config, config_yaml, options, *group_);
  } catch (...) {
    fail(*group_);
  }
}

Trainer::~Trainer() = default;

bool Trainer::is_worthless() const {
  return session_->is_worthless();
}

int Trainer::run(const std::function<int()>& stop_signal) {
  const OrdinaryModes modes;
  try {
    return session_->run(stop_signal);
  } catch (...) {
    fail(*group_);
  }
}

}  // namespace v0
}  // namespace transmute
