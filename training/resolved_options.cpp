// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/resolved_options.h>

#include <ATen/Context.h>
#include <torch/cuda.h>
#include <transmute/common/threads.h>
#include <transmute/kernels/cpu/tile_product.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace transmute {
inline namespace v0 {

namespace {

Precision resolve(std::optional<Precision> precision, torch::Device device) {
  if (precision) return *precision;
  return has_bfloat16(device) ? Precision::bfloat16 : Precision::float32;
}

// oneDNN in Debian's LibTorch for ARM64 accepts bfloat16 products and then throws; LibTorch's own kernels are slow, but
// work.
void leave_out_a_onednn_without_bfloat16() {
#if defined(__aarch64__)
  const torch::Tensor square = torch::ones({64, 64}, torch::kBFloat16);
  try {
    torch::mm(square, square);
  } catch (const std::exception&) {
    at::globalContext().setUserEnabledMkldnn(false);
  }
#endif
}

// Ranks of one machine share its cores, unless their launcher has assigned them.
int workers_of(const TrainerOptions& options, torch::Device device) {
  const int workers = worker_count(options.threads, device);
  const bool has_all_cores = permitted_cores() == static_cast<int>(std::thread::hardware_concurrency());
  if (options.threads > 0 || !has_all_cores) return workers;
  return std::max(1, workers / options.ranks.local_size);
}

}  // namespace

bool has_bfloat16(torch::Device device) {
  return device.is_cpu() ? kernels::has_tile_product<uint16_t>() : kernels::cuda::run_on(device);
}

int64_t ResolvedOptions::tokens_of_pairs(const TrainingOptions& training) const {
  const int64_t passes = training.consistency == Consistency::none ? 1 : 2;
  return std::max<int64_t>(micro_batch_tokens / passes, 1);
}

torch::Device device_of(const TrainerOptions& options) {
  const torch::Device device = parse_device(options.device);
  if (!device.is_cuda() || options.ranks.size == 1 || options.device.find(':') != std::string::npos) return device;
  const int index = options.ranks.local_rank % static_cast<int>(torch::cuda::device_count());
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

bool is_for_gpu(const TrainerOptions& options) {
  return device_of(options).is_cuda();
}

ResolvedOptions resolve_options(const TrainerOptions& options, const TrainingOptions& training) {
  const torch::Device device = device_of(options);
  const bool is_alone = options.ranks.size == 1;
  const ResolvedOptions resolved{
      device, resolve(training.precision, device), workers_of(options, device),
      training.micro_batch_tokens > 0 ? training.micro_batch_tokens : default_micro_batch_tokens(device.is_cuda()),
      options.overlaps_steps.value_or(!device.is_cpu() && is_alone)};
  if (device.is_cpu() && resolved.precision == Precision::bfloat16) leave_out_a_onednn_without_bfloat16();
  if (resolved.overlaps_steps && (resolved.workers > 1 || !is_alone))
    throw std::invalid_argument(
        "overlaps_steps is for one process with one worker: set threads to 1, or leave it unset");
  return resolved;
}

}  // namespace v0
}  // namespace transmute
