// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/fused_adam.h>

#include <transmute/kernels/cpu/adam.h>
#include <transmute/kernels/cpu/rounding.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kChunkElements = 1 << 16;

using Gradients = std::vector<std::vector<torch::Tensor>>;  // gradients by worker and parameter

// Contiguous, and of the first worker all there, so that chunks are plain arrays.
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

void FusedAdam::keep_rounded(std::vector<torch::Tensor> copies, WorkerCrew& workers) {
  rounded_ = std::move(copies);
  workers.for_each_chunk(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    void* copy = rounded_copy(chunk);
    if (copy == nullptr) return;
    kernels::round_to_bfloat16(copy, moments_.parameters[chunk.parameter].second.data_ptr<float>() + chunk.begin,
                               chunk.end - chunk.begin);
  });
}

void* FusedAdam::rounded_copy(const Chunk& chunk) const {
  if (chunk.parameter >= rounded_.size() || !rounded_[chunk.parameter].defined()) return nullptr;
  const torch::Tensor& copy = rounded_[chunk.parameter];
  return static_cast<char*>(copy.data_ptr()) + chunk.begin * copy.element_size();
}

double FusedAdam::update(const Gradients& given, const Update& update, WorkerCrew& workers) {
  const Gradients gradients = as_arrays(given, moments_.parameters);
  const std::vector<torch::Tensor> sums = memory_for_sums(gradients);
  std::vector<double> squares(chunks_.size());
  workers.for_each_chunk(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const torch::Tensor& sum = sums[chunk.parameter];
    add_shares(gradients, sum, chunk);
    squares[c] = kernels::sum_of_squares(sum.data_ptr<float>() + chunk.begin, chunk.end - chunk.begin);
  });
  double sum = 0;
  for (const double part : squares) sum += part;
  const double norm = std::sqrt(sum);
  if (std::isfinite(norm)) update_parameters(sums, norm, update, workers);
  return norm;
}

// The first worker's own memory, or where that is bfloat16, memory kept for it.
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

// In the order of the workers: the same bits in every run.
void FusedAdam::add_shares(const Gradients& gradients, const torch::Tensor& sum, const Chunk& chunk) const {
  const int64_t count = chunk.end - chunk.begin;
  float* total = sum.data_ptr<float>() + chunk.begin;
  for (size_t w = 0; w < gradients.size(); ++w) {
    const torch::Tensor& share = gradients[w][chunk.parameter];
    if (!share.defined() || share.is_same(sum)) continue;
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
  matrix_step.weight_decay = options.weight_decay;
  workers.for_each_chunk(chunks_.size(), 1, [&](size_t c, size_t, int) {
    const Chunk& chunk = chunks_[c];
    const size_t p = chunk.parameter;
    const torch::Tensor& parameter = moments_.parameters[p].second;
    const auto at_chunk = [&](const torch::Tensor& tensor) { return tensor.data_ptr<float>() + chunk.begin; };
    kernels::AdamArrays arrays{at_chunk(parameter), at_chunk(moments_.means[p]), at_chunk(moments_.variances[p]),
                               at_chunk(gradient[p])};
    if (update.average != nullptr) arrays.average = at_chunk(update.average->values()[p].second);
    arrays.rounded = rounded_copy(chunk);
    kernels::adam_update(arrays, chunk.end - chunk.begin, parameter.dim() > 1 ? matrix_step : step);
  });
}

}  // namespace v0
}  // namespace transmute
