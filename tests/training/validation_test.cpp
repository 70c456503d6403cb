// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/training/validation.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace transmute {
namespace {

TEST(ValidationScores, TheBestOneIsKeptAndWorseOnesAreCounted) {
  TrainState state;
  EXPECT_TRUE(note_score(state, 10));
  EXPECT_FALSE(note_score(state, 9));
  EXPECT_FALSE(note_score(state, 10)) << "equal is not better";
  EXPECT_EQ(state.best_score, 10);
  EXPECT_EQ(state.score, 10);
  EXPECT_EQ(state.validations_since_best, 2);
  EXPECT_TRUE(note_score(state, 11));
  EXPECT_EQ(state.validations_since_best, 0);
}

TEST(ValidationScores, AnotherMetricOrOtherConditionsStartAnew) {
  TrainState state;
  EXPECT_FALSE(start_scores(state, ValidationMetric::bleu, "beam_size 1")) << "there are none yet";
  note_score(state, 30);
  note_score(state, 29);
  EXPECT_FALSE(start_scores(state, ValidationMetric::bleu, "beam_size 1"));
  EXPECT_EQ(state.best_score, 30);
  EXPECT_EQ(state.validations_since_best, 1);
  EXPECT_TRUE(start_scores(state, ValidationMetric::bleu, "beam_size 4"));
  EXPECT_FALSE(state.best_score.has_value());
  EXPECT_FALSE(state.score.has_value());
  EXPECT_EQ(state.validations_since_best, 0);
  EXPECT_TRUE(note_score(state, 28));
  EXPECT_TRUE(start_scores(state, ValidationMetric::loss, "beam_size 4"));
  EXPECT_EQ(state.metric, name_of(ValidationMetric::loss));
  EXPECT_TRUE(note_score(state, -2));
}

TEST(ValidationScores, OneThatIsNotFiniteIsNeverTheBest) {
  TrainState state;
  EXPECT_FALSE(note_score(state, -std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(note_score(state, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(state.best_score.has_value());
  EXPECT_FALSE(state.score.has_value());
  EXPECT_EQ(state.validations_since_best, 2);
}

TEST(TranslatedText, IsSurelyBetterOnlyWhereChanceDoesNotExplainIt) {
  TranslatedText right;
  right.references.emplace_back();
  for (int line = 0; line < 84; ++line) {
    const std::string words = "the train number " + std::to_string(line * 7919) + " is late";
    right.references.front().push_back(words);
    right.hypotheses.push_back(words);
  }
  TranslatedText one_wrong = right, many_wrong = right;
  one_wrong.hypotheses[7] = "another bus comes";
  for (size_t line = 0; line < 40; ++line) many_wrong.hypotheses[2 * line] = "another bus comes";
  for (const ValidationMetric metric :
       {ValidationMetric::bleu, ValidationMetric::chrf, ValidationMetric::chrf_plus_plus}) {
    EXPECT_TRUE(is_surely_better(right, many_wrong, metric)) << name_of(metric);
    EXPECT_FALSE(is_surely_better(many_wrong, right, metric)) << name_of(metric);
    EXPECT_FALSE(is_surely_better(right, one_wrong, metric)) << name_of(metric);
    EXPECT_FALSE(is_surely_better(right, right, metric)) << name_of(metric);
  }
  EXPECT_FALSE(is_surely_better({}, {}, ValidationMetric::chrf));
}

TEST(TranslatedText, HasAScoreForEachLanguagePair) {
  TranslatedText text;
  text.sources = {"a b c d e", "f g h i j", "k l m n o"};
  text.hypotheses = {"A B C D E", "wrong as can be now", "K L M N O"};
  text.references = {{"A B C D E", "F G H I J", "K L M N O"}};
  text.languages = {{"en-de", 1}, {"de-en", 2}};
  const std::vector<TranslatedText> parts = text.by_languages();
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].sources, std::vector<std::string>{"a b c d e"});
  EXPECT_DOUBLE_EQ(parts[0].bleu(), 100);
  EXPECT_EQ(parts[1].references.front(), (std::vector<std::string>{"F G H I J", "K L M N O"}));
  EXPECT_LT(parts[1].bleu(), 60);
  EXPECT_TRUE(TranslatedText().by_languages().empty());
}

TEST(TranslatedText, IsScoredByTheScriptOfItsReferences) {
  TranslatedText text;
  text.hypotheses = {"他们明天去北京。", "这本书非常有意思。"};
  text.references = {text.hypotheses};
  EXPECT_DOUBLE_EQ(text.bleu(), 100);
  TranslatedText worse = text;
  worse.hypotheses = {"他们今天去北京。", "这本书没有意思。"};
  EXPECT_GT(worse.bleu(), 30);
  EXPECT_LT(worse.bleu(), 90);
  text.hypotheses = {"彼らは明日北京へ行きます。"};
  text.references = {text.hypotheses};
  EXPECT_DOUBLE_EQ(text.bleu(), 100);
}

TEST(TranslatedText, ShowsFiveSentencesFromAllOverTheText) {
  TranslatedText text;
  text.references.emplace_back();
  for (int line = 0; line < 20; ++line) {
    text.sources.push_back("s" + std::to_string(line));
    text.hypotheses.push_back("h" + std::to_string(line));
    text.references.front().push_back("r" + std::to_string(line));
  }
  const Json samples = text.samples();
  ASSERT_EQ(samples.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    const std::string number = std::to_string(4 * i);
    EXPECT_EQ(samples[i]["source"], "s" + number);
    EXPECT_EQ(samples[i]["reference"], "r" + number);
    EXPECT_EQ(samples[i]["translation"], "h" + number);
  }
}

}  // namespace
}  // namespace transmute
