// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/network/options.h>

namespace transmute {
inline namespace v0 {

/// The result of attention: the weighted sums, and the weights if requested (otherwise undefined).
struct AttentionResult {
  torch::Tensor output;   ///< [B,H,T,Kv], or [B,T,D] after the heads are joined
  torch::Tensor weights;  ///< [B,H,T,S], if requested
};

/// Options of AttentionScore, which scores queries against keys for `num_heads` heads at once.
struct AttentionScoreOptions {
  ScoreFunction function = ScoreFunction::scaled_dot_product;  ///< how a query is compared with a key
  int64_t num_heads = 1;                                       ///< H
  int64_t query_size = 64;  ///< width of a query, K; the dot products need query_size == key_size
  int64_t key_size = 64;    ///< width of a key
};

/// Parameters: none for the dot products and uniform; additive: query_weight [H,A,Kq], key_weight [H,A,Kk],
/// score_weight [H,A] with A = key_size; bilinear: weight [H,Kq,Kk]. Xavier-uniform per head.
class TRANSMUTE_API AttentionScoreImpl : public torch::nn::Module {
 public:
  /// Initializes the parameters at random.
  /// @throws c10::ValueError if the function cannot take these widths.
  explicit AttentionScoreImpl(const AttentionScoreOptions& options);

  /// query: [B,H,T,Kq], key: [B,H,S,Kk]; result: [B,H,T,S].
  torch::Tensor forward(const torch::Tensor& query, const torch::Tensor& key);

  const AttentionScoreOptions options;  ///< as given to the constructor

 private:
  torch::Tensor additive_scores(const torch::Tensor& query, const torch::Tensor& key);

  torch::Tensor query_weight_, key_weight_, score_weight_, weight_;
};
TORCH_MODULE(AttentionScore);

/// Softmax of the scores over the keys that may be attended to; the other weights are exactly 0. If a query may attend
/// to no key, all its weights, and therefore its output, are 0 rather than NaN. scores: [B,H,T,S]; mask: bool,
/// broadcastable to it, or undefined for no mask.
TRANSMUTE_API torch::Tensor attention_weights(const torch::Tensor& scores, const torch::Tensor& mask);

/// Attention as pooling (section 3.2): the output for a query is the average of the values, weighted by the softmax of
/// the query's scores against their keys. Multi-head attention adds projections before and after it. With
/// ScoreFunction::uniform it is average pooling.
class TRANSMUTE_API AttentionPoolingImpl : public torch::nn::Module {
 public:
  /// `dropout`: probability of dropping an attention weight in training.
  explicit AttentionPoolingImpl(const AttentionScoreOptions& options, double dropout = 0.0);

  /// query: [B,H,T,Kq], key: [B,H,S,Kk], value: [B,H,S,Kv], mask as for attention_weights; output:
  /// [B,H,T,Kv], weights: [B,H,T,S].
  AttentionResult forward(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                          const torch::Tensor& mask = {}, ReturnWeights return_weights = ReturnWeights::no);

  AttentionScore score{nullptr};  ///< the scoring function and its parameters
  const double dropout;           ///< probability of dropping an attention weight in training
};
TORCH_MODULE(AttentionPooling);

/// Keys and values of a memory, projected and split by head. key: [B,H,S,K], value: [B,H,S,Kv].
struct KeyValue {
  torch::Tensor key;    ///< [B,H,S,K]
  torch::Tensor value;  ///< [B,H,S,Kv]
};

/// A query and the memory that it attends to, projected and split by head.
struct QueryKeyValue {
  torch::Tensor query;  ///< [B,H,T,K]
  KeyValue memory;      ///< [B,H,T,K] and [B,H,T,Kv]
};

/// The projections of queries, keys and values as one matrix, so that a decoding step needs one product, not three.
struct JoinedProjection {
  torch::Tensor weight;  ///< [H·(2K+Kv),D]; shares the parameters' memory if they are adjacent
  torch::Tensor bias;    ///< [H·(2K+Kv)] in the type of `weight`; undefined without biases
};

/// Sizes of multi-head attention.
struct MultiHeadAttentionOptions {
  int64_t d_model = TransformerOptions().d_model;      ///< width of the residual stream, D
  int64_t num_heads = TransformerOptions().num_heads;  ///< H
  /// Width of a head's queries and keys, K.
  int64_t d_k = TransformerOptions().d_model / TransformerOptions().num_heads;
  /// Width of a head's values, Kv.
  int64_t d_v = TransformerOptions().d_model / TransformerOptions().num_heads;
  ScoreFunction score_function = ScoreFunction::scaled_dot_product;  ///< how a query is compared with a key
  double dropout = 0.0;                                              ///< probability of dropping an attention weight
  double gain = 1.0;  ///< gain of the initial value and output projections, see branch_gain()
  bool bias = false;  ///< biases of the four projections
};

/// Options of the attention in a layer of `stack`, from validated options of the network.
TRANSMUTE_API MultiHeadAttentionOptions attention_options(const TransformerOptions& options, Stack stack);

/// MultiHead(Q, K, V) = Concat(head_1, …, head_h) W^O (section 3.2.2), without biases, as in the paper, unless
/// MultiHeadAttentionOptions::bias is set.
///
/// Parameters: query.weight [H·K,D], key.weight [H·K,D], value.weight [H·Kv,D], output.weight [D,H·Kv], with biases
/// also query.bias [H·K] and so on, and those of the scoring function under `pooling.score`.
class TRANSMUTE_API MultiHeadAttentionImpl : public torch::nn::Module {
 public:
  /// Initializes the parameters at random.
  explicit MultiHeadAttentionImpl(const MultiHeadAttentionOptions& options);

  /// query_input: [B,T,D], memory: [B,S,D] (the same tensor for self-attention); output: [B,T,D], weights:
  /// [B,H,T,S].
  /// @throws c10::ValueError if the shapes do not fit.
  AttentionResult forward(const torch::Tensor& query_input, const torch::Tensor& memory, const torch::Tensor& mask = {},
                          ReturnWeights return_weights = ReturnWeights::no);

  /// The queries of `forward`, split by head. query_input: [B,T,D]; result: [B,H,T,K].
  torch::Tensor project_query(const torch::Tensor& query_input);

  /// The part of `forward` that depends on the memory only, for decoding to cache. memory: [B,S,D].
  KeyValue project_memory(const torch::Tensor& memory);

  /// The matrices of queries, keys and values side by side, for `project`. Not differentiable.
  JoinedProjection joined_projection() const;

  /// project_query and project_memory of the same x, [B,T,D], in one product.
  QueryKeyValue project(const torch::Tensor& x, const JoinedProjection& projection) const;

  /// The remaining part of `forward`. query_heads: [B,H,T,K].
  AttentionResult attend(const torch::Tensor& query_heads, const KeyValue& memory, const torch::Tensor& mask = {},
                         ReturnWeights return_weights = ReturnWeights::no);

  /// The logarithm of one head's attention weights, [B,T,S], in at least float32, for losses on attention.
  /// @throws c10::ValueError if there is no such head.
  torch::Tensor log_weights(const torch::Tensor& query_input, const torch::Tensor& memory, const torch::Tensor& mask,
                            int64_t head);

  const MultiHeadAttentionOptions options;  ///< as given to the constructor
  torch::nn::Linear query{nullptr};         ///< W^Q of all heads
  torch::nn::Linear key{nullptr};           ///< W^K
  torch::nn::Linear value{nullptr};         ///< W^V
  torch::nn::Linear output{nullptr};        ///< W^O
  AttentionPooling pooling{nullptr};        ///< attention between the projections

 private:
  torch::Tensor split_heads(const torch::Tensor& x) const;
  bool fuses(const torch::Tensor& query_input, const torch::Tensor& memory, const torch::Tensor& mask) const;
  torch::Tensor fused_heads(const torch::Tensor& query_input, const torch::Tensor& memory, const torch::Tensor& mask);
};
TORCH_MODULE(MultiHeadAttention);

}  // namespace v0
}  // namespace transmute
