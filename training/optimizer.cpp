// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimizer.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/model/kernels/adam.h>
#include <transmute/model/kernels/rounding.h>
#include <transmute/model/libtorch.h>
#include <transmute/training/ema.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kChunkElements = 1 << 16;
constexpr const char* kMeanSuffix = ".mean";
constexpr const char* kVarianceSuffix = ".variance";

const torch::Tensor& find(const std::unordered_map<std::string, torch::Tensor>& state, const std::string& name,
                          const torch::Tensor& like, const std::string& path) {
  const auto found = state.find(name);
  if (found == state.end() || found->second.sizes() != like.sizes())
    throw std::runtime_error(
        fmt::format("{}: no \"{}\" of the model's shape; the file is of another model", path, name));
  return found->second;
}

}  // namespace

Adam::Adam(NamedTensors parameters, const AdamOptions& options)
    : parameters_(std::move(parameters)), options_(options) {
  int64_t elements = 0;
  for (const bool matrices : {true, false})
    for (size_t p = 0; p < parameters_.size(); ++p) {
      if ((parameters_[p].second.dim() > 1) != matrices) continue;
      order_.push_back(p);
      elements += parameters_[p].second.numel();
      if (matrices) matrix_elements_ = elements;
    }
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const torch::Tensor& parameter = parameters_[p].second;
    TORCH_CHECK_VALUE(parameter.scalar_type() == torch::kFloat && parameter.is_contiguous(),
                      "Adam needs contiguous float32 parameters");
    for (int64_t begin = 0; begin < parameter.numel(); begin += kChunkElements)
      chunks_.push_back({p, begin, std::min(begin + kChunkElements, parameter.numel())});
  }
  all_means_ = torch::zeros({elements}, parameters_.front().second.detach().options());
  all_variances_ = torch::zeros_like(all_means_);
  means_ = parted(all_means_);
  variances_ = parted(all_variances_);
}

int64_t Adam::steps() const {
  return steps_on_device_.defined() ? static_cast<int64_t>(steps_on_device_.item<double>()) : step_;
}

void Adam::keep_rounded(std::vector<torch::Tensor> copies, WorkerCrew& workers) {
  rounded_ = std::move(copies);
  workers.for_each_piece(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    void* copy = rounded_copy(chunk);
    if (copy == nullptr) return;
    kernels::round_to_bfloat16(copy, parameters_[chunk.parameter].second.data_ptr<float>() + chunk.begin,
                               chunk.end - chunk.begin);
  });
}

void* Adam::rounded_copy(const Chunk& chunk) const {
  if (chunk.parameter >= rounded_.size() || !rounded_[chunk.parameter].defined()) return nullptr;
  const torch::Tensor& copy = rounded_[chunk.parameter];
  return static_cast<char*>(copy.data_ptr()) + chunk.begin * copy.element_size();
}

void Adam::keep_average(WeightAverage& average) {
  const NamedTensors& values = average.values();
  const bool is_of_these = std::equal(
      values.begin(), values.end(), parameters_.begin(), parameters_.end(),
      [](const auto& a, const auto& b) { return a.first == b.first && a.second.sizes() == b.second.sizes(); });
  TORCH_CHECK_VALUE(is_of_these, "the average is of other parameters than the optimizer's");
  average_ = &average;
}

double Adam::update(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate,
                    WorkerCrew& workers) {
  const torch::NoGradGuard no_grad;
  if (options_.fused && parameters_.front().second.device().is_cpu())
    return update_on_cpu(gradients, learning_rate, workers);
  TORCH_CHECK_VALUE(gradients.size() == 1, "LibTorch's operations take the gradient of one worker, not ",
                    gradients.size());
  const torch::Tensor no_loss = torch::zeros({}, parameters_.front().second.options());
  return start_update(gradients.front(), learning_rate, no_loss).norms.to(torch::kDouble).norm().item<double>();
}

double Adam::update_on_cpu(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate,
                           WorkerCrew& workers) {
  // Contiguous and all there, so that the chunks below are plain arrays.
  std::vector<std::vector<torch::Tensor>> ready(gradients.size());
  for (size_t p = 0; p < parameters_.size(); ++p)
    for (size_t w = 0; w < gradients.size(); ++w) {
      const torch::Tensor& gradient = gradients[w][p];
      if (gradient.defined()) {
        ready[w].push_back(gradient.contiguous());
      } else {
        ready[w].push_back(w == 0 ? torch::zeros_like(parameters_[p].second) : torch::Tensor());
      }
    }

  // The sum of all shares: the first one's own memory, or where that is bfloat16, memory kept for it.
  sums_.resize(parameters_.size());
  std::vector<torch::Tensor> sums;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    const bool is_float = ready[0][p].scalar_type() == torch::kFloat;
    if (!is_float && !sums_[p].defined()) sums_[p] = torch::empty(ready[0][p].sizes(), torch::kFloat);
    sums.push_back(is_float ? ready[0][p] : sums_[p]);
  }

  std::vector<double> squares(chunks_.size());
  workers.for_each_piece(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const int64_t count = chunk.end - chunk.begin;
    float* total = sums[chunk.parameter].data_ptr<float>() + chunk.begin;
    for (size_t w = 0; w < ready.size(); ++w) {
      const torch::Tensor& share = ready[w][chunk.parameter];
      if (!share.defined() || share.is_same(sums[chunk.parameter])) continue;
      const void* begin = static_cast<const char*>(share.data_ptr()) + chunk.begin * share.element_size();
      if (share.scalar_type() == torch::kFloat && w == 0) {
        std::memcpy(total, begin, static_cast<size_t>(count) * sizeof(float));
      } else if (share.scalar_type() == torch::kFloat) {
        kernels::add_to(total, static_cast<const float*>(begin), count);
      } else if (w == 0) {
        kernels::widen_bfloat16(total, begin, count);
      } else {
        kernels::add_bfloat16_to(total, begin, count);
      }
    }
    squares[c] = kernels::sum_of_squares(total, count);
  });
  double sum = 0;
  for (const double part : squares) sum += part;
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm)) return norm;

  kernels::AdamStep step;
  step.learning_rate = learning_rate;
  step.beta1 = options_.beta1;
  step.beta2 = options_.beta2;
  step.epsilon = options_.epsilon;
  step.step = ++step_;
  if (options_.clip_norm > 0 && norm > options_.clip_norm) step.gradient_scale = options_.clip_norm / norm;
  if (average_ != nullptr) step.average_share = average_->share(step_);
  kernels::AdamStep matrix_step = step;
  matrix_step.weight_decay = options_.weight_decay;
  workers.for_each_piece(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const size_t p = chunk.parameter;
    const auto at_chunk = [&](const torch::Tensor& tensor) { return tensor.data_ptr<float>() + chunk.begin; };
    kernels::AdamArrays arrays{at_chunk(parameters_[p].second), at_chunk(means_[p]), at_chunk(variances_[p]),
                               at_chunk(sums[p])};
    if (average_ != nullptr) arrays.average = at_chunk(average_->values()[p].second);
    arrays.rounded = rounded_copy(chunk);
    kernels::adam_update(arrays, chunk.end - chunk.begin, parameters_[p].second.dim() > 1 ? matrix_step : step);
  });
  return norm;
}

