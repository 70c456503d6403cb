// SPDX-License-Identifier: Apache-2.0
// CTranslate2's own test models, transliterators from Arabic to Latin letters, against what its translator_test.cc
// expects of them, as far as this project has the same features. TRANSMUTE_CTRANSLATE2_MODELS names a copy of
// tests/data/models of https://github.com/OpenNMT/CTranslate2; without it the tests are skipped.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/translation/translator.h>

#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::Each;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kAtzmon = "آ ت ز م و ن";  // its tests' main input, whose output is a t z m o n
constexpr const char* kAza = "آ ز ا";
constexpr const char* kFloatModel = "v2/aren-transliteration";

class CTranslate2Models : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("TRANSMUTE_CTRANSLATE2_MODELS") == nullptr)
      GTEST_SKIP() << "TRANSMUTE_CTRANSLATE2_MODELS does not name CTranslate2's tests/data/models";
  }

  static Translator open(const std::string& name = kFloatModel) {
    TranslatorOptions options;
    options.threads = 1;
    options.precision = Precision::float32;
    return Translator(std::string(std::getenv("TRANSMUTE_CTRANSLATE2_MODELS")) + "/" + name, options);
  }

  // CTranslate2's scores are means over the tokens.
  static TranslationOptions with_beam(int64_t beam_size, int64_t num_hypotheses = 1) {
    TranslationOptions options;
    options.guard = Guard::off;
    options.search.beam_size = beam_size;
    options.search.num_hypotheses = num_hypotheses;
    options.search.length_penalty = LengthPenalty::power;
    options.search.length_alpha = 1;
    return options;
  }

  static std::vector<std::string> texts_of(const Translation& translation) {
    std::vector<std::string> texts;
    for (const Hypothesis& hypothesis : translation.hypotheses) texts.push_back(hypothesis.text);
    return texts;
  }
};

TEST_F(CTranslate2Models, OfEachVersionAndTypeTransliterate) {
  for (const char* name : {"v1/aren-transliteration", "v1/aren-transliteration-i16", "v2/aren-transliteration",
                           "v2/aren-transliteration-i16", "v2/aren-transliteration-i8"}) {
    const Translator translator = open(name);
    for (const int64_t beam : {1, 2, 4})
      EXPECT_EQ(translator.translate(kAtzmon, with_beam(beam)), "a t z m o n") << name << ", beam " << beam;
  }
}

TEST_F(CTranslate2Models, TransliterateABatch) {
  const Translator translator = open();
  for (const int64_t beam : {1, 4}) {
    const auto results = translator.translate_batch({kAza, kAtzmon}, with_beam(beam));
    EXPECT_EQ(results[0].hypotheses[0].text, "a z z a");
    EXPECT_EQ(results[1].hypotheses[0].text, "a t z m o n");
  }
}

TEST_F(CTranslate2Models, ReturnAllHypothesesWithAttention) {
  const Translator translator = open();
  for (const int64_t beam : {1, 4}) {
    TranslationOptions options = with_beam(beam, beam);
    options.search.alignments = true;
    const auto results = translator.translate_batch({kAza, kAtzmon}, options);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_THAT(results[i].hypotheses, SizeIs(beam));
      const auto& attention = results[i].hypotheses[0].alignment;
      EXPECT_THAT(attention, SizeIs(i == 0 ? 4 : 6));
      EXPECT_THAT(attention, Each(SizeIs(i == 0 ? 3 : 6)));
      // The encoder reads no end, to which attention could go.
      for (const auto& row : attention) EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-5);
    }
  }
}

TEST_F(CTranslate2Models, GoOnFromPrefixes) {
  const Translator translator = open();
  for (const int64_t beam : {1, 4}) {
    TranslationOptions options = with_beam(beam, beam);
    options.target_prefixes = {"a t s"};
    const auto result = translator.translate_batch({kAtzmon}, options)[0];
    EXPECT_THAT(result.hypotheses, SizeIs(beam));
    EXPECT_EQ(result.hypotheses[0].text, "a t s u m o n");
  }
  // The end is among the best candidates of the first free step.
  TranslationOptions large = with_beam(5);
  large.target_prefixes = {"u l i s e"};
  EXPECT_EQ(translator.translate_batch({"أ و ل ي س س"}, large)[0].hypotheses[0].text, "u l i s e s");
}

