// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_config.h>

#include <string>

namespace transmute::testing {

/// A network of a few thousand parameters.
inline TransformerOptions tiny_transformer_options() {
  TransformerOptions options;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = 16;
  options.num_heads = 2;
  options.d_ff = 32;
  return options;
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
