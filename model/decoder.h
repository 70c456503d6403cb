// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/attention.h>
#include <transmute/model/feed_forward.h>
#include <transmute/model/recompute.h>
#include <transmute/model/sublayer.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// Where one head of the attention to the encoder's output should look (Garg et al., "Jointly Learning to Align and
/// Translate with Transformer Models", 2019).
struct GuidedAttention {
  torch::Tensor wanted;  ///< [B,T,S]: rows sum to 1, or to 0 where nothing is wanted
  int64_t layer = 0;     ///< from 0
  int64_t head = 0;      ///< from 0
};

/// What the decoder returns for all positions of a target.
struct DecoderOutput {
  torch::Tensor states;                      ///< [B,T,D]
  std::vector<torch::Tensor> self_weights;   ///< each layer's, [B,H,T,T], where asked for
  std::vector<torch::Tensor> cross_weights;  ///< each layer's, [B,H,T,S], where asked for
  torch::Tensor guidance;  ///< the guided head's cross-entropy, summed over the rows; where there is one
};

/// What decoding remembers of one layer. `self`: keys and values of the tokens so far, one row per hypothesis
/// [B·N,H,t,K]. `cross`: those of the encoder's output, one row per sentence [B,H,S,K], shared by its N
/// hypotheses; undefined where there is no encoder.
struct DecoderLayerCache {
  KeyValue self;   ///< [B·N,H,t,K]
  KeyValue cross;  ///< [B,H,S,K]
};

/// State of incremental decoding, a value: steps take one and return the next. Tensors are never written to
/// after they are in a cache, so copies are cheap and may be kept.
struct DecoderCache {
  std::vector<DecoderLayerCache> layers;  ///< one per layer
  torch::Tensor source_mask;              ///< [B,1,1,S]; undefined where there is no encoder
  int64_t length = 0;                     ///< tokens decoded so far

  /// The cache of other hypotheses: `sentences` [B'] picks the sentences that stay, `parents` [B'·N'] the row
  /// of `self` that each new row continues. Int64, on the cache's device. An undefined `sentences` keeps all.
  DecoderCache select(const torch::Tensor& sentences, const torch::Tensor& parents) const;
};

/// What one step of decoding returns.
struct DecoderStep {
  torch::Tensor states;                      ///< [B,N,D], or of T positions [B,T,D]
  DecoderCache cache;                        ///< includes the new tokens
  std::vector<torch::Tensor> cross_weights;  ///< each layer's, [B,H,N,S] or [B,H,T,S], where asked for
};

/// Masked self-attention, attention to the encoder's output, feed-forward network, each in a ResidualNorm
/// (section 3.1, Decoder). Architecture::decoder_only leaves out the second, `cross_attention`; memory and its mask are
/// then undefined.
class TRANSMUTE_API DecoderLayerImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit DecoderLayerImpl(const TransformerOptions& options);

  /// What a layer returns for all positions.
  struct Result {
    torch::Tensor output;         ///< [B,T,D]
    torch::Tensor self_weights;   ///< [B,H,T,T] where asked for
    torch::Tensor cross_weights;  ///< [B,H,T,S] where asked for
    torch::Tensor guidance;       ///< the guided head's summed cross-entropy, if there is one
  };
  /// x: [B,T,D], memory: [B,S,D], self_mask: [1,1,T,T], memory_mask: [B,1,1,S]. `guided`: of this layer, or null.
  Result forward(const torch::Tensor& x, const torch::Tensor& memory, const torch::Tensor& self_mask,
                 const torch::Tensor& memory_mask, ReturnWeights return_weights = ReturnWeights::no,
                 const GuidedAttention* guided = nullptr);

  /// What a layer returns for a step.
  struct StepResult {
    torch::Tensor output;         ///< as x
    DecoderLayerCache cache;      ///< includes the new tokens
    torch::Tensor cross_weights;  ///< [B,H,N,S] or [B,H,T,S]
  };
  /// One token more for each of N hypotheses: x [B,N,D], self_mask undefined. Or T tokens more for one hypothesis each:
  /// x [B,T,D], self_mask [1,1,T,t+T].
  StepResult step(const torch::Tensor& x, const DecoderLayerCache& cache, const torch::Tensor& self_mask,
                  const torch::Tensor& memory_mask, ReturnWeights return_weights = ReturnWeights::no);

  MultiHeadAttention self_attention{nullptr};   ///< the first sub-layer
  MultiHeadAttention cross_attention{nullptr};  ///< the second; null in a decoder-only network
  FeedForward feed_forward{nullptr};            ///< the third sub-layer
  ResidualNorm self_attention_norm{nullptr};    ///< around self_attention
  ResidualNorm cross_attention_norm{nullptr};   ///< around cross_attention
  ResidualNorm feed_forward_norm{nullptr};      ///< around feed_forward
};
TORCH_MODULE(DecoderLayer);

/// N layers; with NormPosition::pre a final LayerNorm, `norm`.
class TRANSMUTE_API DecoderImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit DecoderImpl(const TransformerOptions& options);

  /// All positions at once, each seeing only those before it. x: [B,T,D], memory: [B,S,D], memory_mask:
  /// [B,1,1,S].
  DecoderOutput forward(const torch::Tensor& x, const torch::Tensor& memory, const torch::Tensor& memory_mask,
                        ReturnWeights return_weights = ReturnWeights::no, const GuidedAttention* guided = nullptr,
                        Activations activations = Activations::kept);

  /// A cache with no token decoded yet: projects the memory once for each layer that attends to it.
  DecoderCache start(const torch::Tensor& memory, const torch::Tensor& memory_mask);

  /// The next position of N hypotheses per sentence, the same numbers as `forward` gives there. x: [B,N,D];
  /// the rows of cache.layers[i].self are B·N, sentence by sentence.
  DecoderStep step(const torch::Tensor& x, const DecoderCache& cache, ReturnWeights return_weights = ReturnWeights::no);

  /// The next T positions of one hypothesis per sentence at once. x: [B,T,D].
  DecoderStep extend(const torch::Tensor& x, const DecoderCache& cache,
                     ReturnWeights return_weights = ReturnWeights::no);

 private:
  DecoderStep go_on(const torch::Tensor& x, int64_t positions, const torch::Tensor& self_mask,
                    const DecoderCache& cache, ReturnWeights return_weights);

  std::vector<DecoderLayer> layers_;
  LayerNorm norm_{nullptr};
};
TORCH_MODULE(Decoder);

}  // namespace v0
}  // namespace transmute
