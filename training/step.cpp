// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/step.h>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/random.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// A few pairs of a batch, for what is measured beside the training.
Batch first_rows(const Batch& batch) {
  constexpr int64_t kRows = 16;
  const int64_t rows = std::min(kRows, batch.source.size(0));
  Batch first;
  first.source = batch.source.narrow(0, 0, rows);
  first.target_in = batch.target_in.narrow(0, 0, rows);
  first.target_out = batch.target_out.narrow(0, 0, rows);
  return first;
}

}  // namespace

HostCopy::HostCopy(const torch::Tensor& tensor) {
  const torch::Device device = tensor.device();
  if (device.is_cpu()) {
    values_ = tensor;
    return;
  }
  // Into page-locked memory: the copy to any other is waited for.
  values_ = torch::empty(tensor.sizes(), tensor.options().device(torch::kCPU).pinned_memory(device.is_cuda()));
  values_.copy_(tensor, /*non_blocking=*/true);
  arrival_.emplace(device.type());
  arrival_->record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
}

const torch::Tensor& HostCopy::get() {
  // c10::Event, the same for all devices, has had no waiting for as long as LibTorch 1.13.
  while (arrival_ && !arrival_->query()) std::this_thread::sleep_for(std::chrono::microseconds(50));
  arrival_.reset();
  return values_;
}

Steps::Steps(const StepParts& parts, TrainState& state, StepOptions options)
    : parts_(parts), state_(state), options_(std::move(options)), agreed_seconds_(state.seconds) {}

// The steps of the schedule: training.max_steps, or fewer where the time is over before at the speed so far.
int64_t Steps::last_step(int64_t step) const {
  const TrainingOptions& training = parts_.config.training;
  if (training.max_minutes <= 0 || agreed_seconds_ <= 0) return training.max_steps;
  const double steps = static_cast<double>(step) * training.max_minutes * 60 / agreed_seconds_;
  return steps < static_cast<double>(training.max_steps) ? std::max(step, static_cast<int64_t>(steps))
                                                         : training.max_steps;
}

double Steps::share_of_step() const {
  constexpr double kUnderWay = 0.5;
  const int64_t all = std::max<int64_t>(1, micro_batches_of_step_);
  const int64_t done = std::min(all, parts_.replicas.micro_batches_done() - micro_batches_before_);
  const int64_t under_way = std::min<int64_t>(parts_.workers.size(), all - done);
  return (static_cast<double>(done) + kUnderWay * static_cast<double>(under_way)) / static_cast<double>(all);
}

double Steps::learning_rate(int64_t step) const {
  const TrainingOptions& training = parts_.config.training;
  return transmute::learning_rate(
      step, {parts_.config.model.model.d_model, training.warmup_steps, training.learning_rate_scale, training.schedule,
             training.learning_rate, training.min_learning_rate, last_step(step)});
}

bool Steps::take(Trace* trace) {
  const Trace::Span span(trace, "step");
  PendingStep step = begin(trace);
  if (pending_ && !await_pending()) --step.number;
  const bool is_awaited = must_be_awaited(step.number);
  pending_ = std::move(step);
  return is_awaited && await_pending();
}

void Steps::finish() {
  if (pending_) await_pending();
}

// The next batch; the cursor moves past it.
PreparedBatch Steps::next_batch(Trace* trace) {
  const Trace::Span span(trace, "data");
  PreparedBatch batch = parts_.batches.next();
  state_.epoch = batch.next.epoch;
  state_.window = batch.next.window;
  state_.batch = batch.next.batch;
  epoch_done_ = batch.epoch_done;
  return batch;
}

Steps::PendingStep Steps::begin(Trace* trace) {
  std::vector<PreparedBatch> batches;
  while (static_cast<int64_t>(batches.size()) < batches_per_step()) batches.push_back(next_batch(trace));
  PendingStep step;
  step.number = state_.step + (pending_ ? 2 : 1);
  step.epoch = state_.epoch;
  step.batch = state_.batch;
  for (const auto& batch : batches) step.source_tokens += batch.source_tokens;
  if (!parts_.config.is_language_model() && parts_.group.is_first())
    sample_ = first_rows(batches.front().micro_batches.front());
  const PendingLoss own = accumulate_gradients(std::move(batches), step.number, trace);
  if (options_.overlap) {
    exchange({});
    start_update(step, own, trace);
  } else {
    update(step, own, trace);
  }
  parts_.replicas.clear_gradients();
  return step;
}

