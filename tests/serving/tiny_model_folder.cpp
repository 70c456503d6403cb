// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/tiny_model.h>
#include <transmute/tests/support/tiny_tokenizer.h>

namespace transmute::testing {

TinyModelFolder::TinyModelFolder(uint64_t seed) {
  replace(seed);
}

void TinyModelFolder::replace(uint64_t seed) {
  const Tokenizer tokenizer = tiny_tokenizer();
  save_model_folder(path(), tiny_config(), tokenizer, tiny_weights(tokenizer, seed));
}

}  // namespace transmute::testing
