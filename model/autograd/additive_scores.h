// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Additive attention's scores of queries against keys, Σ_a weight[h,a] tanh(query[b,h,t,a] + key[b,h,s,a]) (Bahdanau,
/// Cho and Bengio, 2015): [B,H,T,S]. query: [B,H,T,A], key: [B,H,S,A], weight: [H,A]. On the CPU in float32 and
/// bfloat16 the [B,H,T,S,A] summands are never in memory, not even for the backward pass; other tensors use the plain
/// version.
torch::Tensor additive_scores(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& weight);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor additive_scores_plain(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& weight);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