// The gradients are those of this rank's batches among the step's.
PendingLoss Steps::accumulate_gradients(std::vector<PreparedBatch> batches, int64_t step, Trace* trace) {
  int64_t step_tokens = 0;
  for (const auto& batch : batches) step_tokens += batch.target_tokens;
  const auto ranks = static_cast<size_t>(parts_.group.size());
  int64_t micro_batches = 0;
  for (auto b = static_cast<size_t>(parts_.group.rank()); b < batches.size(); b += ranks)
    micro_batches += static_cast<int64_t>(batches[b].micro_batches.size());
  micro_batches_before_ = parts_.replicas.micro_batches_done();
  micro_batches_of_step_ = micro_batches;
  PendingLoss own;
  for (auto b = static_cast<size_t>(parts_.group.rank()); b < batches.size(); b += ranks) {
    const StepInput input{
        std::move(batches[b].micro_batches), step_tokens,
        combine_keys(static_cast<uint64_t>(parts_.config.training.seed), static_cast<uint64_t>(step), b),
        b + ranks >= batches.size()};
    own.add(parts_.replicas.accumulate_gradients(input, parts_.config.training.label_smoothing, trace));
  }
  return own;
}

// Exchanges what all ranks know after a step: the loss of all, the time of rank 0, and whether a signal asked any of
// them to stop.
LossSum Steps::exchange(const LossSum& own) {
  enum : size_t { kLoss, kTokens, kGuidance, kDivergence, kSeconds, kStop };  // and from kStop on one for each rank
  std::vector<double> values(kStop + static_cast<size_t>(parts_.group.size()));
  values[kLoss] = own.sum;
  values[kTokens] = static_cast<double>(own.tokens);
  values[kGuidance] = own.guidance;
  values[kDivergence] = own.divergence;
  values[kSeconds] = parts_.group.is_first() ? parts_.clock.seconds() : 0;
  values[kStop + static_cast<size_t>(parts_.group.rank())] = options_.stop_signal ? options_.stop_signal() : 0;
  parts_.group.sum(values);
  agreed_seconds_ = values[kSeconds];
  for (size_t i = kStop; i < values.size() && stopped_by_ == 0; ++i) stopped_by_ = static_cast<int>(values[i]);
  return {values[kLoss], static_cast<int64_t>(values[kTokens]), values[kGuidance], values[kDivergence]};
}

void Steps::update(PendingStep& step, const PendingLoss& own, Trace* trace) {
  step.loss = exchange(own.read());
  const Trace::Span span(trace, "optimizer");
  std::vector<std::vector<torch::Tensor>> gradients;
  if (parts_.group.size() > 1) {
    gradients.push_back(parts_.replicas.sums_over_ranks());
  } else {
    gradients = parts_.replicas.gradients();
  }
  // A loss that is not finite must not touch the weights, though the gradient may look sound.
  step.gradient_norm = std::isfinite(step.loss.sum)
                           ? parts_.optimizer.update(gradients, learning_rate(step.number), parts_.workers)
                           : std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(step.gradient_norm)) return;
  gradients = parts_.replicas.gradients();
  for (size_t p = 0; p < gradients.front().size(); ++p)
    step.unsound.push_back(std::any_of(gradients.begin(), gradients.end(), [&](const auto& share) {
      return share[p].defined() && !share[p].isfinite().all().template item<bool>();
    }));
}

