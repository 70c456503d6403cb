// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/restore_tensors.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>

#include <stdexcept>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

void restore_tensors(const NamedTensors& own, const NamedTensors& values, const std::string& path) {
  const torch::NoGradGuard no_grad;
  const std::unordered_map<std::string, torch::Tensor> by_name(values.begin(), values.end());
  for (const auto& [name, tensor] : own) {
    const auto found = by_name.find(name);
    if (found == by_name.end() || found->second.sizes() != tensor.sizes())
      throw std::runtime_error(
          fmt::format("{}: has no \"{}\" of the model's shape; the file belongs to another model", path, name));
    tensor.copy_(found->second);
  }
}

}  // namespace v0
}  // namespace transmute
