// SPDX-License-Identifier: Apache-2.0
// The Translator through the C interface.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/translation/untrained_translator.h>
#include <transmute/translation/translator.h>
#include <transmute/translation/transmute.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::ATranslator;
using testing::few_tokens;
using ::testing::HasSubstr;

TEST_F(ATranslator, IsTheSameThroughTheCInterface) {
  const Translator translator(model());
  TranslationOptions options = few_tokens();
  options.search.num_hypotheses = 2;
  options.search.alignments = true;
  const auto expected = translator.translate_batch({"the red house is near.", ""}, options);

  char* error = nullptr;
  transmute_translator* in_c = transmute_open(model().c_str(), nullptr, &error);
  ASSERT_NE(in_c, nullptr) << error;
  transmute_translation_options c_options = transmute_translation_options_default();
  EXPECT_EQ(c_options.beam_size, options.search.beam_size);
  EXPECT_EQ(c_options.max_source_tokens, options.max_source_tokens);
  c_options.max_extra_length = 5;
  c_options.num_hypotheses = 2;
  c_options.alignments = 1;
  struct Seen {
    std::string text;
    size_t done = 0;
  } seen;
  c_options.user = &seen;
  c_options.on_text = [](void* user, size_t text, const char* so_far) {
    if (text == 0) static_cast<Seen*>(user)->text = so_far;
  };
  c_options.on_progress = [](void* user, size_t done, size_t) { static_cast<Seen*>(user)->done = done; };
  const char* texts[] = {"the red house is near.", ""};
  transmute_result* result = transmute_translate(in_c, texts, 2, &c_options, &error);
  ASSERT_NE(result, nullptr) << error;

  ASSERT_EQ(transmute_result_count(result), 2U);
  for (size_t t = 0; t < 2; ++t) {
    ASSERT_EQ(transmute_result_hypotheses(result, t), expected[t].hypotheses.size());
    ASSERT_EQ(transmute_result_source_length(result, t), expected[t].source_tokens.size());
    for (size_t h = 0; h < expected[t].hypotheses.size(); ++h) {
      const Hypothesis& hypothesis = expected[t].hypotheses[h];
      EXPECT_EQ(transmute_result_text(result, t, h), hypothesis.text);
      EXPECT_EQ(transmute_result_score(result, t, h), hypothesis.score);
      EXPECT_EQ(transmute_result_log_probability(result, t, h), hypothesis.log_probability);
      ASSERT_EQ(transmute_result_length(result, t, h), hypothesis.tokens.size());
      for (size_t i = 0; i < hypothesis.tokens.size(); ++i) {
        EXPECT_EQ(transmute_result_token(result, t, h, i), hypothesis.tokens[i]);
        EXPECT_EQ(transmute_result_token_score(result, t, h, i), hypothesis.token_scores[i]);
        for (size_t s = 0; s < expected[t].source_tokens.size(); ++s)
          EXPECT_EQ(transmute_result_alignment(result, t, h, i)[s], hypothesis.alignment[i][s]);
      }
    }
  }
  EXPECT_EQ(seen.text, expected[0].hypotheses[0].text);
  EXPECT_EQ(seen.done, 2U);
  EXPECT_EQ(transmute_result_text(result, 2, 0), nullptr);
  EXPECT_EQ(transmute_result_text(result, 0, 2), nullptr);
  EXPECT_EQ(transmute_result_token(result, 1, 0, 0), nullptr);
  EXPECT_EQ(transmute_result_alignment(result, 1, 0, 0), nullptr);
  transmute_result_free(result);

  c_options.should_stop = [](void*) { return 1; };
  EXPECT_EQ(transmute_translate(in_c, texts, 2, &c_options, &error), nullptr);
  EXPECT_STREQ(error, "cancelled");
  transmute_string_free(error);
  transmute_close(in_c);
}