// The same without waiting for the device.
void Steps::start_update(PendingStep& step, const PendingLoss& loss, Trace* trace) {
  const Trace::Span span(trace, "optimizer");
  const Adam::Started started =
      parts_.optimizer.start_update(parts_.replicas.gradients().front(), learning_rate(step.number), loss.sums[0]);
  step.loss.tokens = loss.tokens;
  step.outcome.emplace(
      torch::cat({loss.sums, started.happens.to(torch::kDouble).reshape({1}), started.norms.to(torch::kDouble)}));
}

// True if something is due after the step that needs its weights or its loss.
bool Steps::must_be_awaited(int64_t step) const {
  const TrainingOptions& training = parts_.config.training;
  const auto is_due = [&](int64_t every) { return step % every == 0; };
  return !options_.overlap || stopped_by_ != 0 || step >= training.max_steps || is_due(training.log_every) ||
         is_due(training.checkpoint_every) || is_due(parts_.config.validation.every);
}

// Completes the pending step. Returns false if it was skipped.
bool Steps::await_pending() {
  PendingStep step = std::move(*pending_);
  pending_.reset();
  if (step.outcome) {
    const torch::Tensor values = step.outcome->get();
    constexpr int64_t kHappened = PendingLoss::kSums;
    step.loss = PendingLoss::read(values, step.loss.tokens);
    const bool happened = values[kHappened].item<double>() > 0;
    const torch::Tensor norms = values.narrow(0, kHappened + 1, values.numel() - kHappened - 1);
    step.gradient_norm = happened ? norms.norm().item<double>() : std::numeric_limits<double>::quiet_NaN();
    for (int64_t p = 0; p < norms.numel() && !happened; ++p)
      step.unsound.push_back(!std::isfinite(norms[p].item<double>()));
  }
  gradient_norm_ = step.gradient_norm;
  if (!std::isfinite(step.gradient_norm)) {
    skip(step);
    return false;
  }
  skipped_ = 0;
  state_.step = step.number;
  state_.score.reset();
  state_.target_tokens += step.loss.tokens;
  state_.batches_per_step = batches_per_step();
  totals_.loss.add(step.loss);
  totals_.source_tokens += step.source_tokens;
  return true;
}

// Leaves the weights as they were before the step and continues with the next batch, or ends the run if too many steps
// in a row were skipped.
void Steps::skip(const PendingStep& step) {
  const std::string where = where_not_finite(parameters_of(parts_.replicas.transformer()), step.unsound, parts_.group);
  const std::string what = fmt::format(
      "step {} (epoch {}, before batch {}) diverged: loss {}, learning rate {:.3g}; {}", step.number, step.epoch + 1,
      step.batch + 1, step.loss.sum / static_cast<double>(step.loss.tokens), learning_rate(step.number), where);
  const int64_t most = parts_.config.training.max_skipped_steps;
  if (++skipped_ > most)
    throw std::runtime_error(
        what +
        ". The weights are as they were before it. Continue from the last checkpoint with a lower "
        "training.learning_rate_scale (or learning_rate), more training.warmup_steps, or training.clip_norm: 1; "
        "training.max_skipped_steps skips single bad batches");
  if (options_.report) options_.report(fmt::format("{}; skipped ({} of at most {} in a row)", what, skipped_, most));
}

std::string where_not_finite(const NamedTensors& parameters, const std::vector<bool>& unsound, ProcessGroup& group) {
  std::string first_weight, first_gradient;
  int64_t count = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (first_weight.empty() && !parameters[p].second.isfinite().all().item<bool>()) first_weight = parameters[p].first;
    if (!unsound[p]) continue;
    if (count++ == 0) first_gradient = parameters[p].first;
  }
  const std::vector<int64_t> counts = group.gather(count);
  if (!first_weight.empty()) return fmt::format("the weights of {} are not finite", first_weight);
  if (count > 0)
    return fmt::format("gradients of {} of {} parameters are not finite, the first {}", count, parameters.size(),
                       first_gradient);
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < counts.size(); ++rank)
    if (counts[rank] > 0) ranks.push_back(rank);
  if (!ranks.empty()) return fmt::format("gradients of rank {} are not finite", fmt::join(ranks, ", "));
  return "all gradients are finite";
}

}  // namespace v0
}  // namespace transmute
