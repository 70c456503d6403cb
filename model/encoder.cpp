// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/encoder.h>

#include <transmute/libtorch/libtorch.h>

namespace transmute {
inline namespace v0 {

EncoderLayerImpl::EncoderLayerImpl(const TransformerOptions& options)
    : self_attention(register_module("self_attention", MultiHeadAttention(attention_options(options, Stack::encoder)))),
      feed_forward(register_module("feed_forward", FeedForward(feed_forward_options(options, Stack::encoder)))),
      self_attention_norm(register_module("self_attention_norm", ResidualNorm(options, Stack::encoder))),
      feed_forward_norm(register_module("feed_forward_norm", ResidualNorm(options, Stack::encoder))) {}

AttentionResult EncoderLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& mask,
                                          ReturnWeights return_weights) {
  torch::Tensor weights;
  const torch::Tensor attended = self_attention_norm(x, [&](const torch::Tensor& input) {
    AttentionResult result = self_attention(input, input, mask, return_weights);
    weights = result.weights;
    return result.output;
  });
  return {
      feed_forward_norm(attended, [&](const torch::Tensor& input) { return feed_forward->without_last_bias(input); }),
      weights};
}

EncoderImpl::EncoderImpl(const TransformerOptions& options) {
  torch::nn::ModuleList list = register_module("layers", torch::nn::ModuleList());
  for (int64_t i = 0; i < options.num_encoder_layers; ++i) {
    layers_.emplace_back(options);
    list->push_back(layers_.back());
  }
  if (options.norm_position == NormPosition::pre)
    norm_ = register_module("norm", LayerNorm(options.d_model, options.norm_epsilon));
}

EncoderOutput EncoderImpl::forward(const torch::Tensor& x, const torch::Tensor& mask, ReturnWeights return_weights,
                                   Activations activations) {
  EncoderOutput result{x, {}};
  for (auto& layer : layers_) {
    if (activations == Activations::recomputed && return_weights == ReturnWeights::no) {
      const auto output = [own = layer, mask](const torch::Tensor& states, const torch::Tensor&) mutable {
        return own(states, mask).output;
      };
      result.memory = recomputed(output, result.memory);
      continue;
    }
    AttentionResult layer_result = layer(result.memory, mask, return_weights);
    result.memory = layer_result.output;
    if (return_weights == ReturnWeights::yes) result.self_weights.push_back(layer_result.weights);
  }
  if (norm_) result.memory = norm_(result.memory);
  return result;
}

}  // namespace v0
}  // namespace transmute
