// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/fused_adam.h>

#include <transmute/kernels/cpu/adam.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kChunkElements = 1 << 16;

using Gradients = std::vector<std::vector<torch::Tensor>>;  // gradients by worker and parameter

// The gradients as plain arrays: contiguous, and the first worker has all of them.
Gradients as_arrays(const Gradients& gradients, const NamedTensors& parameters) {
  Gradients arrays(gradients.size());
  for (size_t p = 0; p < parameters.size(); ++p)
    for (size_t w = 0; w < gradients.size(); ++w) {
      const torch::Tensor& gradient = gradients[w][p];
      if (gradient.defined()) {
        arrays[w].push_back(gradient.contiguous());
      } else {
        arrays[w].push_back(w == 0 ? torch::zeros_like(parameters[p].second) : torch::Tensor());
      }
    }
  return arrays;
}

}  // namespace

FusedAdam::FusedAdam(AdamMoments& moments) : moments_(moments) {
  for (size_t p = 0; p < moments.parameters.size(); ++p) {
    const int64_t elements = moments.parameters[p].second.numel();
    for (int64_t begin = 0; begin < elements; begin += kChunkElements)
      chunks_.push_back({p, begin, std::min(begin + kChunkElements, elements)});
  }
}

double FusedAdam::update(const Gradients& given, const Update& update, WorkerCrew& workers) {
  const Gradients gradients = as_arrays(given, moments_.parameters);
  const std::vector<torch::Tensor> sums = memory_for_sums(gradients);
  const auto& adam = kernels::active_kernels<kernels::AdamKernels>();
  std::vector<double> squares(chunks_.size());
  workers.for_each_chunk(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const torch::Tensor& sum = sums[chunk.parameter];
    add_shares(gradients, sum, chunk);
    squares[c] = adam.sum_of_squares(sum.data_ptr<float>() + chunk.begin, chunk.end - chunk.begin);
  });
  double sum = 0;
  for (const double part : squares) sum += part;
  const double norm = std::sqrt(sum);
  if (std::isfinite(norm)) update_parameters(sums, norm, update, workers);
  return norm;
}

// The first worker's own gradients or, if these are bfloat16, memory kept for the sum.
std::vector<torch::Tensor> FusedAdam::memory_for_sums(const Gradients& gradients) {
  sums_.resize(moments_.parameters.size());
  std::vector<torch::Tensor> sums;
  for (size_t p = 0; p < sums_.size(); ++p) {
    const torch::Tensor& first = gradients[0][p];
    const bool is_float = first.scalar_type() == torch::kFloat;
    if (!is_float && !sums_[p].defined()) sums_[p] = torch::empty(first.sizes(), torch::kFloat);
    sums.push_back(is_float ? first : sums_[p]);
  }
  return sums;
}

// Adds in the order of the workers, which gives the same bits in every run.
void FusedAdam::add_shares(const Gradients& gradients, const torch::Tensor& sum, const Chunk& chunk) const {
  const int64_t count = chunk.end - chunk.begin;
  float* total = sum.data_ptr<float>() + chunk.begin;
  for (size_t w = 0; w < gradients.size(); ++w) {
    const torch::Tensor& share = gradients[w][chunk.parameter];
    if (!share.defined() || share.is_same(sum)) continue;
    kernels::with_element_type(share, [&](auto element) {
      using T = decltype(element);
      const auto& rows = kernels::active_kernels<kernels::RowKernels<T>>();
      (w == 0 ? rows.widen : rows.add_to)(total, kernels::data_of<T>(share) + chunk.begin, count);
    });
  }
}

void FusedAdam::update_parameters(const std::vector<torch::Tensor>& gradient, double norm, const Update& update,
                                  WorkerCrew& workers) {
  const AdamOptions& options = update.options;
  kernels::AdamStep step;
  step.learning_rate = update.learning_rate;
  step.beta1 = options.beta1;
  step.beta2 = options.beta2;
  step.epsilon = options.epsilon;
  step.step = update.steps + 1;
  if (options.clip_norm > 0 && norm > options.clip_norm) step.gradient_scale = options.clip_norm / norm;
  if (update.average != nullptr) step.average_share = update.average->share(step.step);
  kernels::AdamStep matrix_step = step;
  matrix_step.decay = update.learning_rate * options.weight_decay;
  const auto& adam = kernels::active_kernels<kernels::AdamKernels>();
  workers.for_each_chunk(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const size_t p = chunk.parameter;
    const torch::Tensor& parameter = moments_.parameters[p].second;
    const auto at_chunk = [&](const torch::Tensor& tensor) { return tensor.data_ptr<float>() + chunk.begin; };
    kernels::AdamKernels::Arrays arrays{at_chunk(parameter), at_chunk(moments_.means[p]),
                                        at_chunk(moments_.variances[p]), at_chunk(gradient[p])};
    if (update.average != nullptr) arrays.average = at_chunk(update.average->values()[p].second);
    if (p < update.rounded.size() && update.rounded[p].defined())
      arrays.rounded = kernels::data_of<uint16_t>(update.rounded[p]) + chunk.begin;
    adam.update(arrays, chunk.end - chunk.begin, parameter.dim() > 1 ? matrix_step : step);
  });
}

}  // namespace v0
}  // namespace transmute
