// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/model_folder.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/random_weights.h>
#include <transmute/tests/support/tiny_network.h>
#include <transmute/tests/support/tiny_tokenizer.h>

namespace transmute::testing {

TinyModelFolder::TinyModelFolder(uint64_t seed) {
  replace(seed);
}

void TinyModelFolder::replace(uint64_t seed) {
  const Tokenizer tokenizer = tiny_tokenizer();
  const TransformerOptions options = with_vocabulary(tiny_transformer_options(), tokenizer);
  save_model_folder(path(), tiny_config(), tokenizer, random_weights(options, seed));
}

}  // namespace transmute::testing
