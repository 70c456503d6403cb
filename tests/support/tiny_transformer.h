// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>

#include <cstdint>
#include <string>

namespace transmute::testing {

/// A Transformer of a few thousand parameters, in eval mode, drawn from `seed`.
inline TransformerOptions tiny_transformer_options() {
  TransformerOptions options;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = 16;
  options.num_heads = 2;
  options.d_ff = 32;
  return options;
}

inline Transformer tiny_transformer(const Tokenizer& tokenizer, uint64_t seed,
                                    const TransformerOptions& options = tiny_transformer_options()) {
  torch::manual_seed(seed);
  Transformer transformer(with_vocabulary(options, tokenizer));
  transformer->eval();
  return transformer;
}

/// The config.yaml that goes with it.
inline std::string tiny_config(const TransformerOptions& options = tiny_transformer_options()) {
  ModelConfig config;
  config.model = options;
  ConfigSchema schema;
  config.declare(schema);
  return schema.to_yaml();
}

}  // namespace transmute::testing
