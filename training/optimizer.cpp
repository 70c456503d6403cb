// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimizer.h>

#include <transmute/model/libtorch.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace transmute {
inline namespace v0 {

Adam::Adam(NamedTensors parameters, const AdamOptions& options)
    : options_(options), moments_(std::move(parameters)), fused_(moments_) {}

int64_t Adam::steps() const {
  return steps_on_device_.defined() ? static_cast<int64_t>(steps_on_device_.item<double>()) : step_;
}

void Adam::keep_rounded(std::vector<torch::Tensor> copies, WorkerCrew& workers) {
  fused_.keep_rounded(std::move(copies), workers);
}

void Adam::keep_average(WeightAverage& average) {
  const NamedTensors& values = average.values();
  const bool is_of_these = std::equal(
      values.begin(), values.end(), moments_.parameters.begin(), moments_.parameters.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second.sizes() == b.second.sizes(); });
  TORCH_CHECK_VALUE(is_of_these, "the average is of other parameters than the optimizer's");
  average_ = &average;
}

double Adam::update(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate,
                    WorkerCrew& workers) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor& any = moments_.parameters.front().second;
  if (options_.fused && any.device().is_cpu()) {
    const double norm = fused_.update(gradients, {options_, learning_rate, step_, average_}, workers);
    if (std::isfinite(norm)) ++step_;
    return norm;
  }
  TORCH_CHECK_VALUE(gradients.size() == 1, "LibTorch's operations take the gradient of one worker, not ",
                    gradients.size());
  const torch::Tensor no_loss = torch::zeros({}, any.options());
  return start_update(gradients.front(), learning_rate, no_loss).norms.to(torch::kDouble).norm().item<double>();
}

// On all parameters at once: a few kernels instead of a dozen for each of them. What depends on the norm is a scalar on
// the device; where the update does not happen, it adds zeros and multiplies by one.
Adam::Started Adam::start_update(const std::vector<torch::Tensor>& given, double learning_rate,
                                 const torch::Tensor& loss) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parameters, gradients;
  for (size_t p = 0; p < moments_.parameters.size(); ++p) {
    parameters.push_back(moments_.parameters[p].second.detach());
    gradients.push_back(given[p].defined() ? given[p] : torch::zeros_like(parameters.back()));
  }
  const torch::Tensor norms = torch::stack(at::_foreach_norm(gradients));
  const torch::Tensor norm = norms.to(torch::kDouble).norm();
  const torch::Tensor happens = norm.isfinite().logical_and(loss.isfinite());
  const torch::Tensor one_or_zero = happens.to(torch::kDouble);
  if (!steps_on_device_.defined()) steps_on_device_ = torch::full_like(one_or_zero, static_cast<double>(step_));
  steps_on_device_ += one_or_zero;
  const torch::Tensor t = steps_on_device_.clamp_min(1);  // a first update may not happen

  torch::Tensor gradient = moments_.joined(gradients);
  if (options_.clip_norm > 0) gradient *= (options_.clip_norm / norm).clamp_max(1);
  gradient = torch::where(happens, gradient, torch::zeros({}, gradient.options()));
  const auto moment = [&](torch::Tensor& average, double beta) -> torch::Tensor& {
    return average.mul_((1 - one_or_zero * (1 - beta)).to(torch::kFloat));
  };
  moment(moments_.all_means, options_.beta1).add_(gradient, 1 - options_.beta1);
  moment(moments_.all_variances, options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);

  const torch::Tensor rate = one_or_zero * learning_rate / (1 - torch::pow(options_.beta1, t));
  const torch::Tensor root_correction = (1 - torch::pow(options_.beta2, t)).rsqrt();
  const torch::Tensor divisor =
      moments_.all_variances.sqrt().mul_(root_correction.to(torch::kFloat)).add_(options_.epsilon);
  torch::Tensor change = divisor.reciprocal_().mul_(moments_.all_means).mul_(-rate.to(torch::kFloat));
  if (options_.weight_decay > 0)
    change.narrow(0, 0, moments_.matrix_elements)
        .addcmul_(moments_.joined(parameters).narrow(0, 0, moments_.matrix_elements), one_or_zero.to(torch::kFloat),
                  -learning_rate * options_.weight_decay);
  at::_foreach_add_(parameters, moments_.parted(change));
  if (average_ != nullptr) average_->update(one_or_zero * average_->share(t));
  return {norms, happens};
}

NamedTensors Adam::state() const {
  return moments_.state();
}

void Adam::restore(const NamedTensors& state, int64_t steps, const std::string& path) {
  moments_.restore(state, path);
  step_ = steps;
  steps_on_device_.reset();
}

}  // namespace v0
}  // namespace transmute