TEST_F(ATranslator, HasItsOptionsInTheCInterfaceToo) {
  TranslatorOptions opening;
  opening.ensemble = {model()};
  opening.reverse_model = model();
  const Translator translator(model(), opening);
  const std::string first = model();
  const char* others[] = {first.c_str()};
  transmute_translator_options c_opening = transmute_translator_options_default();
  c_opening.ensemble = others;
  c_opening.ensemble_size = 1;
  c_opening.reverse_model = first.c_str();
  transmute_translator* in_c = transmute_open(first.c_str(), &c_opening, nullptr);
  ASSERT_NE(in_c, nullptr);
  const char* texts[] = {"the <b>red house</b> is near.", "the old train"};
  const std::vector<std::string> strings(texts, texts + 2);

  const auto expect_same = [&](const TranslationOptions& options, const transmute_translation_options& c_options) {
    const auto expected = translator.translate_batch(strings, options);
    EXPECT_NE(expected[0].hypotheses[0].text, translator.translate(strings[0], few_tokens()))
        << "an option without effect";
    char* error = nullptr;
    transmute_result* result = transmute_translate(in_c, texts, 2, &c_options, &error);
    ASSERT_NE(result, nullptr) << error;
    for (size_t t = 0; t < 2; ++t) {
      ASSERT_EQ(transmute_result_hypotheses(result, t), expected[t].hypotheses.size());
      for (size_t h = 0; h < expected[t].hypotheses.size(); ++h) {
        EXPECT_EQ(transmute_result_text(result, t, h), expected[t].hypotheses[h].text);
        EXPECT_EQ(transmute_result_score(result, t, h), expected[t].hypotheses[h].score);
        EXPECT_EQ(transmute_result_reverse_log_probability(result, t, h),
                  expected[t].hypotheses[h].reverse_log_probability.value_or(0));
      }
    }
    transmute_result_free(result);
  };
  transmute_translation_options plain = transmute_translation_options_default();
  plain.max_extra_length = 5;
  plain.guard = "off";
  plain.protect = "none";

  TranslationOptions options = few_tokens();
  transmute_translation_options c_options = plain;
  options.search.sampling = SamplingOptions{2, 30, 0.9, 7};
  options.search.num_hypotheses = c_options.num_hypotheses = 3;
  c_options.sample = 1;
  c_options.temperature = 2;
  c_options.top_k = 30;
  c_options.top_p = 0.9;
  c_options.seed = 7;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  const char* prefixes[] = {"das rote", ""};
  options.target_prefixes = {"das rote", ""};
  c_options.target_prefixes = prefixes;
  options.search.alternatives = true;
  c_options.alternatives = 1;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  const char* glossary[] = {"house", "Brücke"};
  options.glossary = {{"house", "Brücke"}};
  c_options.glossary = glossary;
  c_options.glossary_size = 1;
  options.inline_tags = true;
  c_options.inline_tags = 1;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  EXPECT_EQ(c_options.rerank_weight, options.rerank.weight);
  options.rerank = {8, 3};
  c_options.rerank_candidates = 8;
  c_options.rerank_weight = 3;
  expect_same(options, c_options);

  options = few_tokens();
  c_options = plain;
  options.search.coverage_beta = c_options.coverage_beta = 2;
  options.search.min_length = c_options.min_length = 8;
  options.search.no_repeat_ngram = c_options.no_repeat_ngram = 1;
  options.search.length_penalty = LengthPenalty::power;
  c_options.power_length_penalty = 1;
  expect_same(options, c_options);

  const char* targets[] = {"das Haus", "der Zug"};
  transmute_result* scored = transmute_score(in_c, texts, targets, 2, nullptr, nullptr);
  ASSERT_NE(scored, nullptr);
  const auto expected = translator.score_batch(strings, {targets[0], targets[1]});
  for (size_t t = 0; t < 2; ++t) {
    EXPECT_EQ(transmute_result_log_probability(scored, t, 0), expected[t].log_probability);
    const std::vector<std::string> pieces = translator.translate_batch({strings[t]}, few_tokens())[0].source_tokens;
    ASSERT_EQ(transmute_result_source_length(scored, t), pieces.size()) << "what an alignment has for each token";
    for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(transmute_result_source_token(scored, t, i), pieces[i]);
  }
  transmute_result_free(scored);
  char* error = nullptr;
  EXPECT_EQ(transmute_score(in_c, texts, nullptr, 2, nullptr, &error), nullptr);
  EXPECT_THAT(std::string(error), HasSubstr("target"));
  transmute_string_free(error);
  transmute_close(in_c);
}

TEST_F(ATranslator, TellsMistakesThroughTheCInterface) {
  char* error = nullptr;
  const auto told = [&](const void* result) {
    EXPECT_EQ(result, nullptr);
    const std::string message = error != nullptr ? error : "";
    transmute_string_free(error);
    return message;
  };
  EXPECT_THAT(told(transmute_open(nullptr, nullptr, &error)), HasSubstr("NULL"));
  EXPECT_THAT(told(transmute_open("/nowhere", nullptr, &error)), HasSubstr("/nowhere"));
  EXPECT_THAT(told(transmute_open("/no\x1b[2J\u009b\nwhere", nullptr, &error)),
              HasSubstr("/no\\x1b[2J\\u009b\\nwhere"));
  EXPECT_EQ(transmute_open("/nowhere", nullptr, nullptr), nullptr) << "nobody asked for the message";

  transmute_translator_options options = transmute_translator_options_default();
  options.device = "toaster";
  EXPECT_THAT(told(transmute_open(model().c_str(), &options, &error)), HasSubstr("toaster"));
  options = transmute_translator_options_default();
  options.struct_size = sizeof(options) + 8;
  EXPECT_THAT(told(transmute_open(model().c_str(), &options, &error)), HasSubstr("newer version"));

  // An older caller's struct ends earlier.
  options.struct_size = offsetof(transmute_translator_options, threads);
  options.threads = -1;
  transmute_translator* translator = transmute_open(model().c_str(), &options, &error);
  ASSERT_NE(translator, nullptr) << error;

  const char* texts[] = {"gr\xfcn", nullptr};
  EXPECT_THAT(told(transmute_translate(translator, texts, 1, nullptr, &error)), HasSubstr("UTF-8"));
  EXPECT_THAT(told(transmute_translate(translator, texts, 2, nullptr, &error)), HasSubstr("text 2 is NULL"));
  EXPECT_THAT(told(transmute_translate(nullptr, texts, 1, nullptr, &error)), HasSubstr("NULL"));
  transmute_translation_options translation = transmute_translation_options_default();
  const char* fine[] = {"the"};
  for (const int64_t size :
       {int64_t{0}, std::numeric_limits<int64_t>::min() / 2, std::numeric_limits<int64_t>::max()}) {
    translation.beam_size = size;
    EXPECT_THAT(told(transmute_translate(translator, fine, 1, &translation, &error)), HasSubstr("beam_size")) << size;
  }
  transmute_result* none = transmute_translate(translator, nullptr, 0, nullptr, &error);
  ASSERT_NE(none, nullptr);
  EXPECT_EQ(transmute_result_count(none), 0U);
  transmute_result_free(none);
  transmute_result_free(nullptr);
  transmute_close(translator);
  transmute_close(nullptr);
}

}  // namespace
}  // namespace transmute
