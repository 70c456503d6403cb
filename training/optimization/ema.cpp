// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/ema.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/training/optimization/adam_moments.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

WeightAverage::WeightAverage(NamedTensors parameters, double decay)
    : parameters_(std::move(parameters)), decay_(decay) {
  for (const auto& [name, parameter] : parameters_) values_.emplace_back(name, parameter.detach().clone());
}

double WeightAverage::share(int64_t step) const {
  const auto t = static_cast<double>(step);
  return 1 - std::min(decay_, (1 + t) / (10 + t));
}

torch::Tensor WeightAverage::share(const torch::Tensor& step) const {
  return 1 - ((1 + step) / (10 + step)).clamp_max(decay_);
}

void WeightAverage::update(const torch::Tensor& share) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor weight = share.to(torch::kFloat);
  for (size_t p = 0; p < values_.size(); ++p) values_[p].second.lerp_(parameters_[p].second.detach(), weight);
}

void WeightAverage::restore(const NamedTensors& values, const std::string& path) {
  restore_tensors(values_, values, path);
}

void WeightAverage::exchange() {
  const torch::NoGradGuard no_grad;
  for (size_t p = 0; p < values_.size(); ++p) {
    const torch::Tensor weights = parameters_[p].second.detach();
    const torch::Tensor kept = weights.clone();
    weights.copy_(values_[p].second);
    values_[p].second.copy_(kept);
  }
}

WeightAverage::InPlace::InPlace(WeightAverage* average) : average_(average) {
  if (average_ != nullptr) average_->exchange();
}

WeightAverage::InPlace::~InPlace() {
  if (average_ != nullptr) average_->exchange();
}

}  // namespace v0
}  // namespace transmute