TEST_F(CTranslate2Models, OfferAlternatives) {
  const Translator translator = open();
  TranslationOptions options = with_beam(1, 10);
  options.search.alternatives = true;
  auto results = translator.translate_batch({kAtzmon, kAza}, options);
  EXPECT_THAT(results[0].hypotheses, SizeIs(10));
  EXPECT_EQ(results[0].hypotheses[0].text, "a t z m o n");
  std::set<std::string> first_letters;
  for (const Hypothesis& hypothesis : results[0].hypotheses) first_letters.insert(hypothesis.tokens.at(0));
  EXPECT_THAT(first_letters, SizeIs(10));
  // CTranslate2 completes them with its beam, in the order of their first tokens; here they are completed greedily and
  // ranked, so that not all have a counterpart.
  EXPECT_THAT(texts_of(results[0]), ::testing::Contains("e t z m o n"));
  EXPECT_EQ(results[1].hypotheses[0].text, "a z z a");

  options.target_prefixes = {"a", "a t"};
  results = translator.translate_batch({kAza, kAtzmon}, options);
  EXPECT_EQ(results[0].hypotheses[0].text, "a z z a");
  EXPECT_THAT(texts_of(results[0]), ::testing::Contains("a s z a"));
  EXPECT_EQ(results[1].hypotheses[0].text, "a t z m o n");
  EXPECT_THAT(texts_of(results[1]), ::testing::Contains("a t s u m o n"));
  for (const auto& hypothesis : results[1].hypotheses) EXPECT_THAT(hypothesis.text, StartsWith("a t "));
}

TEST_F(CTranslate2Models, KeepToLengthsAndNgrams) {
  const Translator translator = open();
  std::string repeated = "ن";
  for (int i = 1; i < 50; ++i) repeated += " ن";
  for (const int64_t beam : {1, 4}) {
    TranslationOptions options = with_beam(beam);
    options.search.min_length = 8;
    EXPECT_THAT(translator.translate_batch({kAtzmon}, options)[0].hypotheses[0].tokens, SizeIs(8));
    TranslationOptions ngrams = with_beam(beam);
    ngrams.search.no_repeat_ngram = 3;
    const auto tokens = translator.translate_batch({repeated}, ngrams)[0].hypotheses[0].tokens;
    std::set<std::vector<std::string>> seen;
    for (size_t i = 0; i + 3 <= tokens.size(); ++i)
      EXPECT_TRUE(seen.emplace(tokens.begin() + static_cast<std::ptrdiff_t>(i),
                               tokens.begin() + static_cast<std::ptrdiff_t>(i) + 3)
                      .second);
  }
}

TEST_F(CTranslate2Models, NormalizeScores) {
  const Translator translator = open();
  for (const int64_t beam : {1, 2, 4}) {
    const Hypothesis best = translator.translate_batch({kAtzmon}, with_beam(beam))[0].hypotheses[0];
    EXPECT_NEAR(best.score, best.log_probability / 7, 1e-6);  // six letters and the end
    EXPECT_NEAR(best.log_probability, -1.061749, 1e-5);       // the sum of the scores below
  }
}

TEST_F(CTranslate2Models, SearchWithABeamAsLargeAsHalfTheVocabulary) {
  EXPECT_THAT(open().translate_batch({kAtzmon}, with_beam(22, 22))[0].hypotheses, SizeIs(22));
}

TEST_F(CTranslate2Models, ScoreTokens) {
  const std::vector<std::string> sources = {kAtzmon, "آ ت ش ي س و ن", "آ ر ب ا ك ه", "آ ر ث ر"};
  const std::vector<std::string> targets = {"a t z m o n", "a c h i s o n", "a r b a k e", "a r t h e r"};
  const std::vector<std::vector<double>> expected = {
      {-0.106023, -0.065410, -0.056002, -0.447953, -0.230714, -0.092184, -0.063463},
      {-0.072660, -0.300309, -0.181187, -0.395671, -0.025631, -0.123466, -0.002034, -0.012639},
      {-0.103136, -0.089504, -0.063889, -0.007327, -0.452072, -0.060154, -0.016636},
      {-0.076704, -0.036037, -0.029253, -0.030273, -0.149276, -0.002440, -0.003742}};
  const auto scored = open().score_batch(sources, targets, {});
  for (size_t i = 0; i < sources.size(); ++i) {
    double end = scored[i].log_probability;
    ASSERT_EQ(scored[i].token_scores.size() + 1, expected[i].size());
    for (size_t t = 0; t < scored[i].token_scores.size(); ++t) {
      EXPECT_NEAR(scored[i].token_scores[t], expected[i][t], 1e-5) << targets[i] << ", letter " << t;
      end -= scored[i].token_scores[t];
    }
    EXPECT_NEAR(end, expected[i].back(), 1e-5) << targets[i];
  }
}

}  // namespace
}  // namespace transmute
