// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/attention.h>
#include <transmute/model/feed_forward.h>
#include <transmute/model/recompute.h>
#include <transmute/model/ssru.h>
#include <transmute/model/sublayer.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The desired attention of one cross-attention head to the source (Garg et al., "Jointly Learning to Align and
/// Translate with Transformer Models", 2019).
struct GuidedAttention {
  /// [B,T,S]: rows sum to 1, or to 0 if a position has no target. With TransformerOptions::source_begin, S counts the
  /// begin token for Decoder, and not for Transformer, whose caller does not know of it.
  torch::Tensor wanted;
  int64_t layer = 0;  ///< counted from 0
  int64_t head = 0;   ///< counted from 0
};

/// The decoder's output for all positions of a target.
struct DecoderOutput {
  torch::Tensor states;                      ///< [B,T,D]
  std::vector<torch::Tensor> self_weights;   ///< weights of each layer with self-attention, [B,H,T,T], if requested
  std::vector<torch::Tensor> cross_weights;  ///< weights of each layer with cross-attention, [B,H,T,S], if requested
  torch::Tensor guidance;  ///< the guided head's cross-entropy, summed over the rows; undefined without one
};

/// Keys and values of the tokens decoded so far, with room for more, so that a step copies only its own tokens. Copies
/// are independent: what is appended to one is not in the others. Not differentiable.
class TRANSMUTE_API DecodedKeyValue {
 public:
  /// [R,H,t,K] and [R,H,t,Kv]; undefined before the first token.
  KeyValue tokens() const;

  /// The tokens so far followed by T more. more: [R,H,T,K] and [R,H,T,Kv], R rows (hypotheses).
  DecodedKeyValue append(const KeyValue& more) const;

  /// The rows with the numbers `rows`, int64 [R'].
  DecodedKeyValue select(const torch::Tensor& rows) const;

 private:
  torch::Tensor buffer_;   // keys and values side by side, [R,H,C,K+Kv] with C >= length_
  int64_t key_width_ = 0;  // K
  int64_t length_ = 0;
  // Number of tokens in the buffer. A cache of this length may append in place; shorter ones that share the buffer must
  // copy it.
  std::shared_ptr<std::atomic<int64_t>> written_;
};

/// Cached state of one layer. `self`: keys and values of the tokens so far, one row per hypothesis, B·N rows; with an
/// SSRU, `cells` instead. `cross`: keys and values of the encoder's output, one row per sentence, [B,H,S,K], shared by
/// its N hypotheses; undefined in a decoder-only network.
struct DecoderLayerCache {
  JoinedProjection projection;  ///< of the self-attention; undefined with an SSRU
  DecodedKeyValue self;         ///< keys and values of B·N rows
  torch::Tensor cells;          ///< an SSRU's state, [B·N,D]; undefined before the first token
  torch::Tensor cross;          ///< keys and values side by side, [B,H,S,K+Kv]
};

/// State of incremental decoding. A step takes one cache and returns the next. The contents of a cache never change, so
/// copies are cheap and remain valid.
struct DecoderCache {
  std::vector<DecoderLayerCache> layers;  ///< one per layer
  torch::Tensor source_mask;              ///< [B,1,1,S]; undefined in a decoder-only network
  int64_t length = 0;                     ///< tokens decoded so far

  /// The cache for a new set of hypotheses. `sentences` [B'] selects the sentences to keep (undefined: all of them),
  /// and `parents` [B'·N'] the row of `self` or `cells` that each new row continues (undefined: its own). Int64, on the
  /// cache's device.
  TRANSMUTE_API DecoderCache select(const torch::Tensor& sentences, const torch::Tensor& parents) const;
};

/// The result of one decoding step.
struct DecoderStep {
  torch::Tensor states;  ///< [B,N,D], or of T positions [B,T,D]
  DecoderCache cache;    ///< includes the new tokens
  /// Weights of each layer with cross-attention, [B,H,N,S] or [B,H,T,S], if requested.
  std::vector<torch::Tensor> cross_weights;
};

