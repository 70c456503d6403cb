// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

struct CrossEntropyOptions {
  double smoothing = 0;
  int64_t ignored = 0;  ///< rows with this target do not count
  double factor = 1;    ///< of the sum, for example one over the number of tokens
};

/// factor · the sum over the rows whose target is not `ignored` of
/// -(1 - smoothing) log p[target] - smoothing / V · sum_v log p[v], with p = softmax(states row · weightᵀ).
///
/// states: [N,D], weight: [V,D], targets: int64 [N]; result: a float32 scalar (double for double states). float32 and
/// bfloat16 on the CPU take some hundred rows at a time, on the calling thread, and compute the gradients on the way:
/// logits [N,V] never exist as a whole. Others take the plain twin.
torch::Tensor projected_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                      const torch::Tensor& targets, const CrossEntropyOptions& options);

/// The same in LibTorch's own operations: what is right, for any device and type.
torch::Tensor projected_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                            const torch::Tensor& targets, const CrossEntropyOptions& options);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
