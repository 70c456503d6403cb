// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/attention.h>
#include <transmute/model/feed_forward.h>
#include <transmute/model/recompute.h>
#include <transmute/model/sublayer.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// The encoder's output.
struct EncoderOutput {
  torch::Tensor memory;                     ///< states of the last layer, [B,S,D]
  std::vector<torch::Tensor> self_weights;  ///< weights of each layer, [B,H,S,S], if requested
};

/// Self-attention and the feed-forward network, each in a ResidualNorm (section 3.1, Encoder).
class TRANSMUTE_API EncoderLayerImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit EncoderLayerImpl(const TransformerOptions& options);

  /// x: [B,S,D], mask: [B,1,1,S]; output: [B,S,D], weights: [B,H,S,S].
  AttentionResult forward(const torch::Tensor& x, const torch::Tensor& mask,
                          ReturnWeights return_weights = ReturnWeights::no);

  MultiHeadAttention self_attention{nullptr};  ///< the first sub-layer
  FeedForward feed_forward{nullptr};           ///< the second sub-layer
  ResidualNorm self_attention_norm{nullptr};   ///< around self_attention
  ResidualNorm feed_forward_norm{nullptr};     ///< around feed_forward
};
TORCH_MODULE(EncoderLayer);

/// N layers; with NormPosition::pre a final LayerNorm, `norm`.
class TRANSMUTE_API EncoderImpl : public torch::nn::Module {
 public:
  /// `options` must be validated.
  explicit EncoderImpl(const TransformerOptions& options);

  /// x: [B,S,D], mask: [B,1,1,S].
  EncoderOutput forward(const torch::Tensor& x, const torch::Tensor& mask,
                        ReturnWeights return_weights = ReturnWeights::no, Activations activations = Activations::kept);

 private:
  std::vector<EncoderLayer> layers_;
  LayerNorm norm_{nullptr};
};
TORCH_MODULE(Encoder);

}  // namespace v0
}  // namespace transmute
