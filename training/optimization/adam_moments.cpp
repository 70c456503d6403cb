// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/adam_moments.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/libtorch/libtorch.h>

#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kMeanSuffix = ".mean";
constexpr const char* kVarianceSuffix = ".variance";

}  // namespace

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

AdamMoments::AdamMoments(NamedTensors trained) : parameters(std::move(trained)) {
  int64_t elements = 0;
  for (const bool matrices : {true, false})
    for (size_t p = 0; p < parameters.size(); ++p) {
      const torch::Tensor& parameter = parameters[p].second;
      if ((parameter.dim() > 1) != matrices) continue;
      TORCH_CHECK_VALUE(parameter.scalar_type() == torch::kFloat && parameter.is_contiguous(),
                        "Adam needs contiguous float32 parameters");
      order.push_back(p);
      elements += parameter.numel();
      if (matrices) matrix_elements = elements;
    }
  all_means = torch::zeros({elements}, parameters.front().second.detach().options());
  all_variances = torch::zeros_like(all_means);
  means = parted(all_means);
  variances = parted(all_variances);
}

torch::Tensor AdamMoments::joined(const std::vector<torch::Tensor>& by_parameter) const {
  std::vector<torch::Tensor> flat;
  for (const size_t p : order) flat.push_back(by_parameter[p].reshape({-1}));
  return torch::cat(flat);
}

std::vector<torch::Tensor> AdamMoments::parted(const torch::Tensor& joined) const {
  std::vector<torch::Tensor> views(parameters.size());
  int64_t begin = 0;
  for (const size_t p : order) {
    const torch::Tensor& parameter = parameters[p].second;
    views[p] = joined.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    begin += parameter.numel();
  }
  return views;
}

NamedTensors AdamMoments::state() const {
  NamedTensors state;
  for (size_t p = 0; p < parameters.size(); ++p) {
    state.emplace_back(parameters[p].first + kMeanSuffix, means[p]);
    state.emplace_back(parameters[p].first + kVarianceSuffix, variances[p]);
  }
  return state;
}

void AdamMoments::restore(const NamedTensors& state, const std::string& path) {
  restore_tensors(this->state(), state, path);
}

}  // namespace v0
}  // namespace transmute
