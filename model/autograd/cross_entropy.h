// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

struct CrossEntropyOptions {
  double smoothing = 0;
  int64_t ignored = 0;  ///< rows with this target do not count
  double factor = 1;    ///< factor on the sum, for example one over the number of tokens
};

/// factor · the sum over the rows whose target is not `ignored` of
/// -(1 - smoothing) log p[target] - smoothing / V · sum_v log p[v], with p = softmax(states row · weightᵀ).
///
/// states: [N,D], weight: [V,D], targets: int64 [N]; result: a float32 scalar (double for double states). float32 and
/// bfloat16 take some rows at a time, on the CPU on the calling thread, and compute the gradients on the way: the
/// logits of a large batch never exist as a whole. Others take the plain twin.
torch::Tensor projected_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                      const torch::Tensor& targets, const CrossEntropyOptions& options);

/// The same in LibTorch's own operations: what is right, for any device and type.
torch::Tensor projected_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                            const torch::Tensor& targets, const CrossEntropyOptions& options);

/// Options for the share of the divergence between the two distributions of each token in the loss.
struct DivergenceOptions {
  bool second_too = false;     ///< the cross-entropy of the second counts as well
  double forward_weight = 0;   ///< factor on KL(first||second)
  double backward_weight = 0;  ///< factor on KL(second||first)
};

struct ConsistentCrossEntropy {
  torch::Tensor loss;        ///< the training objective
  torch::Tensor divergence;  ///< the weighted divergences' share of it, without a gradient
};

/// projected_cross_entropy of the first states of each token, or of both, plus divergences between the two
/// distributions, into both of which gradients flow; all times the factor, without the ignored rows.
///
/// states: [2N,D], the first of each token, then the second of each; weight: [V,D], targets: int64 [N]; results:
/// scalars in the types of projected_cross_entropy.
ConsistentCrossEntropy consistent_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                                const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                const DivergenceOptions& divergence);

/// The same in LibTorch's own operations: what is right, for any device and type.
ConsistentCrossEntropy consistent_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                                      const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                      const DivergenceOptions& divergence);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
