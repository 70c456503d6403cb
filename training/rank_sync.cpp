// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/rank_sync.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/hash.h>
#include <transmute/common/process_lock.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

Tokenizer broadcast_tokenizer(ProcessGroup& group, const std::optional<Tokenizer>& own) {
  const auto model_of_first = [&](const char* name, const SubwordModel* model) {
    return std::make_shared<const SubwordModel>(group.broadcast(model ? model->serialized() : std::string()), name);
  };
  const auto source = model_of_first("rank 0's source vocabulary", own ? &own->source() : nullptr);
  if (group.gather(own && own->shared() ? 1 : 0).front() == 1) return {source, source};
  return {source, model_of_first("rank 0's target vocabulary", own ? &own->target() : nullptr)};
}

namespace {

// NCCL would refuse them with a message that says less.
void check_gpus_differ(ProcessGroup& group, torch::Device device) {
  std::ifstream boot_id("/proc/sys/kernel/random/boot_id");  // containers have the boot id of their machine
  std::string machine;
  if (!std::getline(boot_id, machine)) machine = host_name();
  const std::string gpu = machine + kernels::cuda::pci_address(device);
  const std::vector<int64_t> gpus = group.gather(static_cast<int64_t>(hash_text(gpu)));
  for (size_t rank = 1; rank < gpus.size(); ++rank)
    for (size_t other = 0; other < rank; ++other)
      if (gpus[rank] == gpus[other])
        throw std::runtime_error(
            fmt::format("ranks {} and {} would share a GPU: start as many processes on each machine as it has GPUs, "
                        "with --device cuda, which gives each its own",
                        other, rank));
}

}  // namespace

void check_ranks_fit(ProcessGroup& group, const std::string& config_yaml, const TrainingText& text,
                     torch::Device device, Precision precision) {
  if (group.size() == 1) return;
  group.check_equal(device.is_cuda() ? 1 : 0, "whether it computes on a GPU; give all ranks the same --device");
  if (device.is_cuda()) check_gpus_differ(group, device);
  group.check_equal(hash_text(config_yaml), "the config; give all ranks the same file and the same --set");
  group.check_equal(text.fingerprint(), "the training text; give all ranks the same files");
  group.check_equal(static_cast<uint64_t>(precision), "whether it has bfloat16; set training.precision");
  group.check_equal(static_cast<uint64_t>(kernels::active_simd()),
                    "the CPU's instruction set, which rounds differently; use machines of one kind");
}

void broadcast_state(ProcessGroup& group, TrainState& state) {
  const std::string shared = group.broadcast(group.is_first() ? to_json(state) : std::string());
  if (!group.is_first()) state = state_from_json(shared, "rank 0's state");
}

void broadcast_weights(ProcessGroup& group, Transformer& transformer, Adam& optimizer, int64_t step) {
  if (group.size() == 1) return;
  const torch::NoGradGuard no_grad;
  for (auto& [name, parameter] : parameters_of(transformer)) {
    torch::Tensor values = parameter.detach();
    group.broadcast(values);
  }
  const NamedTensors moments = optimizer.state();
  for (const auto& [name, moment] : moments) {
    torch::Tensor values = moment;
    group.broadcast(values);
  }
  if (!group.is_first()) optimizer.restore(moments, step, "rank 0's optimizer");
}

uint64_t fingerprint_of(const std::vector<torch::Tensor>& tensors) {
  uint64_t key = 0;
  for (const auto& tensor : tensors) {
    const torch::Tensor here = tensor.detach().cpu().contiguous();
    key = hash_bytes(here.data_ptr(), here.nbytes(), key);
  }
  return key;
}

void check_weights_equal(ProcessGroup& group, Transformer& transformer, int64_t step) {
  if (group.size() == 1) return;
  group.check_equal(
      fingerprint_of(transformer->parameters()),
      fmt::format("its weights after step {}, which should never be; continue from the last checkpoint, and "
                  "report the machine's memory as a suspect",
                  step));
}

}  // namespace v0
}  // namespace transmute