torch::Tensor Adam::joined(const std::vector<torch::Tensor>& by_parameter) const {
  std::vector<torch::Tensor> flat;
  for (const size_t p : order_) flat.push_back(by_parameter[p].reshape({-1}));
  return torch::cat(flat);
}

std::vector<torch::Tensor> Adam::parted(const torch::Tensor& joined) const {
  std::vector<torch::Tensor> views(parameters_.size());
  int64_t begin = 0;
  for (const size_t p : order_) {
    const torch::Tensor& parameter = parameters_[p].second;
    views[p] = joined.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    begin += parameter.numel();
  }
  return views;
}

// On all parameters at once: a few kernels instead of a dozen for each of them. What depends on the norm is a scalar on
// the device; where the update does not happen, it adds zeros and multiplies by one.
Adam::Started Adam::start_update(const std::vector<torch::Tensor>& given, double learning_rate,
                                 const torch::Tensor& loss) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parameters, gradients;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    parameters.push_back(parameters_[p].second.detach());
    gradients.push_back(given[p].defined() ? given[p] : torch::zeros_like(parameters.back()));
  }
  const torch::Tensor norms = torch::stack(at::_foreach_norm(gradients));
  const torch::Tensor norm = norms.to(torch::kDouble).norm();
  const torch::Tensor happens = norm.isfinite().logical_and(loss.isfinite());
  const torch::Tensor one_or_zero = happens.to(torch::kDouble);
  if (!steps_on_device_.defined()) steps_on_device_ = torch::full_like(one_or_zero, static_cast<double>(step_));
  steps_on_device_ += one_or_zero;
  const torch::Tensor t = steps_on_device_.clamp_min(1);  // a first update may not happen

  torch::Tensor gradient = joined(gradients);
  if (options_.clip_norm > 0) gradient *= (options_.clip_norm / norm).clamp_max(1);
  gradient = torch::where(happens, gradient, torch::zeros({}, gradient.options()));
  const auto moment = [&](torch::Tensor& average, double beta) -> torch::Tensor& {
    return average.mul_((1 - one_or_zero * (1 - beta)).to(torch::kFloat));
  };
  moment(all_means_, options_.beta1).add_(gradient, 1 - options_.beta1);
  moment(all_variances_, options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);

  const torch::Tensor rate = one_or_zero * learning_rate / (1 - torch::pow(options_.beta1, t));
  const torch::Tensor root_correction = (1 - torch::pow(options_.beta2, t)).rsqrt();
  const torch::Tensor divisor = all_variances_.sqrt().mul_(root_correction.to(torch::kFloat)).add_(options_.epsilon);
  torch::Tensor change = divisor.reciprocal_().mul_(all_means_).mul_(-rate.to(torch::kFloat));
  if (options_.weight_decay > 0)
    change.narrow(0, 0, matrix_elements_)
        .addcmul_(joined(parameters).narrow(0, 0, matrix_elements_), one_or_zero.to(torch::kFloat),
                  -learning_rate * options_.weight_decay);
  at::_foreach_add_(parameters, parted(change));
  if (average_ != nullptr) average_->update(one_or_zero * average_->share(t));
  return {norms, happens};
}

NamedTensors Adam::state() const {
  NamedTensors state;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    state.emplace_back(parameters_[p].first + kMeanSuffix, means_[p]);
    state.emplace_back(parameters_[p].first + kVarianceSuffix, variances_[p]);
  }
  return state;
}

void Adam::restore(const NamedTensors& state, int64_t steps, const std::string& path) {
  const torch::NoGradGuard no_grad;
  const std::unordered_map<std::string, torch::Tensor> by_name(state.begin(), state.end());
  for (size_t p = 0; p < parameters_.size(); ++p) {
    means_[p].copy_(find(by_name, parameters_[p].first + kMeanSuffix, means_[p], path));
    variances_[p].copy_(find(by_name, parameters_[p].first + kVarianceSuffix, variances_[p], path));
  }
  step_ = steps;
  steps_on_device_.reset();
}

}  // namespace v0
}  // namespace transmute
