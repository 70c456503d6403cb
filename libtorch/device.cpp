// SPDX-License-Identifier: Apache-2.0
#include <transmute/libtorch/device.h>

#include <spdlog/fmt/fmt.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <transmute/common/progress.h>
#include <transmute/common/threads.h>

#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// N of "cuda:N", 0 of "cuda".
std::optional<int> cuda_index(const std::string& name) {
  const std::string kind = "cuda";
  if (name == kind) return 0;
  if (name.rfind(kind + ":", 0) != 0) return std::nullopt;
  const std::string digits = name.substr(kind.size() + 1);
  if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoi(digits);
}

}  // namespace

torch::Device parse_device(const std::string& name) {
  if (name == "auto") return torch::cuda::is_available() ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  if (name == "cpu") return torch::Device(torch::kCPU);
  const std::optional<int> index = cuda_index(name);
  if (!index)
    throw std::invalid_argument(
        fmt::format("device '{}' is unknown; use cpu, cuda, cuda:N (N = 0, 1, …) or auto", name));
  if (!torch::cuda::is_available())
    throw std::runtime_error(
        fmt::format("device {}: this build's LibTorch {} sees no CUDA device; use --device cpu, or build against a "
                    "CUDA LibTorch (-DCMAKE_PREFIX_PATH=…) on a machine with an NVIDIA driver",
                    name, TORCH_VERSION));
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (*index >= count)
    throw std::runtime_error(fmt::format("device {}: there {} only {}, numbered from 0", name,
                                         count == 1 ? "is" : "are", counted(count, "CUDA device")));
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(*index));
}

int worker_count(int threads, torch::Device device) {
  constexpr int kMostThreads = 4096;
  if (threads < 0 || threads > kMostThreads)
    throw std::invalid_argument(fmt::format("threads must lie between 0 and {}, not {}", kMostThreads, threads));
  if (!device.is_cpu()) return 1;
  return threads == 0 ? available_cores() : threads;
}

}  // namespace v0
}  // namespace transmute
