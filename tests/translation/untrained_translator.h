// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/translator.h>

#include <string>

namespace transmute::testing {

/// An untrained model in a folder.
class ATranslator : public ::testing::Test {
 protected:
  ATranslator() {
    const Tokenizer tokenizer = tiny_tokenizer();
    save_model_folder(model(), tiny_config(), tokenizer, weights_of(tiny_transformer(tokenizer, 5)));
  }
  std::string model() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

inline TranslationOptions few_tokens() {
  TranslationOptions options;
  options.guard = Guard::off;          // what an untrained model says looks wrong
  options.protect = Protection::none;  // its vocabulary lacks many characters
  options.search.max_extra_length = 5;
  return options;
}

}  // namespace transmute::testing
