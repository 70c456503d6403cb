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
/// logits of a large batch never exist as a whole. Others use the plain version.
torch::Tensor projected_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                      const torch::Tensor& targets, const CrossEntropyOptions& options);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor projected_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                            const torch::Tensor& targets, const CrossEntropyOptions& options);

/// Weights of the divergences between each token's two distributions in the loss.
struct DivergenceOptions {
  bool second_too = false;     ///< also count the cross-entropy of the second distribution
  double forward_weight = 0;   ///< factor on KL(first||second)
  double backward_weight = 0;  ///< factor on KL(second||first)
};

struct ConsistentCrossEntropy {
  torch::Tensor loss;        ///< the training objective
  torch::Tensor divergence;  ///< the weighted divergences' part of `loss`, without a gradient
};

/// The sum over the tokens of projected_cross_entropy of the first states, or of both, and of the divergences between
/// the two distributions. It is multiplied by the factor and leaves out ignored rows. Gradients flow into both
/// distributions.
///
/// states: [2N,D], the first of each token, then the second of each; weight: [V,D], targets: int64 [N]; results:
/// scalars in the types of projected_cross_entropy.
ConsistentCrossEntropy consistent_cross_entropy(const torch::Tensor& states, const torch::Tensor& weight,
                                                const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                const DivergenceOptions& divergence);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
ConsistentCrossEntropy consistent_cross_entropy_plain(const torch::Tensor& states, const torch::Tensor& weight,
                                                      const torch::Tensor& targets, const CrossEntropyOptions& options,
                                                      const DivergenceOptions& divergence);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
