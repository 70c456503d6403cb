// SPDX-License-Identifier: Apache-2.0
#include <transmute/libtorch/device.h>

#include <spdlog/fmt/fmt.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <transmute/common/progress.h>
#include <transmute/network/device.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

torch::Device parse_device(const std::string& name) {
  const Device device = named_device(name);
  if (device.is_cpu() || (device.kind == Device::Kind::automatic && !torch::cuda::is_available())) return torch::kCPU;
  if (!torch::cuda::is_available())
    throw std::runtime_error(
        fmt::format("device {}: this build's LibTorch {} sees no CUDA device; use --device cpu, or build against a "
                    "CUDA LibTorch (-DCMAKE_PREFIX_PATH=…) on a machine with an NVIDIA driver",
                    name, TORCH_VERSION));
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (device.index >= count)
    throw std::runtime_error(fmt::format("device {}: there {} only {}, numbered from 0", name,
                                         count == 1 ? "is" : "are", counted(count, "CUDA device")));
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(device.index));
}

int worker_count(int threads, torch::Device device) {
  return worker_count(threads, Device{device.is_cpu() ? Device::Kind::cpu : Device::Kind::gpu});
}

torch::Tensor on_device(const torch::Tensor& x, torch::Device device) {
  if (!device.is_cuda()) return x.to(device);
  torch::Tensor locked = torch::empty(x.sizes(), x.options().pinned_memory(true));
  locked.copy_(x);
  return locked.to(device, /*non_blocking=*/true);
}

}  // namespace v0
}  // namespace transmute

/// The version of LibTorch, for --version.
extern "C" const char* transmute_libtorch_version() {
  return TORCH_VERSION;
}
