// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/model_folder.h>
#include <transmute/tests/support/random_weights.h>
#include <transmute/tests/support/tiny_network.h>

#include <cstdint>
#include <string>

namespace transmute::testing {

/// Weights of a few thousand parameters for a tokenizer's vocabulary, drawn from `seed`.
inline Weights tiny_weights(const Tokenizer& tokenizer, uint64_t seed,
                            const TransformerOptions& options = tiny_transformer_options()) {
  return random_weights(with_vocabulary(options, tokenizer), seed);
}

}  // namespace transmute::testing
