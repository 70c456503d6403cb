#include <transmute/translation/device.h>

#include <spdlog/fmt/fmt.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <transmute/common/threads.h>

#include <regex>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

torch::Device parse_device(const std::string& name) {
  if (name == "auto") return torch::cuda::is_available() ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  if (name == "cpu") return torch::Device(torch::kCPU);
  std::smatch match;
  if (!std::regex_match(name, match, std::regex("cuda(?::(\\d{1,3}))?")))
    throw std::invalid_argument(
        fmt::format("device '{}' is unknown; use cpu, cuda, cuda:N (N = 0, 1, …) or auto", name));
  if (!torch::cuda::is_available())
    throw std::invalid_argument(
        fmt::format("device {}: this build's LibTorch {} sees no CUDA device; use --device cpu, or build against a "
                    "CUDA LibTorch (-DCMAKE_PREFIX_PATH=…) on a machine with an NVIDIA driver",
                    name, TORCH_VERSION));
  const int index = match[1].matched ? std::stoi(match[1].str()) : 0;
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (index >= count)
    throw std::invalid_argument(fmt::format("device {}: there are only {} CUDA devices, numbered from 0", name, count));
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

int worker_count(int threads, torch::Device device) {
  if (threads < 0) throw std::invalid_argument(fmt::format("threads must not be negative, not {}", threads));
  if (!device.is_cpu()) return 1;
  return threads == 0 ? available_cores() : threads;
}

}  // namespace v0
}  // namespace transmute
