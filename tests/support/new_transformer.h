// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/transformer.h>

#include <cstdint>

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
