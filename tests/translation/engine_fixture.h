// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>

#include <string>
#include <vector>

namespace transmute::testing {

// An untrained model: its translations mean nothing, but they must be the same however the work is cut.
class Engine : public ::testing::Test {
 protected:
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     int threads = 1, const TranslationHooks& hooks = {}) {
    ThreadPool pool(threads);
    const auto parallel_for = [&](size_t count, const auto& task) { pool.for_each(count, task); };
    return engine_of(transformer, tokenizer, parallel_for).translate(texts, options, hooks);
  }

  static TranslationOptions few_tokens() {
    TranslationOptions options;
    options.guard = Guard::off;  // what an untrained model says looks wrong
    options.search.max_extra_length = 5;
    return options;
  }

  const Tokenizer tokenizer = tiny_tokenizer();
  Transformer transformer = tiny_transformer(tokenizer, 5);
};

inline void expect_same(const std::vector<Translation>& found, const std::vector<Translation>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].parts, expected[i].parts);
    ASSERT_EQ(found[i].hypotheses.size(), expected[i].hypotheses.size());
    for (size_t h = 0; h < found[i].hypotheses.size(); ++h) {
      EXPECT_EQ(found[i].hypotheses[h].text, expected[i].hypotheses[h].text) << "line " << i;
      EXPECT_EQ(found[i].hypotheses[h].score, expected[i].hypotheses[h].score);
    }
  }
}

}  // namespace transmute::testing
