// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
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
  std::string translated(const std::string& text, const TranslationOptions& of_text) {
    return translate({text}, of_text).at(0).hypotheses.at(0).text;
  }
  std::string translated(const std::string& text) { return translated(text, options); }

  // Why the engine does not translate these texts.
  std::string refusal(const std::vector<std::string>& texts, const TranslationOptions& of_texts,
                      const TranslationHooks& hooks = {}) {
    return message_of<std::invalid_argument>([&] { translate(texts, of_texts, 1, hooks); });
  }
  static std::string refusal(const TranslationEngine& engine, const std::vector<std::string>& texts,
                             const TranslationOptions& of_texts, const TranslationHooks& hooks = {}) {
    return message_of<std::invalid_argument>([&] { engine.translate(texts, of_texts, hooks); });
  }

  static TranslationOptions few_tokens() {
    TranslationOptions options;
    options.guard = Guard::off;  // what an untrained model says looks wrong
    options.search.max_extra_length = 5;
    return options;
  }

  explicit Engine(Tokenizer of_model = tiny_tokenizer()) : tokenizer(std::move(of_model)) {}

  const Tokenizer tokenizer;
  Transformer transformer = tiny_transformer(tokenizer, 5);
  TranslationOptions options = few_tokens();
};

/// Reads and writes every character, in its compatible form.
inline Tokenizer tokenizer_of_bytes() {
  TokenizerOptions bytes = tiny_tokenizer_options();
  bytes.byte_fallback = true;
  bytes.vocab_size = 330;
  return tiny_tokenizer(bytes);
}

/// Another network than that of Engine, as the model of the opposite direction.
inline std::unique_ptr<TranslationEngine> reverse_engine(
    const Tokenizer& tokenizer, const TransformerOptions& options = tiny_transformer_options()) {
  return std::make_unique<TranslationEngine>(engine_of(tiny_transformer(tokenizer, 6, options), tokenizer));
}

/// Keeps each text that it is told.
inline TranslationHooks telling(std::vector<std::string>& told) {
  TranslationHooks hooks;
  hooks.on_text = [&](size_t, const std::string& so_far) { told.push_back(so_far); };
  return hooks;
}

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
