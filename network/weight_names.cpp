// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/weight_names.h>

namespace transmute {
inline namespace v0 {

namespace {

LinearNames without_bias(const std::string& module) {
  return {module + ".weight", ""};
}
LinearNames with_bias(const std::string& module) {
  return {module + ".weight", module + ".bias"};
}
NormNames norm(const std::string& module) {
  return {module + ".weight", module + ".bias"};
}

AttentionNames attention(const std::string& module, const TransformerOptions& options) {
  const auto linear = options.attention_bias ? with_bias : without_bias;
  return {linear(module + ".query"), linear(module + ".key"), linear(module + ".value"), linear(module + ".output"),
          norm(module + "_norm")};
}

StackNames stack(const std::string& module, const TransformerOptions& options, int64_t layers, bool is_ssru,
                 bool has_cross_attention) {
  StackNames names;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string layer = module + ".layers." + std::to_string(i);
    const std::string feed_forward = layer + ".feed_forward";
    LayerNames of_layer;
    if (is_ssru) {
      of_layer.ssru = {without_bias(layer + ".ssru.input"), with_bias(layer + ".ssru.forget")};
      of_layer.self_attention.norm = norm(layer + ".self_attention_norm");
    } else {
      of_layer.self_attention = attention(layer + ".self_attention", options);
    }
    if (has_cross_attention) of_layer.cross_attention = attention(layer + ".cross_attention", options);
    of_layer.feed_forward = {with_bias(feed_forward + ".inner"), with_bias(feed_forward + ".outer"),
                             norm(feed_forward + "_norm")};
    names.layers.push_back(std::move(of_layer));
  }
  if (options.norm_position == NormPosition::pre) names.norm = norm(module + ".norm");
  return names;
}

void add_products(const StackNames& stack, std::vector<std::string>& names) {
  for (const LayerNames& layer : stack.layers) {
    for (const AttentionNames* attention : {&layer.self_attention, &layer.cross_attention})
      for (const LinearNames* linear : {&attention->query, &attention->key, &attention->value, &attention->output})
        if (!linear->weight.empty()) names.push_back(linear->weight);
    for (const LinearNames* linear : {&layer.ssru.input, &layer.ssru.forget})
      if (!linear->weight.empty()) names.push_back(linear->weight);
    names.push_back(layer.feed_forward.inner.weight);
    names.push_back(layer.feed_forward.outer.weight);
  }
}

}  // namespace

WeightNames::WeightNames(const TransformerOptions& options) {
  const bool has_encoder = options.architecture != Architecture::decoder_only;
  const bool one_table = options.embedding_tying == EmbeddingTying::all || !has_encoder;
  source_embedding = one_table ? "embedding.weight" : "source_embedding.weight";
  target_embedding = one_table ? "embedding.weight" : "target_embedding.weight";
  output.weight = options.embedding_tying == EmbeddingTying::none ? "output.weight" : target_embedding;
  if (has_encoder) source_positions = "source_positions.weight";
  target_positions = "target_positions.weight";
  if (options.output_bias) output.bias = "output_bias";
  if (options.embedding_norm && has_encoder) source_embedding_norm = norm("source_embedding_norm");
  if (options.embedding_norm) target_embedding_norm = norm("target_embedding_norm");
  if (has_encoder) encoder = stack("encoder", options, options.num_encoder_layers, false, false);
  const bool is_ssru = options.decoder_self_attention == DecoderSelfAttention::ssru;
  decoder = stack("decoder", options, options.num_decoder_layers, is_ssru, has_encoder);
}

std::vector<std::string> WeightNames::product_matrices() const {
  std::vector<std::string> names;
  add_products(encoder, names);
  add_products(decoder, names);
  if (output.weight != target_embedding) names.push_back(output.weight);
  return names;
}

}  // namespace v0
}  // namespace transmute
