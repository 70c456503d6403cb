// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/optimizer.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>

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

void Adam::keep_rounded(std::vector<torch::Tensor> copies) {
  rounded_ = std::move(copies);
  copy_rounded();
}

void Adam::copy_rounded() const {
  const torch::NoGradGuard no_grad;
  for (size_t p = 0; p < rounded_.size(); ++p)
    if (rounded_[p].defined()) torch::Tensor(rounded_[p]).copy_(moments_.parameters[p].second);
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
  if (any.device().is_cpu()) {
    const double norm = fused_.update(gradients, {options_, learning_rate, step_, rounded_, average_}, workers);
    if (std::isfinite(norm)) ++step_;
    return norm;
  }
  TORCH_INTERNAL_ASSERT(gradients.size() == 1, "a device has one worker");
  const torch::Tensor no_loss = torch::zeros({}, any.options());
  return start_update(gradients.front(), learning_rate, no_loss).norms.to(torch::kDouble).norm().item<double>();
}

namespace {

// The parameters in the form that the kernels of GPUs need. Holds the memory that they point to.
class TrainedOnDevice {
 public:
  TrainedOnDevice(const AdamMoments& moments, const std::vector<torch::Tensor>& gradients,
                  const std::vector<torch::Tensor>& rounded, const WeightAverage* average) {
    for (size_t p = 0; p < gradients.size(); ++p) {
      const torch::Tensor& parameter = moments.parameters[p].second;
      torch::Tensor gradient = gradients[p].contiguous();
      if (gradient.scalar_type() != torch::kBFloat16) gradient = gradient.to(torch::kFloat);
      list_.push_back({gradient.data_ptr(), gradient.scalar_type() == torch::kBFloat16,
                       /*decays=*/parameter.dim() > 1, parameter.data_ptr<float>(),
                       p < rounded.size() && rounded[p].defined() ? rounded[p].data_ptr() : nullptr,
                       average == nullptr ? nullptr : average->values()[p].second.data_ptr<float>(),
                       moments.means[p].storage_offset(), parameter.numel()});
      gradients_.push_back(std::move(gradient));
    }
  }

  const kernels::cuda::Trained* data() const { return list_.data(); }
  int64_t size() const { return static_cast<int64_t>(list_.size()); }

 private:
  std::vector<kernels::cuda::Trained> list_;
  std::vector<torch::Tensor> gradients_;
};

// The norm of each parameter's gradient, [P].
torch::Tensor norms_on_device(const TrainedOnDevice& trained, const torch::TensorOptions& options) {
  torch::Tensor norms = torch::empty({trained.size()}, options);
  torch::Tensor partial_sums = torch::empty({kernels::cuda::adam_scratch(trained.data(), trained.size())}, options);
  kernels::cuda::gradient_norms(trained.data(), trained.size(), partial_sums.data_ptr<float>(), norms.data_ptr<float>(),
                                kernels::cuda::current_stream());
  return norms;
}

}  // namespace

Adam::Started Adam::start_update(const std::vector<torch::Tensor>& given, double learning_rate,
                                 const torch::Tensor& loss) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (size_t p = 0; p < moments_.parameters.size(); ++p)
    gradients.push_back(given[p].defined() ? given[p] : torch::zeros_like(moments_.parameters[p].second));
  return kernels::cuda::run_on(moments_.all_means.device()) ? update_by_kernels(gradients, learning_rate, loss)
                                                            : update_by_operations(gradients, learning_rate, loss);
}

// The factors of an update, as scalars on the device, so that the host need not wait for them.
Adam::Decision Adam::decide(const torch::Tensor& norms, const torch::Tensor& loss) {
  Decision decision;
  const torch::Tensor norm = norms.to(torch::kDouble).norm();
  decision.happens = norm.isfinite().logical_and(loss.isfinite());
  decision.one_or_zero = decision.happens.to(torch::kDouble);
  if (!steps_on_device_.defined())
    steps_on_device_ = torch::full_like(decision.one_or_zero, static_cast<double>(step_));
  steps_on_device_ += decision.one_or_zero;
  decision.steps = steps_on_device_.clamp_min(1);  // a first update may be skipped
  decision.factor = options_.clip_norm > 0 ? (options_.clip_norm / norm).clamp_max(1) : torch::ones_like(norm);
  return decision;
}

