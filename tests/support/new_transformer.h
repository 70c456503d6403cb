// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/transformer.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {

inline constexpr int64_t kSmallVocabulary = 13;

/// Two layers in each stack, small enough for the reference's loops. Every width is another one.
inline TransformerOptions small_options() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = kSmallVocabulary;
  options.d_model = 8;
  options.num_heads = 2;
  options.d_k = 3;
  options.d_v = 5;
  options.d_ff = 10;
  options.num_encoder_layers = options.num_decoder_layers = 2;
  options.max_positions = 16;
  options.dropout = 0;
  return options;
}

/// The variants of it that change which code runs: where the norm is, the positions, the tying.
inline std::vector<std::pair<std::string, TransformerOptions>> small_variants() {
  TransformerOptions post = small_options();
  TransformerOptions pre = small_options();
  pre.norm_position = NormPosition::pre;
  pre.positional_encoding = PositionalEncodingKind::learned;
  pre.embedding_tying = EmbeddingTying::none;
  pre.source_vocab_size = kSmallVocabulary + 4;
  TransformerOptions two_languages = small_options();
  two_languages.embedding_tying = EmbeddingTying::target_output;
  two_languages.source_vocab_size = kSmallVocabulary + 2;
  two_languages.score_function = ScoreFunction::additive;
  two_languages.positional_encoding = PositionalEncodingKind::learned;
  TransformerOptions pre_sinusoidal = small_options();
  pre_sinusoidal.norm_position = NormPosition::pre;
  TransformerOptions marian = small_options();  // Hugging Face's
  marian.sinusoids.layout = PositionLayout::halves;
  marian.activation = Activation::swish;
  marian.attention_bias = marian.output_bias = true;
  TransformerOptions bart = pre;
  bart.activation = Activation::gelu;
  bart.attention_bias = bart.output_bias = bart.embedding_norm = true;
  TransformerOptions fairseq = pre_sinusoidal;
  fairseq.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
  fairseq.activation = Activation::gelu_tanh;
  fairseq.embedding_scale = false;
  fairseq.attention_bias = true;
  TransformerOptions mixed = two_languages;
  mixed.activation = Activation::gelu_sigmoid;
  mixed.output_bias = mixed.embedding_norm = true;
  TransformerOptions ssru = small_options();
  ssru.decoder_self_attention = DecoderSelfAttention::ssru;
  ssru.embedding_tying = EmbeddingTying::target_output;
  TransformerOptions deep_ssru = ssru;
  deep_ssru.norm_position = NormPosition::deep;
  deep_ssru.attention_bias = true;
  return {{"SSRU", ssru},
          {"SSRU, deep, biases", deep_ssru},
          {"swish, halves, biases", marian},
          {"pre, learned, untied, gelu, biases, embedding norm", bart},
          {"pre, fairseq's positions, gelu_tanh, unscaled", fairseq},
          {"additive, gelu_sigmoid, output bias, embedding norm", mixed},
          {"post, sinusoidal, tied all", post},
          {"pre, learned, untied", pre},
          {"post, learned, target and output tied, additive", two_languages},
          {"pre, sinusoidal, tied all", pre_sinusoidal}};
}

/// A network of `layers` layers in each stack, 64 wide.
inline TransformerOptions options_of(int64_t layers, NormPosition norm = NormPosition::post,
                                     Initialization initialization = Initialization::scaled) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 200;
  options.num_encoder_layers = options.num_decoder_layers = layers;
  options.d_model = 64;
  options.num_heads = 4;
  options.d_ff = 128;
  options.norm_position = norm;
  options.initialization = initialization;
  return validated(options);
}

/// The network as its constructor draws it.
inline Transformer new_transformer(const TransformerOptions& options, uint64_t seed = 1) {
  torch::manual_seed(seed);
  return Transformer(options);
}

}  // namespace transmute::testing
