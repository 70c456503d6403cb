// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The heads of a product, and what is done to their scores and weights. Columns of the last dimension: the queries of
/// all heads (key_width each), then the keys of all heads (key_width each), then the values of all heads (value_width
/// each).
struct HeadOptions {
  int64_t num_heads = 1;
  int64_t key_width = 64;
  int64_t value_width = 64;
  double scale = 1;    ///< factor on the scores
  double dropout = 0;  ///< dropout of the weights; 0 outside training
};

/// True if the two functions below have a fused kernel for it: a mask (bool, or undefined) that is the same for every
/// head; on the CPU float32 or bfloat16; on GPUs bfloat16, sentences of up to 128 tokens and heads of 32 or 64.
/// queries: [B,T,…], memory: [B,S,…].
bool can_attend(const torch::Tensor& queries, const torch::Tensor& memory, const torch::Tensor& mask,
                const HeadOptions& options);

/// Eq. 1 for all heads at once: each query takes the average of the values, weighted by the softmax of its scaled
/// dot products with the keys that `mask` allows; 0 if it allows none. One (sentence, head) after the other, on the
/// calling thread: weights are never kept, neither for the backward pass nor beyond a block of queries, so memory
/// grows with the length. mask: broadcastable to [B,1,T,S]; result: [B,T,H·Kv].
///
/// queries, keys and values of self-attention in one tensor, packed: [B,T,H·(2K+Kv)].
torch::Tensor self_attention(const torch::Tensor& packed, const torch::Tensor& mask, const HeadOptions& options);

/// query: [B,T,H·K]; memory: keys and values, [B,S,H·(K+Kv)].
torch::Tensor cross_attention(const torch::Tensor& query, const torch::Tensor& memory, const torch::Tensor& mask,
                              const HeadOptions& options);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor self_attention_plain(const torch::Tensor& packed, const torch::Tensor& mask, const HeadOptions& options);
torch::Tensor cross_attention_plain(const torch::Tensor& query, const torch::Tensor& memory, const torch::Tensor& mask,
                                    const HeadOptions& options);

/// `scores` with a very low one where `blocked`, bool, is true: finite, so that the softmax of a wholly blocked row is.
torch::Tensor block_scores(const torch::Tensor& scores, const torch::Tensor& blocked);

/// Softmax of the scores over the keys that `mask` allows, exactly 0 for the others: see transmute::attention_weights.
torch::Tensor attention_weights(const torch::Tensor& scores, const torch::Tensor& mask);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
