// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/tests/support/tiny_network.h>

#include <cstdint>

namespace transmute::testing {

/// A Transformer of a few thousand parameters, in eval mode, drawn from `seed`.
inline Transformer tiny_transformer(const Tokenizer& tokenizer, uint64_t seed,
                                    const TransformerOptions& options = tiny_transformer_options()) {
  torch::manual_seed(seed);
  Transformer transformer(with_vocabulary(options, tokenizer));
  transformer->eval();
  return transformer;
}

}  // namespace transmute::testing