/// Masked self-attention or an SSRU, attention to the encoder's output and the feed-forward network, each in a
/// ResidualNorm (section 3.1, Decoder). With Architecture::decoder_only there is no `cross_attention`; memory and its
/// mask are then undefined.
class TRANSMUTE_API DecoderLayerImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit DecoderLayerImpl(const TransformerOptions& options);

  /// A layer's output for all positions.
  struct Result {
    torch::Tensor output;         ///< [B,T,D]
    torch::Tensor self_weights;   ///< [B,H,T,T], if requested; undefined with an SSRU
    torch::Tensor cross_weights;  ///< [B,H,T,S], if requested
    torch::Tensor guidance;       ///< the guided head's summed cross-entropy, or undefined
  };
  /// x: [B,T,D], memory: [B,S,D], self_mask: [1,1,T,T], memory_mask: [B,1,1,S]. `guided`: if it applies to this layer.
  Result forward(const torch::Tensor& x, const torch::Tensor& memory, const torch::Tensor& self_mask,
                 const torch::Tensor& memory_mask, ReturnWeights return_weights = ReturnWeights::no,
                 const GuidedAttention* guided = nullptr);

  /// A layer's output for a step.
  struct StepResult {
    torch::Tensor output;         ///< shaped as x
    DecoderLayerCache cache;      ///< includes the new tokens
    torch::Tensor cross_weights;  ///< [B,H,N,S] or [B,H,T,S]
  };
  /// Adds one token to each of N hypotheses per sentence (x [B,N,D], self_mask undefined), or T tokens to one
  /// hypothesis per sentence (x [B,T,D], self_mask [1,1,T,t+T]).
  StepResult step(const torch::Tensor& x, const DecoderLayerCache& cache, const torch::Tensor& self_mask,
                  const torch::Tensor& memory_mask, ReturnWeights return_weights = ReturnWeights::no);

  MultiHeadAttention self_attention{nullptr};   ///< the first sub-layer; null with an SSRU
  Ssru ssru{nullptr};                           ///< the first sub-layer; null with self-attention
  MultiHeadAttention cross_attention{nullptr};  ///< the second; null in a decoder-only network
  FeedForward feed_forward{nullptr};            ///< the third sub-layer
  ResidualNorm self_attention_norm{nullptr};    ///< around self_attention or ssru
  ResidualNorm cross_attention_norm{nullptr};   ///< around cross_attention
  ResidualNorm feed_forward_norm{nullptr};      ///< around feed_forward
};
TORCH_MODULE(DecoderLayer);

/// N layers; with NormPosition::pre a final LayerNorm, `norm`.
class TRANSMUTE_API DecoderImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit DecoderImpl(const TransformerOptions& options);

  /// All positions at once; each attends only to itself and those before it. x: [B,T,D], memory: [B,S,D], memory_mask:
  /// [B,1,1,S].
  DecoderOutput forward(const torch::Tensor& x, const torch::Tensor& memory, const torch::Tensor& memory_mask,
                        ReturnWeights return_weights = ReturnWeights::no, const GuidedAttention* guided = nullptr,
                        Activations activations = Activations::kept);

  /// The cache before the first token. Projects the memory once for each layer.
  DecoderCache start(const torch::Tensor& memory, const torch::Tensor& memory_mask);

  /// The next position of N hypotheses per sentence. Computes the same values as `forward` at that position. x:
  /// [B,N,D]; cache.layers[i].self has B·N rows, sentence by sentence.
  DecoderStep step(const torch::Tensor& x, const DecoderCache& cache, ReturnWeights return_weights = ReturnWeights::no);

  /// The next T positions of one hypothesis per sentence at once. x: [B,T,D].
  /// @throws c10::ValueError if T is 0, or the cache has several hypotheses per sentence, or another number of layers.
  DecoderStep extend(const torch::Tensor& x, const DecoderCache& cache,
                     ReturnWeights return_weights = ReturnWeights::no);

 private:
  DecoderStep decode_positions(const torch::Tensor& x, int64_t positions, const torch::Tensor& self_mask,
                               const DecoderCache& cache, ReturnWeights return_weights);

  std::vector<DecoderLayer> layers_;
  LayerNorm norm_{nullptr};
};
TORCH_MODULE(Decoder);

}  // namespace v0
}  // namespace transmute
