// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/tests/translation/engine_fixture.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::Engine;
using testing::expect_same;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ResultOf;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::telling;
using testing::tiny_english;

TEST_F(Engine, GuardsEachPartByItself) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed. the river is far.",
                                       "the house 1234 the train 1234 the bridge 1234"};
  options.split_sentences = SentenceSplitting::always;
  const auto unguarded = translate(texts, options);
  options.guard = Guard::warn;
  const auto warned = translate(texts, options);
  expect_same(warned, unguarded);
  options.guard = Guard::retry;
  const auto retried = translate(texts, options);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_THAT(unguarded[i].warnings, IsEmpty());
    EXPECT_LE(retried[i].warnings.size(), warned[i].warnings.size());
    for (const TranslationWarning& warning : warned[i].warnings) {
      EXPECT_LE(warning.source.second, texts[i].size());
      EXPECT_LE(warning.target.second, warned[i].hypotheses.at(0).text.size());
    }
    expect_same(translate({texts[i]}, options), {retried[i]});
  }
  EXPECT_FALSE(warned[2].warnings.empty()) << "the numbers";
}

TEST_F(Engine, DoesNotReplaceWhatAHookHasSeen) {
  const std::vector<std::string> texts{"the house 1234 the train 1234 the bridge 1234"};
  const auto unguarded = translate(texts, options);
  options.guard = Guard::retry;
  std::string last;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t, const std::string& so_far) { last = so_far; };
  const auto streamed = translate(texts, options, 1, hooks);
  expect_same(streamed, unguarded);
  EXPECT_EQ(last, streamed[0].hypotheses[0].text);
  EXPECT_FALSE(streamed[0].warnings.empty());
}

TEST_F(Engine, KeepsTheOrderOfItsInput) {
  const std::vector<std::string> texts{"the red house is near.", "the", "the old train is closed. the river is far.",
                                       "house"};
  options.split_sentences = SentenceSplitting::never;
  const auto found = translate(texts, options);
  ASSERT_EQ(found.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const Ids ids = tokenizer.source().encode(texts[i]);
    const auto alone =
        beam_search(TransformerStepModel(transformer, torch::kCPU), {ids}, few_tokens().search).at(0).at(0);
    EXPECT_EQ(found[i].hypotheses.at(0).text, tokenizer.target().decode(alone.ids)) << texts[i];
    EXPECT_NEAR(found[i].hypotheses[0].score, alone.score, 1e-4);
  }
}

TEST_F(Engine, LeavesATextThatNobodyWantsEmptyInAllItsParts) {
  options.max_source_tokens = 6;
  const std::vector<std::string> texts{"the red house is near. the old train is closed. the river is far.",
                                       "the house"};
  const auto expected = translate(texts, options);
  ASSERT_GT(expected[0].parts, 1);
  for (const bool alignments : {false, true}) {
    options.search.alignments = alignments;
    TranslationHooks hooks;
    hooks.is_unwanted = [](size_t text) { return text == 0; };
    const auto found = translate(texts, options, 1, hooks);
    const Hypothesis& left = found[0].hypotheses.at(0);
    EXPECT_EQ(left.text, "");
    EXPECT_THAT(left.tokens, IsEmpty());
    EXPECT_THAT(left.token_scores, IsEmpty());
    EXPECT_THAT(left.alignment, IsEmpty());
    EXPECT_EQ(left.log_probability, -std::numeric_limits<double>::infinity());
    EXPECT_EQ(found[1].hypotheses.at(0).text, expected[1].hypotheses.at(0).text);
  }
}

TEST_F(Engine, AsksWhileItJoinsPartsWhetherATextIsWanted) {
  const std::string text = "the red house is near. the old train is closed. the river is far.";
  int asked = 0, last = 0;
  TranslationHooks hooks;
  hooks.is_unwanted = [&](size_t) { return ++asked == last; };
  const Translation wanted = translate({text}, few_tokens(), 1, hooks).at(0);
  ASSERT_EQ(wanted.parts, 3);
  last = std::exchange(asked, 0);
  const Hypothesis left = translate({text}, few_tokens(), 1, hooks).at(0).hypotheses.at(0);
  EXPECT_EQ(left.text, "") << "without the parts that were joined before";
  EXPECT_EQ(left.log_probability, -std::numeric_limits<double>::infinity());
}

TEST_F(Engine, GivesTheSameWithAnyNumberOfWorkersAndAnyBatchSize) {
  std::vector<std::string> texts = tiny_english();
  texts.resize(40);
  texts[3] = "";
  texts[20] = "the";
  const auto expected = translate(texts, few_tokens());
  expect_same(translate(texts, few_tokens(), 3), expected);
  TranslationOptions one_by_one = few_tokens();
  one_by_one.batch_size = 1;
  expect_same(translate(texts, one_by_one, 2), expected);
  TranslationOptions few_at_once = few_tokens();
  few_at_once.batch_tokens = 40;
  expect_same(translate(texts, few_at_once), expected);
}

