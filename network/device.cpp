// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/device.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/parsed_number.h>
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
  if (!begins_with(name, kind + ":")) return std::nullopt;
  const std::string digits = name.substr(kind.size() + 1);
  return digits.size() > 3 ? std::nullopt : parsed_number<uint16_t>(digits);
}

}  // namespace

Device named_device(const std::string& name) {
  if (name == "cpu") return {};
  if (name == "auto") return {Device::Kind::automatic, 0};
  if (const std::optional<int> index = cuda_index(name)) return {Device::Kind::gpu, *index};
  throw std::invalid_argument(fmt::format("device '{}' is unknown; use cpu, cuda, cuda:N (N = 0, 1, …) or auto", name));
}

int worker_count(int threads, const Device& device) {
  constexpr int kMostThreads = 4096;
  if (threads < 0 || threads > kMostThreads)
    throw std::invalid_argument(fmt::format("threads must lie between 0 and {}, not {}", kMostThreads, threads));
  if (!device.is_cpu()) return 1;
  return threads == 0 ? available_cores() : threads;
}

}  // namespace v0
}  // namespace transmute
