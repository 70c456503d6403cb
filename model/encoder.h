#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/pimpl.h>
#include <transmute/model/attention.h>
#include <transmute/model/feed_forward.h>
#include <transmute/model/recompute.h>
#include <transmute/model/sublayer.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// What a stack returns: its last layer's states [B,S,D] and, where asked for, each layer's attention weights
/// [B,H,S,S].
struct EncoderOutput {
  torch::Tensor memory;
  std::vector<torch::Tensor> self_weights;
};

/// Self-attention, then the feed-forward network, each in a ResidualNorm (section 3.1, Encoder).
class EncoderLayerImpl : public torch::nn::Module {
 public:
  explicit EncoderLayerImpl(const TransformerOptions& options);

  /// x: [B,S,D], mask: [B,1,1,S]; output: [B,S,D], weights: [B,H,S,S].
  AttentionResult forward(const torch::Tensor& x, const torch::Tensor& mask,
                          ReturnWeights return_weights = ReturnWeights::no);

  MultiHeadAttention self_attention{nullptr};
  FeedForward feed_forward{nullptr};
  ResidualNorm self_attention_norm{nullptr}, feed_forward_norm{nullptr};
};
TORCH_MODULE(EncoderLayer);

/// N layers; with NormPosition::pre a final LayerNorm, `norm`.
class EncoderImpl : public torch::nn::Module {
 public:
  explicit EncoderImpl(const TransformerOptions& options);

  /// x: [B,S,D], mask: [B,1,1,S].
  EncoderOutput forward(const torch::Tensor& x, const torch::Tensor& mask,
                        ReturnWeights return_weights = ReturnWeights::no, Activations activations = Activations::kept);

 private:
  std::vector<EncoderLayer> layers_;
  LayerNorm norm_{nullptr};
};
TORCH_MODULE(Encoder);

/// Options of a layer's parts, picked out of the network's.
MultiHeadAttentionOptions attention_options(const TransformerOptions& options, Stack stack);
FeedForwardOptions feed_forward_options(const TransformerOptions& options, Stack stack);

}  // namespace v0
}  // namespace transmute