TEST_F(Engine, TranslatesTextWithoutContentAsNothing) {
  for (const auto& translation : translate({"", "  ", "\u3000"}, few_tokens())) {
    ASSERT_THAT(translation.hypotheses, SizeIs(1));
    EXPECT_EQ(translation.hypotheses[0].text, "");
    EXPECT_EQ(translation.hypotheses[0].log_probability, 0);
    EXPECT_EQ(translation.parts, 1);
  }
  EXPECT_THAT(translate({}, few_tokens()), IsEmpty());
}

TEST_F(Engine, SplitsOverlongTextAndJoinsItsTranslations) {
  const std::string first = "the red house is near.";
  const std::string second = "the old train is far.";
  options.max_source_tokens = static_cast<int64_t>(tokenizer.source().encode(first).size());
  ASSERT_LE(static_cast<int64_t>(tokenizer.source().encode(second).size()), options.max_source_tokens);
  const auto apart = translate({first, second}, options);
  const auto found = translate({first + " " + second}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  ASSERT_THAT(found.hypotheses, SizeIs(1));
  std::string joined = apart[0].hypotheses[0].text;
  if (!joined.empty() && !apart[1].hypotheses[0].text.empty()) joined += " ";
  joined += apart[1].hypotheses[0].text;
  EXPECT_EQ(found.hypotheses[0].text, joined);
  EXPECT_NEAR(found.hypotheses[0].log_probability,
              apart[0].hypotheses[0].log_probability + apart[1].hypotheses[0].log_probability, 1e-3);
}

TEST_F(Engine, GivesTokensAndTheirScoresAndAlignmentsWhereAskedFor) {
  options.search.num_hypotheses = 2;
  EXPECT_THAT(translate({"the"}, options).at(0).hypotheses.at(0).alignment, IsEmpty());
  options.search.alignments = true;
  for (const auto& translation : translate({"the red house is near.", "the", ""}, options)) {
    for (const auto& hypothesis : translation.hypotheses) {
      ASSERT_EQ(hypothesis.token_scores.size(), hypothesis.tokens.size());
      double sum = 0;
      for (const double score : hypothesis.token_scores) sum += score;
      EXPECT_GE(sum, hypothesis.log_probability - 1e-6) << "the rest is the end's";
      ASSERT_EQ(hypothesis.alignment.size(), hypothesis.tokens.size());
      for (const auto& row : hypothesis.alignment) {
        ASSERT_EQ(row.size(), translation.source_tokens.size());
        EXPECT_LT(std::accumulate(row.begin(), row.end(), 0.0), 1);
      }
    }
  }
}

TEST_F(Engine, AlignsThePartsOfOverlongTextEachWithItsOwn) {
  const std::string first = "the red house is near.";
  options.search.alignments = true;
  options.max_source_tokens = static_cast<int64_t>(tokenizer.source().encode(first).size());
  const auto apart = translate({first, "the old train is far."}, options);
  const auto whole = translate({first + " the old train is far."}, options).at(0);
  ASSERT_EQ(whole.parts, 2);
  const auto& rows = whole.hypotheses.at(0).alignment;
  const auto& first_rows = apart[0].hypotheses[0].alignment;
  const auto& second_rows = apart[1].hypotheses[0].alignment;
  const size_t first_width = apart[0].source_tokens.size();
  ASSERT_EQ(whole.source_tokens.size(), first_width + apart[1].source_tokens.size());
  ASSERT_EQ(rows.size(), first_rows.size() + second_rows.size());
  ASSERT_EQ(whole.hypotheses[0].tokens.size(), rows.size());
  for (size_t t = 0; t < rows.size(); ++t)
    for (size_t s = 0; s < whole.source_tokens.size(); ++s) {
      const bool in_first = t < first_rows.size();
      const double expected = in_first != (s < first_width) ? 0.0
                              : in_first                    ? first_rows[t][s]
                                                            : second_rows[t - first_rows.size()][s - first_width];
      ASSERT_NEAR(rows[t][s], expected, 1e-5);
    }
}

TEST_F(Engine, KeepsOnlyTheAlignmentsThatAreAskedFor) {
  const std::vector<std::string> texts{"the red house is near. the old train is far.", "the <b>river</b> is far.", ""};
  for (const bool tags : {false, true}) {
    options = few_tokens();
    options.max_source_tokens = static_cast<int64_t>(tokenizer.source().encode("the red house is near.").size());
    options.inline_tags = tags;
    options.word_alignments = true;
    const auto words = translate(texts, options, 2);
    options.search.alignments = true;
    const auto both = translate(texts, options);
    EXPECT_EQ(words[0].parts, 2);
    expect_same(words, both);
    for (size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(words[i].hypotheses.at(0).word_alignment, both[i].hypotheses.at(0).word_alignment);
      EXPECT_TRUE(words[i].hypotheses[0].word_alignment.has_value());
      EXPECT_THAT(words[i].hypotheses[0].alignment, IsEmpty());
      EXPECT_EQ(both[i].hypotheses[0].alignment.size(), both[i].hypotheses[0].tokens.size());
    }
  }
}

TEST_F(Engine, TellsTheCertainTextAsItGrowsAndTheProgress) {
  const std::vector<std::string> texts{"the red house is near.", "", "the old train is closed.",
                                       "the red house is near. the old train is far."};
  for (const int64_t beam_size : {1, 4}) {
    options = few_tokens();
    options.search.beam_size = beam_size;
    options.max_source_tokens = static_cast<int64_t>(tokenizer.source().encode(texts[2]).size());
    std::vector<std::vector<std::string>> told(texts.size());
    std::vector<size_t> progress;
    TranslationHooks hooks;
    hooks.on_text = [&](size_t text, const std::string& so_far) { told.at(text).push_back(so_far); };
    hooks.on_progress = [&](size_t done, size_t total) {
      EXPECT_EQ(total, texts.size());
      progress.push_back(done);
    };
    const auto found = translate(texts, options, 2, hooks);
    EXPECT_EQ(found[3].parts, 2);
    EXPECT_THAT(told[1], IsEmpty());
    for (const size_t text : {0, 2, 3}) {
      ASSERT_FALSE(told[text].empty());
      EXPECT_EQ(told[text].back(), found[text].hypotheses[0].text);
      for (size_t i = 1; i < told[text].size(); ++i)
        EXPECT_EQ(told[text][i].compare(0, told[text][i - 1].size(), told[text][i - 1]), 0) << told[text][i];
    }
    const size_t fewest = beam_size == 1 ? found[0].hypotheses[0].tokens.size() : 1;
    EXPECT_GE(told[0].size(), fewest);
    EXPECT_THAT(progress, ElementsAre(2, 3, 4));
  }
}

TEST_F(Engine, TellsTheSentencesOfATextInTheirOrder) {
  const std::string first = "the red house is near.";
  const std::string text = first + " The blue house is here.\nTHE OLD TRAIN IS CLOSED. The bridge is far.";
  options.guard = Guard::warn;
  const std::string of_first = translated(first);
  const Translation whole = translate({text}, options).at(0);
  ASSERT_EQ(whole.parts, 4);
  EXPECT_FALSE(whole.warnings.empty());
  options.guard = Guard::retry;
  for (const int64_t batch_size : {1, 2, 64}) {
    options.batch_size = batch_size;
    std::vector<std::string> told;
    const TranslationHooks hooks = telling(told);
    expect_same(translate({text}, options, 1, hooks), {whole});
    EXPECT_EQ(told.back(), whole.hypotheses.at(0).text);
    EXPECT_THAT(told, Each(ResultOf([&](auto& so_far) { return told.back().rfind(so_far, 0); }, 0U)));
    EXPECT_THAT(told, Contains(AllOf(StartsWith(of_first), Not(told.back()))));
  }
}

TEST_F(Engine, StopsWhereTheCallerAsksItTo) {
  int asked = 0;
  TranslationHooks hooks;
  hooks.should_stop = [&] { return ++asked == 3; };
  EXPECT_THROW(translate(tiny_english(), TranslationOptions(), 1, hooks), Cancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(Engine, TranslatesSentencesByThemselvesWhereAskedTo) {
  const std::string first = "the red house is near.", second = "the old train is far.";
  options.split_sentences = SentenceSplitting::always;
  const auto apart = translate({first, second}, options);
  EXPECT_EQ(apart[0].parts, 1);
  const auto found = translate({first + " The old train is far."}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  EXPECT_EQ(found.hypotheses.at(0).text.rfind(apart[0].hypotheses[0].text, 0), 0U);
}

TEST_F(Engine, SplitsSentencesUnlessTheTrainingLinesHadSeveral) {
  const std::string text = "the red house is near. The old train is far.";
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  EXPECT_EQ(engine.translate({text}, options).at(0).sentences, 2) << "nothing is known";
  engine.use(SentenceProfile{"en", 1000, 0.1, {"near"}});
  EXPECT_EQ(engine.translate({text}, options).at(0).sentences, 2) << "The begins sentences";
  EXPECT_EQ(engine.translate({"the red house is near. Old train."}, options).at(0).sentences, 1) << "near. is learned";
  engine.use(SentenceProfile{"en", 1000, 0.5, {}});
  EXPECT_EQ(engine.translate({text}, options).at(0).parts, 1);
  options.split_sentences = SentenceSplitting::always;
  EXPECT_EQ(engine.translate({text}, options).at(0).parts, 2);
}

// The sums of the scores of all combinations say which are the best.
TEST_F(Engine, CombinesTheResultsOfSentences) {
  options.search.beam_size = options.search.num_hypotheses = 4;
  const auto apart = translate({"the red house is near.", "The old train is far."}, options);
  const auto both = translate({"the red house is near. The old train is far."}, options).at(0);
  std::vector<double> sums;
  for (const Hypothesis& first : apart[0].hypotheses)
    for (const Hypothesis& second : apart[1].hypotheses) sums.push_back(first.score + second.score);
  std::sort(sums.rbegin(), sums.rend());
  ASSERT_EQ(both.hypotheses.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(both.hypotheses[i].score, sums[i]);
  options.search.alternatives = true;
  EXPECT_EQ(translate({"the red house is near. The old train is far."}, options).at(0).hypotheses.size(), 4U);
}

}  // namespace
}  // namespace transmute