Adam::Started Adam::update_by_kernels(const std::vector<torch::Tensor>& gradients, double learning_rate,
                                      const torch::Tensor& loss) {
  const c10::DeviceGuard guard(moments_.all_means.device());
  const TrainedOnDevice trained(moments_, gradients, rounded_, average_);
  const torch::Tensor norms = norms_on_device(trained, moments_.all_means.options());
  const Decision decision = decide(norms, loss);
  const torch::Tensor rate = learning_rate / (1 - torch::pow(options_.beta1, decision.steps));
  const torch::Tensor root_correction = (1 - torch::pow(options_.beta2, decision.steps)).rsqrt();
  const torch::Tensor share = average_ == nullptr ? rate : average_->share(decision.steps);
  const torch::Tensor numbers =
      torch::where(decision.happens, torch::stack({decision.factor, rate, root_correction, share}),
                   torch::zeros({}, rate.options()))
          .to(torch::kFloat);
  kernels::cuda::adam_update(
      trained.data(), trained.size(),
      {static_cast<float>(options_.beta1), static_cast<float>(options_.beta2), static_cast<float>(options_.epsilon),
       static_cast<float>(learning_rate * options_.weight_decay), numbers.data_ptr<float>(),
       moments_.all_means.data_ptr<float>(), moments_.all_variances.data_ptr<float>()},
      kernels::cuda::current_stream());
  return {norms, decision.happens};
}

// Updates all parameters at once: a few operations instead of a dozen for each parameter. If the update is skipped, it
// adds zeros and multiplies by one.
Adam::Started Adam::update_by_operations(const std::vector<torch::Tensor>& gradients, double learning_rate,
                                         const torch::Tensor& loss) {
  std::vector<torch::Tensor> parameters;
  for (const auto& parameter : moments_.parameters) parameters.push_back(parameter.second.detach());
  const torch::Tensor norms = torch::stack(at::_foreach_norm(gradients));
  const Decision decision = decide(norms, loss);
  const torch::Tensor& one_or_zero = decision.one_or_zero;

  torch::Tensor gradient = moments_.joined(gradients);
  if (options_.clip_norm > 0) gradient *= decision.factor;
  gradient = torch::where(decision.happens, gradient, torch::zeros({}, gradient.options()));
  const auto moment = [&](torch::Tensor& average, double beta) -> torch::Tensor& {
    return average.mul_((1 - one_or_zero * (1 - beta)).to(torch::kFloat));
  };
  moment(moments_.all_means, options_.beta1).add_(gradient, 1 - options_.beta1);
  moment(moments_.all_variances, options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);

  const torch::Tensor rate = one_or_zero * learning_rate / (1 - torch::pow(options_.beta1, decision.steps));
  const torch::Tensor root_correction = (1 - torch::pow(options_.beta2, decision.steps)).rsqrt();
  const torch::Tensor divisor =
      moments_.all_variances.sqrt().mul_(root_correction.to(torch::kFloat)).add_(options_.epsilon);
  torch::Tensor change = divisor.reciprocal_().mul_(moments_.all_means).mul_(-rate.to(torch::kFloat));
  if (options_.weight_decay > 0)
    change.narrow(0, 0, moments_.matrix_elements)
        .addcmul_(moments_.joined(parameters).narrow(0, 0, moments_.matrix_elements), one_or_zero.to(torch::kFloat),
                  -learning_rate * options_.weight_decay);
  at::_foreach_add_(parameters, moments_.parted(change));
  copy_rounded();
  if (average_ != nullptr) average_->update(one_or_zero * average_->share(decision.steps));
  return {norms, decision.happens};
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
