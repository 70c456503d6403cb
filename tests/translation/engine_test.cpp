// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/libtorch/threading.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/text/minimum_risk.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::Not;
using ::testing::SizeIs;
using testing::tiny_english;
using testing::tiny_tokenizer;
using testing::tiny_transformer;

// An untrained model: its translations mean nothing, but they must be the same however the work is cut.
class Engine : public ::testing::Test {
 protected:
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     int threads = 1, const TranslationHooks& hooks = {}) {
    ThreadPool pool(threads, run_operations_on_this_thread_only);
    const auto parallel_for = [&](size_t count, const auto& task) { pool.for_each(count, task); };
    return testing::engine_of(transformer, tokenizer, parallel_for).translate(texts, options, hooks);
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

void expect_same(const std::vector<Translation>& found, const std::vector<Translation>& expected) {
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

TEST_F(Engine, GuardsEachPartByItself) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed. the river is far.",
                                       "the house 1234 the train 1234 the bridge 1234"};
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
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

TEST_F(Engine, ChoosesTheTranslationOfLeastRiskAmongTheBestOrAmongSamples) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed.", "", "house"};
  for (const bool samples : {false, true})
    for (const MbrUtility utility : {MbrUtility::chrf, MbrUtility::bleu}) {
      TranslationOptions options = few_tokens();
      if (samples) options.search.sampling = SamplingOptions();
      options.search.num_hypotheses = options.search.beam_size = 8;
      auto expected = translate(texts, options);
      for (Translation& translation : expected) choose_by_risk(translation.hypotheses, utility, samples, 2);
      options.search.num_hypotheses = 2;
      options.search.beam_size = 4;
      options.mbr = {8, utility};
      expect_same(translate(texts, options), expected);
    }
}

TEST_F(Engine, RefusesMinimumRiskWhereTheChoiceHasNoMeaning) {
  TranslationOptions options = few_tokens();
  options.mbr.candidates = 4;
  TranslationHooks hooks;
  hooks.on_text = [](size_t, const std::string&) {};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options, 1, hooks); }), HasSubstr("on_text"));
  options.search.alternatives = true;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options); }), HasSubstr("alternatives"));
  options.mbr.candidates = -1;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({}, options); }), HasSubstr("mbr.candidates"));
}

TEST_F(Engine, RanksTheBestOrSamplesByTheirWayBackToTheSource) {
  const auto reverse = [&] {
    return std::make_unique<TranslationEngine>(testing::engine_of(tiny_transformer(tokenizer, 6), tokenizer));
  };
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(reverse());
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed.", "", "house"};
  for (const bool samples : {false, true}) {
    TranslationOptions options = few_tokens();
    options.search.length_penalty = LengthPenalty::power;
    if (samples) options.search.sampling = SamplingOptions();
    options.search.num_hypotheses = options.search.beam_size = 8;
    const auto plain = engine.translate(texts, options);
    auto expected = plain;
    TranslationOptions alone;
    alone.search.length_penalty = LengthPenalty::power;
    for (size_t i = 0; i < texts.size(); ++i) {
      auto& hypotheses = expected[i].hypotheses;
      if (texts[i].empty()) continue;
      for (Hypothesis& hypothesis : hypotheses)
        hypothesis.score += 20 * reverse()->score({hypothesis.text}, {texts[i]}, alone).at(0).score;
      std::stable_sort(hypotheses.begin(), hypotheses.end(), [](auto& a, auto& b) { return a.score > b.score; });
      hypotheses.resize(2);
    }
    EXPECT_NE(expected[0].hypotheses[0].text, plain[0].hypotheses[0].text) << "or nothing is shown";
    options.search.num_hypotheses = 2;
    options.search.beam_size = 4;
    options.rerank = {8, 20};
    const auto found = engine.translate(texts, options);
    expect_same(found, expected);
    for (const Hypothesis& hypothesis : found[0].hypotheses)
      EXPECT_EQ(hypothesis.reverse_log_probability,
                reverse()->score({hypothesis.text}, {texts[0]}, alone).at(0).log_probability);
    EXPECT_EQ(plain[0].hypotheses[0].reverse_log_probability, std::nullopt);
  }
}

TEST_F(Engine, RanksTheSentencesOfATextEachByItself) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(
      std::make_unique<TranslationEngine>(testing::engine_of(tiny_transformer(tokenizer, 6), tokenizer)));
  TranslationOptions options = few_tokens();
  options.rerank = {6, 2};
  const auto first = engine.translate({"the red house is near."}, options)[0].hypotheses[0];
  const auto second = engine.translate({"The old train is closed."}, options)[0].hypotheses[0];
  options.split_sentences = SentenceSplitting::always;
  const Translation both = engine.translate({"the red house is near. The old train is closed."}, options)[0];
  ASSERT_EQ(both.parts, 2);
  EXPECT_EQ(both.hypotheses[0].text, first.text + " " + second.text);
  EXPECT_EQ(both.hypotheses[0].reverse_log_probability,
            *first.reverse_log_probability + *second.reverse_log_probability);
}

TEST_F(Engine, RefusesToRerankWhereTheChoiceHasNoMeaning) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  TranslationOptions options = few_tokens();
  options.rerank.candidates = 4;
  const auto refusal = [&](const TranslationHooks& hooks = {}) {
    return message_of<std::invalid_argument>([&] { engine.translate({"the"}, options, hooks); });
  };
  EXPECT_THAT(refusal(), HasSubstr("reverse_model"));
  engine.rerank_with(std::make_unique<TranslationEngine>(testing::engine_of(transformer, tokenizer)));
  TranslationHooks hooks;
  hooks.on_text = [](size_t, const std::string&) {};
  EXPECT_THAT(refusal(hooks), HasSubstr("rerank cannot be combined with on_text"));
  options.mbr.candidates = 4;
  EXPECT_THAT(refusal(), HasSubstr("mbr cannot be combined with rerank"));
  options.mbr.candidates = 0;
  options.search.alternatives = true;
  EXPECT_THAT(refusal(), HasSubstr("rerank cannot be combined with alternatives"));
  options.search.alternatives = false;
  options.rerank.candidates = 1001;
  EXPECT_THAT(refusal(), HasSubstr("rerank.candidates must be from 0 to 1000"));
  options.rerank = {4, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_THAT(refusal(), HasSubstr("rerank.weight"));
}

TEST_F(Engine, RefusesNumbersOfHypothesesThatMoreCandidatesWouldHide) {
  TranslationOptions mbr = few_tokens(), rerank = few_tokens();
  mbr.mbr.candidates = 4;
  rerank.rerank.candidates = 4;
  for (TranslationOptions options : {mbr, rerank}) {
    options.search.num_hypotheses = 0;
    EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options); }),
                HasSubstr("num_hypotheses must lie between 1 and 10000, not 0"));
    options.search.num_hypotheses = 1;
    options.search.beam_size = -1;
    EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options); }),
                HasSubstr("beam_size must lie between 1 and 10000, not -1"));
  }
}

TransformerOptions with_learned_positions(int64_t max_positions) {
  TransformerOptions options = testing::tiny_transformer_options();
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = max_positions;
  return options;
}

TEST_F(Engine, PutsCandidatesLastThatAreTooLongForTheReverseModel) {
  const std::vector<std::string> texts{"the"};
  TranslationOptions options = few_tokens();
  options.search.sampling = SamplingOptions();
  options.search.num_hypotheses = 30;
  const auto plain = translate(texts, options).at(0).hypotheses;
  const auto tokens_of = [&](const Hypothesis& hypothesis) {
    return tokenizer.source().encode(hypothesis.text).size();
  };
  size_t most = 0;
  for (const Hypothesis& hypothesis : plain) most = std::max(most, tokens_of(hypothesis));
  ASSERT_GT(most, tokenizer.target().encode(texts[0]).size());
  const auto is_too_long = [&](const Hypothesis& hypothesis) { return tokens_of(hypothesis) == most; };
  const auto too_long = static_cast<size_t>(std::count_if(plain.begin(), plain.end(), is_too_long));
  ASSERT_LT(too_long, plain.size());

  // The end takes a position too, so all but the longest fit.
  const TransformerOptions network = with_learned_positions(static_cast<int64_t>(most));
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(
      std::make_unique<TranslationEngine>(testing::engine_of(tiny_transformer(tokenizer, 6, network), tokenizer)));
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  for (const double weight : {2.0, 0.0}) {
    options.rerank = {30, weight};
    const auto found = engine.translate(texts, options).at(0).hypotheses;
    ASSERT_EQ(found.size(), plain.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(*found[i].reverse_log_probability == kNever, is_too_long(found[i])) << found[i].text;
      if (weight > 0) {
        EXPECT_EQ(found[i].score == kNever, i >= found.size() - too_long);
      } else {
        EXPECT_EQ(found[i].score, plain[i].score);
      }
    }
  }
}

TEST_F(Engine, SaysWhichTextIsTooLongForLearnedPositions) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  const auto short_one = [&] {
    return std::make_unique<TranslationEngine>(
        testing::engine_of(tiny_transformer(tokenizer, 6, with_learned_positions(4)), tokenizer));
  };
  engine.rerank_with(short_one());
  TranslationOptions options = few_tokens();
  options.rerank.candidates = 4;
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                engine.translate({"", "the red house is near."}, options);
              }),
              AllOf(HasSubstr("text 2: it cannot be reranked"), HasSubstr("3 tokens that the reverse model takes"),
                    ::testing::Not(HasSubstr("max_source_tokens"))));
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                short_one()->score({"the", "the red house is near."}, {"", ""}, few_tokens());
              }),
              AllOf(HasSubstr("text 2: the source has"), HasSubstr("learned positions for 3")));
}

// A run of unknown characters is one token of a model, and three of each character of another that writes bytes.
TEST_F(Engine, SaysWhichTextIsTooLongForTheReverseModelToScore) {
  TokenizerOptions bytes = testing::tiny_tokenizer_options();
  bytes.byte_fallback = true;
  bytes.vocab_size = 330;
  const Tokenizer other = tiny_tokenizer(bytes);
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(std::make_unique<TranslationEngine>(testing::engine_of(tiny_transformer(other, 6), other)));
  TranslationOptions options = few_tokens();
  options.rerank.candidates = 4;
  std::string text;
  for (int i = 0; i < 2800; ++i) text += "\u8a9e";
  ASSERT_LT(tokenizer.source().encode(text).size(), 10U);
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                engine.translate({"the", "the red house", text}, options);
              }),
              AllOf(HasSubstr("text 3: it cannot be reranked"), HasSubstr("8192 tokens that the reverse model takes")));
}

// One that is refused before it is asked.
class AnyConstraint : public NextTokenConstraint {
 public:
  std::shared_ptr<const State> begin(const Ids&, const std::string&) const override {
    throw std::logic_error("was not refused");
  }
};

// Allows nothing but the end, and keeps what it was told of.
class EndsAtOnce : public NextTokenConstraint {
 public:
  class Over : public State {
   public:
    Ids allowed() const override { return {special_ids::kEnd}; }
    std::shared_ptr<const State> after(int64_t) const override { throw std::logic_error("goes on"); }
  };

  std::shared_ptr<const State> begin(const Ids& source, const std::string& text) const override {
    sources[text] = source;
    return std::make_shared<Over>();
  }
  mutable std::map<std::string, Ids> sources;
};

TEST_F(Engine, TellsAConstraintWhichTextsTheTokensAreOf) {
  TranslationOptions options = few_tokens();
  const auto constraint = std::make_shared<EndsAtOnce>();
  options.search.constraint = constraint;
  const std::vector<std::string> texts{"the  house don´t", "the river is near."};
  translate(texts, options);
  EXPECT_THAT(constraint->sources, SizeIs(2));
  for (const std::string& text : texts) EXPECT_EQ(constraint->sources.at(text), tokenizer.source().encode(text));
}

TEST_F(Engine, RefusesAConstraintWithWhatWouldCutItsOutputOrVocabulary) {
  TranslationOptions options = few_tokens();
  options.search.constraint = std::make_shared<AnyConstraint>();
  options.inline_tags = true;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the <b>house</b>"}, options); }),
              HasSubstr("inline_tags cannot be combined with a constraint"));
  options.inline_tags = false;
  const testing::TemporaryFolder folder;
  ShortlistOptions shortlist;
  shortlist.table = folder / "table";
  testing::write_text(shortlist.table, tokenizer.target().piece(10) + " " + tokenizer.source().piece(10) + " 0.5\n");
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.use(std::make_shared<Shortlist>(shortlist, tokenizer));
  for (const std::vector<std::string>& texts : {std::vector<std::string>{}, std::vector<std::string>{"the house"}})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { engine.translate(texts, options); }),
                HasSubstr("a shortlist cannot be combined with a constraint"));
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

TEST_F(Engine, ReturnsAsManyHypothesesAsAskedFor) {
  TranslationOptions options = few_tokens();
  options.search.num_hypotheses = 3;
  const auto found = translate({"the red house", "the"}, options);
  for (const auto& translation : found) {
    ASSERT_THAT(translation.hypotheses, SizeIs(3));
    EXPECT_GE(translation.hypotheses[0].score, translation.hypotheses[1].score);
    EXPECT_GE(translation.hypotheses[1].score, translation.hypotheses[2].score);
  }
}

TEST_F(Engine, SplitsOverlongTextAndJoinsItsTranslations) {
  const std::string first = "the red house is near.";
  const std::string second = "the old train is far.";
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
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
    TranslationOptions options = few_tokens();
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
    TranslationOptions options = few_tokens();
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
    EXPECT_THAT(told[3], SizeIs(1)) << "parts are told together";
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

TEST_F(Engine, StopsWhereTheCallerAsksItTo) {
  int asked = 0;
  TranslationHooks hooks;
  hooks.should_stop = [&] { return ++asked == 3; };
  EXPECT_THROW(translate(tiny_english(), TranslationOptions(), 1, hooks), Cancelled);
  EXPECT_EQ(asked, 3);
}

TEST_F(Engine, RunsOtherScoreFunctionsOnThePlainPathAndSaysWhy) {
  TransformerOptions options = testing::tiny_transformer_options();
  options.score_function = ScoreFunction::additive;
  transformer = tiny_transformer(tokenizer, 5, options);
  const auto inline_for = [](size_t count, const auto& task) {
    for (size_t i = 0; i < count; ++i) task(i);
  };
  const TranslationEngine engine = testing::engine_of(transformer, tokenizer, inline_for);
  EXPECT_THAT(engine.slow_reason(), HasSubstr("score_function"));
  const Ids ids = tokenizer.source().encode("the red house is near.");
  const auto alone =
      beam_search(TransformerStepModel(transformer, torch::kCPU), {ids}, few_tokens().search).at(0).at(0);
  EXPECT_EQ(engine.translate({"the red house is near."}, few_tokens()).at(0).hypotheses.at(0).text,
            tokenizer.target().decode(alone.ids));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { testing::engine_of(transformer, tokenizer, inline_for, Precision::int8); }),
              HasSubstr("only be run in float32"));
}

TEST_F(Engine, RefusesThePrecisionOfGpusOnACpu) {
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { testing::engine_of(transformer, tokenizer, {}, Precision::half); }),
      HasSubstr("half is for GPUs"));
}

// log P of a given translation, the end included, by the modules themselves: one sentence, no cache, no padding.
double log_probability_by_modules(Transformer transformer, const Ids& source, Ids target) {
  const torch::NoGradGuard no_grad;
  Ids source_ids = source, target_in = target, target_out = target;
  source_ids.push_back(special_ids::kEnd);
  target_in.insert(target_in.begin(), special_ids::kBegin);
  target_out.push_back(special_ids::kEnd);
  const torch::Tensor logits =
      transformer(torch::tensor(source_ids).unsqueeze(0), torch::tensor(target_in).unsqueeze(0));
  const torch::Tensor log_probs = torch::log_softmax(logits.to(torch::kDouble), -1).squeeze(0);
  return log_probs.gather(1, torch::tensor(target_out).unsqueeze(1)).sum().item<double>();
}

TEST_F(Engine, ScoresGivenTranslationsAsThePlainModulesDo) {
  ThreadPool pool(2, run_operations_on_this_thread_only);
  const auto parallel_for = [&](size_t count, const auto& task) { pool.for_each(count, task); };
  std::vector<std::string> sources = tiny_english(), targets = testing::tiny_german();
  std::rotate(targets.begin(), targets.begin() + 7, targets.end());
  sources.insert(sources.end(), {"the red house", "", "the"});
  targets.insert(targets.end(),
                 {"", "das Haus", "das alte Haus ist weg. das alte Haus ist weg. das alte Haus ist weg."});
  TranslationOptions options;
  options.batch_size = 10;
  options.search.alignments = true;
  const auto scored = testing::engine_of(transformer, tokenizer, parallel_for).score(sources, targets, options);
  ASSERT_EQ(scored.size(), sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const Ids source = tokenizer.source().encode(sources[i]), target = tokenizer.target().encode(targets[i]);
    EXPECT_NEAR(scored[i].log_probability, log_probability_by_modules(transformer, source, target), 2e-4)
        << "float32 sums of " << target.size() << " tokens";
    EXPECT_EQ(scored[i].text, targets[i]);
    EXPECT_EQ(scored[i].tokens, tokenizer.target().segment(targets[i]).pieces);
    EXPECT_EQ(scored[i].token_scores.size(), target.size());
    EXPECT_EQ(scored[i].alignment.size(), target.size());
  }
}

TEST_F(Engine, TranslatesWithTheMeanOfSeveralModelsProbabilities) {
  Transformer other = tiny_transformer(tokenizer, 6);
  const auto parallel_for = [](size_t count, const auto& task) {
    for (size_t i = 0; i < count; ++i) task(i);
  };
  const TranslationEngine both(make_step_model(std::vector<Weights>{weights_of(transformer), weights_of(other)},
                                               Device(), Precision::float32, parallel_for, WeightUse::copied),
                               tokenizer, parallel_for);
  // By hand: the modules' probabilities after each prefix, averaged.
  const torch::NoGradGuard no_grad;
  const std::string text = "the red house is near.", translation = "das rote Haus ist nah.";
  Ids source = tokenizer.source().encode(text);
  source.push_back(special_ids::kEnd);
  Ids target = tokenizer.target().encode(translation), target_in = target;
  target_in.insert(target_in.begin(), special_ids::kBegin);
  target.push_back(special_ids::kEnd);
  const auto probabilities = [&](Transformer& model) {
    const torch::Tensor logits = model(torch::tensor(source).unsqueeze(0), torch::tensor(target_in).unsqueeze(0));
    return torch::softmax(logits.to(torch::kDouble), -1).squeeze(0);
  };
  const torch::Tensor mean = (probabilities(transformer) + probabilities(other)) / 2;
  const double expected = mean.gather(1, torch::tensor(target).unsqueeze(1)).log().sum().item<double>();
  EXPECT_NEAR(both.score({text}, {translation}, {}).at(0).log_probability, expected, 1e-4);
  EXPECT_NE(both.translate({text}, few_tokens()).at(0).hypotheses.at(0).log_probability,
            translate({text}, few_tokens()).at(0).hypotheses.at(0).log_probability);
}

TEST_F(Engine, BeginsTranslationsWithTheirPrefix) {
  TranslationOptions options = few_tokens();
  options.target_prefixes = {"das rote", "", "das"};
  const auto found = translate({"the red house is near.", "the old train is far.", ""}, options);
  EXPECT_EQ(found[0].hypotheses.at(0).text.rfind("das rote", 0), 0U) << found[0].hypotheses[0].text;
  EXPECT_EQ(found[1].hypotheses.at(0).text, translate({"the old train is far."}, few_tokens())[0].hypotheses[0].text);
  EXPECT_EQ(found[2].hypotheses.at(0).text, "") << "nothing to translate";
  options.target_prefixes.pop_back();
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                translate({"a", "b", "c"}, options);
              }),
              HasSubstr("the numbers of target prefixes (2) and texts (3) differ"));
}

TEST_F(Engine, ObeysAGlossary) {
  TranslationOptions options = few_tokens();
  options.search.max_extra_length = 20;
  options.glossary = {{"house", "Brücke"}, {"red house", "alte"}};
  const auto found = translate({"the house is near.", "the red house is near.", "the houses"}, options);
  EXPECT_THAT(found[0].hypotheses.at(0).text, HasSubstr("Brücke"));
  EXPECT_THAT(found[1].hypotheses.at(0).text, HasSubstr("alte"));
  TranslationOptions without = options;
  without.glossary.clear();
  EXPECT_EQ(found[2].hypotheses.at(0).text, translate({"the houses"}, without).at(0).hypotheses.at(0).text);
}

// A demand of many tokens widens the beam by a bounded number, and is met nevertheless.
TEST_F(Engine, MeetsDemandsThatAreLongerThanTheSource) {
  TranslationOptions options = few_tokens();
  std::string term;
  while (tokenizer.target().encode(term).size() < 150) term += "das alte Haus ";
  term.pop_back();
  options.glossary = {{"house", term}};
  EXPECT_THAT(translate({"the house"}, options)[0].hypotheses.at(0).text, HasSubstr(term));
  options.glossary[0].target += ' ' + term;
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                translate({"a", "the house"}, options);
              }),
              AllOf(HasSubstr("text 2: the glossary demands terms of"), HasSubstr("more than 256")));
}

TEST_F(Engine, TranslatesSentencesByThemselvesWhereAskedTo) {
  const std::string first = "the red house is near.", second = "the old train is far.";
  TranslationOptions options = few_tokens();
  options.split_sentences = SentenceSplitting::always;
  const auto apart = translate({first, second}, options);
  EXPECT_EQ(apart[0].parts, 1);
  const auto found = translate({first + " The old train is far."}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  EXPECT_EQ(found.hypotheses.at(0).text.rfind(apart[0].hypotheses[0].text, 0), 0U);
}

TEST_F(Engine, AlignsTheWordsOfSentencesThatATermJoins) {
  const std::string text = "the old. Red house is near. The river is far.";
  TranslationOptions options = few_tokens();
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  options.glossary = {{"old. Red", "Haus"}};
  const auto found = translate({text}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  EXPECT_THAT(found.hypotheses.at(0).text, HasSubstr("Haus"));
  ASSERT_TRUE(found.hypotheses[0].word_alignment.has_value());
  for (const auto& [source, target] : *found.hypotheses[0].word_alignment) EXPECT_LT(source, 10U);
}

TEST_F(Engine, RefusesOverlongTextWhereAskedTo) {
  TranslationOptions options = few_tokens();
  options.max_source_tokens = 3;
  options.long_texts = LongTexts::refused;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the red house is near."}, options); }),
              HasSubstr("more than 3: \"the red"));
}

TEST_F(Engine, KeepsEveryTagOnceAndNested) {
  TranslationOptions options = few_tokens();
  options.inline_tags = true;
  const auto found =
      translate({"the <b>red <i>house</i></b> is <br/> near.", "<x/>", "the {thing} train", "3 < 4", ""}, options);
  for (const char* tag : {"<b>", "</b>", "<i>", "</i>", "<br/>"}) {
    const std::string& text = found[0].hypotheses[0].text;
    EXPECT_NE(text.find(tag), std::string::npos) << text;
    EXPECT_EQ(text.find(tag), text.rfind(tag)) << text;
  }
  const std::string& text = found[0].hypotheses[0].text;
  EXPECT_LT(text.find("<b>"), text.find("<i>"));
  EXPECT_LT(text.find("<i>"), text.find("</i>"));
  EXPECT_LT(text.find("</i>"), text.find("</b>"));
  EXPECT_EQ(found[1].hypotheses.at(0).text, "<x/>");
  EXPECT_THAT(found[2].hypotheses.at(0).text, HasSubstr("{thing}"));
  EXPECT_EQ(found[3].hypotheses.at(0).text, translate({"3 < 4"}, few_tokens()).at(0).hypotheses.at(0).text);
  EXPECT_THAT(found[0].hypotheses[0].alignment, IsEmpty()) << "not asked for";
}

TEST_F(Engine, PlacesTagsInEachSentence) {
  const std::string first = "the <b>red</b> house is near.", second = "The old <i>train</i> is far.";
  TranslationOptions options = few_tokens();
  options.inline_tags = true;
  const auto apart = translate({first, second}, options);
  const auto both = translate({first + "  " + second}, options).at(0);
  EXPECT_EQ(both.parts, 2);
  EXPECT_EQ(both.sentences, 2);
  EXPECT_EQ(both.hypotheses.at(0).text, apart[0].hypotheses.at(0).text + "  " + apart[1].hypotheses.at(0).text);
}

TEST_F(Engine, EndsSentencesAtLineBreaksOfMarkup) {
  const std::string first = "the red house", second = "the <i>train</i> is far.";
  TranslationOptions options = few_tokens();
  options.inline_tags = true;
  const auto apart = translate({first, second}, options);
  const std::string expected_first = apart[0].hypotheses.at(0).text, expected_second = apart[1].hypotheses.at(0).text;
  for (const std::string line_break : {"<br>", " <BR/> ", "<br><br>"}) {
    const auto both = translate({first + line_break + second}, options).at(0);
    EXPECT_EQ(both.sentences, 2);
    EXPECT_EQ(both.hypotheses.at(0).text, expected_first + line_break + expected_second);
  }
  options.split_sentences = SentenceSplitting::never;
  EXPECT_EQ(translate({first + "<br>" + second}, options).at(0).sentences, 1);
}

TEST_F(Engine, RefusesATextLanguageThatIsNone) {
  TranslationOptions options = few_tokens();
  options.text_language = "xx";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"a"}, options); }),
              HasSubstr("text_language: \"xx\""));
}

TEST_F(Engine, SplitsSentencesUnlessTheTrainingLinesHadSeveral) {
  const std::string text = "the red house is near. The old train is far.";
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  TranslationOptions options = few_tokens();
  EXPECT_EQ(engine.translate({text}, options).at(0).sentences, 2) << "nothing is known";
  engine.use(SentenceProfile{"en", 1000, 0.1, {"near"}});
  EXPECT_EQ(engine.translate({text}, options).at(0).sentences, 2) << "The begins sentences";
  EXPECT_EQ(engine.translate({"the red house is near. Old train."}, options).at(0).sentences, 1) << "near. is learned";
  engine.use(SentenceProfile{"en", 1000, 0.5, {}});
  EXPECT_EQ(engine.translate({text}, options).at(0).parts, 1);
  options.split_sentences = SentenceSplitting::always;
  EXPECT_EQ(engine.translate({text}, options).at(0).parts, 2);
}

// The weights make the confidence of a translation depend on the mean log-probability of its tokens and end, and that
// of a word on its own log-probability.
TEST_F(Engine, HasConfidenceIfTheModelIsCalibrated) {
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  TranslationOptions options = few_tokens();
  const std::vector<std::string> texts{"the red house is near.", "The old train is far."};
  EXPECT_FALSE(engine.translate(texts, options).at(0).hypotheses.at(0).confidence) << "nothing is known";
  TranslationProfile profile;
  profile.set(ConfidenceCurve{{0.5, 2, 0, 0, 0, 0, 0}, {1, 3, 0, 0}});
  engine.use(profile);
  const auto logistic_of = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto apart = engine.translate(texts, options);
  for (const Translation& translation : apart) {
    const Hypothesis& best = translation.hypotheses.at(0);
    const double mean = best.log_probability / static_cast<double>(best.tokens.size() + 1);
    ASSERT_TRUE(best.confidence);
    EXPECT_NEAR(*best.confidence, logistic_of(0.5 + 2 * mean), 1e-6);
    double all = 0;
    for (const double score : best.token_scores) all += score;
    double of_words = 0, end_before = 0;
    for (const WordConfidence& word : best.words) {
      of_words += (std::log(word.confidence / (1 - word.confidence)) - 1) / 3;
      EXPECT_GE(word.place.first, end_before);
      end_before = static_cast<double>(word.place.second);
    }
    EXPECT_NEAR(of_words, all, 1e-6) << "every token is in one word";
    EXPECT_LE(end_before, best.text.size());
  }
  const Hypothesis both = engine.translate({texts[0] + "  " + texts[1]}, options).at(0).hypotheses.at(0);
  const Hypothesis &first = apart[0].hypotheses[0], &second = apart[1].hypotheses[0];
  const auto first_size = static_cast<double>(first.text.size()), second_size = static_cast<double>(second.text.size());
  ASSERT_TRUE(both.confidence);
  EXPECT_NEAR(*both.confidence,
              (*first.confidence * first_size + *second.confidence * second_size) / (first_size + second_size), 1e-9);
  ASSERT_EQ(both.words.size(), first.words.size() + second.words.size());
  const auto text_at = [](const Hypothesis& of, size_t i) {
    const auto [begin, end] = of.words[i].place;
    return of.text.substr(begin, end - begin);
  };
  for (size_t i = 0; i < second.words.size(); ++i) EXPECT_EQ(text_at(both, first.words.size() + i), text_at(second, i));
}

// The sums of the scores of all combinations say which are the best.
TEST_F(Engine, CombinesTheResultsOfSentences) {
  TranslationOptions options = few_tokens();
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

TEST_F(Engine, ReturnsWhatIsProtectedOnce) {
  const std::vector<std::string> texts{"the %s red house {0} is near 😀.", "the red house is near.", "%1$s: %d (%s)",
                                       "the red house &amp; the train http://a.b/c?d=e", ""};
  const auto found = translate(texts, few_tokens());
  const std::vector<std::vector<std::string>> spans{{"%s", "{0}", "😀"}, {}, {}, {"&amp;", "http://a.b/c?d=e"}, {}};
  for (size_t i = 0; i < texts.size(); ++i)
    for (const std::string& span : spans[i]) {
      const std::string& text = found[i].hypotheses.at(0).text;
      EXPECT_NE(text.find(span), std::string::npos) << text;
      EXPECT_EQ(text.find(span), text.rfind(span)) << text;
    }
  EXPECT_EQ(found[2].hypotheses.at(0).text, texts[2]) << "there is nothing to translate";
  EXPECT_THAT(found[0].hypotheses[0].alignment, IsEmpty()) << "not asked for";
  TranslationOptions none = few_tokens();
  none.protect = Protection::none;
  expect_same({found[1]}, {translate({texts[1]}, none).at(0)});
  EXPECT_THAT(translate({texts[0]}, none).at(0).hypotheses.at(0).text, Not(HasSubstr("{0}")));
}

TEST_F(Engine, ReturnsWordsThatTheVocabularyLacks) {
  const Translation found = translate({"the red Дом is near."}, few_tokens()).at(0);
  EXPECT_THAT(found.hypotheses.at(0).text, HasSubstr("Дом"));
  EXPECT_THAT(found.unknown, ElementsAre("Дом")) << "the model has not read it";
  TranslationOptions options = few_tokens();
  options.glossary = {{"red %s", "haus"}};
  const std::string text = translate({"the red %s is near."}, options).at(0).hypotheses.at(0).text;
  EXPECT_THAT(text, AllOf(HasSubstr("haus"), Not(HasSubstr("%s")))) << "a term is the glossary's";
}

TEST_F(Engine, LeavesToTheModelWhatItHasLearned) {
  const std::string text = "the %s red house {0} is near.";
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.leave_to_models({"{0}"});
  TranslationOptions options = few_tokens();
  EXPECT_THAT(engine.translate({text}, options).at(0).hypotheses.at(0).text,
              AllOf(HasSubstr("%s"), Not(HasSubstr("{0}"))));
  options.protect = Protection::all;
  EXPECT_THAT(engine.translate({text}, options).at(0).hypotheses.at(0).text, AllOf(HasSubstr("%s"), HasSubstr("{0}")));
}

TEST_F(Engine, BeginsATextOfProtectedSpansWithItsPrefix) {
  TranslationOptions options = few_tokens();
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(translate({"%s"}, options).at(0).hypotheses.at(0).text, ::testing::StartsWith("das rote"));
  options.target_prefixes = {""};
  EXPECT_EQ(translate({"%s"}, options).at(0).hypotheses.at(0).text, "%s");
}

TEST_F(Engine, KeepsProtectedSpansInEachSentenceOfATextInCapitals) {
  TranslationOptions options = few_tokens();
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  const Translation found = translate({"THE RED %s HOUSE IS NEAR. THE OLD {name} TRAIN IS CLOSED."}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  const std::string& text = found.hypotheses.at(0).text;
  EXPECT_LT(text.find("%s"), text.find("{name}")) << text;
  EXPECT_THAT(text, HasSubstr("{name}"));
  EXPECT_THAT(*found.hypotheses[0].word_alignment,
              ::testing::Contains(::testing::Field(&std::pair<size_t, size_t>::first, 2U)))
      << "%s is a word";
}

TEST_F(Engine, WarnsOfPlacesInTheWholeTextAndOfNothingThatWasProtected) {
  const std::string text = "{name}: the red house {0} is near the old train %d and the river is far 😀";
  TranslationOptions options = few_tokens();
  options.guard = Guard::warn;
  const Translation found = translate({text}, options).at(0);
  for (const TranslationWarning& warning : found.warnings) {
    EXPECT_NE(warning.kind, WarningKind::placeholder);
    EXPECT_NE(warning.kind, WarningKind::emoji);
    EXPECT_LE(warning.source.second, text.size());
    EXPECT_LE(warning.target.second, found.hypotheses.at(0).text.size());
  }
}

TEST_F(Engine, TranslatesATextAlikeBesideOneWithPlaceholders) {
  const std::vector<std::string> texts{"the red house is near.", "the old train is closed."};
  const auto alone = translate(texts, few_tokens());
  const auto beside = translate({texts[0], texts[1], "the %s bridge is near."}, few_tokens());
  expect_same({beside[0], beside[1]}, alone);
}

TEST_F(Engine, TellsATextWithProtectedSpansAtItsEnd) {
  TranslationOptions options = few_tokens();
  std::vector<std::vector<std::string>> told(2);
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) { told.at(text).push_back(so_far); };
  const auto found = translate({"the %s red house is near.", "the red house is near."}, options, 1, hooks);
  EXPECT_THAT(told[0], ElementsAre(found[0].hypotheses.at(0).text));
  EXPECT_GT(told[1].size(), 1U);
}

TEST_F(Engine, RefusesInvalidUtf8AndOptionsOutOfRange) {
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"gr\xfcn"}, few_tokens()); }), HasSubstr("byte 3"));
  for (int64_t TranslationOptions::*option :
       {&TranslationOptions::batch_size, &TranslationOptions::batch_tokens, &TranslationOptions::max_source_tokens}) {
    TranslationOptions options;
    options.*option = 0;
    EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options); }),
                HasSubstr("must lie between 1 and 1000000000, not 0"));
  }
}

// A model that would say any byte: what it writes is still one line.
TEST(EngineWithBytes, WritesNoLineEnds) {
  TokenizerOptions bytes = testing::tiny_tokenizer_options();
  bytes.byte_fallback = true;
  bytes.vocab_size = 330;
  const Tokenizer tokenizer = tiny_tokenizer(bytes);
  const Ids breaks = tokenizer.target().line_breaks();
  std::vector<std::string> names;
  for (const int64_t id : breaks) names.push_back(tokenizer.target().piece(id));
  EXPECT_THAT(names, ElementsAre("<0x00>", "<0x0A>", "<0x0D>"));
  ThreadPool pool(1, run_operations_on_this_thread_only);
  SearchOptions sampling;
  sampling.num_hypotheses = 100;
  sampling.sampling.emplace().temperature = 100;
  sampling.max_extra_length = 40;
  SearchOptions alternatives;
  alternatives.alternatives = true;
  alternatives.num_hypotheses = 300;
  alternatives.max_extra_length = 0;
  const TranslationEngine engine = testing::engine_of(tiny_transformer(tokenizer, 5), tokenizer, pool.parallel_for());
  for (const SearchOptions& search : {sampling, alternatives}) {
    TranslationOptions options;
    options.search = search;
    const auto found = engine.translate({"the red house"}, options);
    size_t with_bytes = 0;
    for (const Hypothesis& hypothesis : found.at(0).hypotheses) {
      EXPECT_EQ(hypothesis.text.find_first_of(std::string("\n\r\0", 3)), std::string::npos);
      for (const std::string& token : hypothesis.tokens) with_bytes += token.rfind("<0x", 0) == 0 ? 1 : 0;
    }
    EXPECT_GT(with_bytes, 100U) << "the draws have bytes at all";
  }
}

TEST_F(Engine, RefusesToAlignOrScoreWhatTakesTheSquareOfItsLength) {
  std::string text;
  for (int i = 0; i < 8000; ++i) text += "red house ";
  TranslationOptions options = few_tokens();
  options.search.alignments = true;
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                translate({"the house", text}, options);
              }),
              AllOf(HasSubstr("text 2: "), HasSubstr("an alignment takes at most 8192")));
  TranslationOptions tags;
  tags.inline_tags = true;
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                translate({"the", text + "<b>house</b>"}, tags);
              }),
              AllOf(HasSubstr("text 2: "), HasSubstr("an alignment takes at most 8192")));
  ThreadPool pool(1, run_operations_on_this_thread_only);
  const TranslationEngine engine = testing::engine_of(transformer, tokenizer, pool.parallel_for());
  EXPECT_THAT(message_of<std::invalid_argument>([&] { engine.score({"the"}, {text}, options); }),
              HasSubstr("scoring takes at most 8192"));
}

TEST_F(Engine, NeedsNoAlignmentOfATextWithoutTags) {
  std::string text;
  while (tokenizer.source().encode(text).size() <= 8192) text += text.empty() ? "red house " : text;
  TranslationOptions options;
  options.search.beam_size = 1;
  options.search.max_extra_length = 0;
  options.inline_tags = true;
  const auto found = translate({text, "the <b>house</b>"}, options);
  EXPECT_GT(found[0].parts, 32);
  EXPECT_THAT(found[0].hypotheses.at(0).alignment, IsEmpty());
  EXPECT_THAT(found[1].hypotheses.at(0).text, AllOf(HasSubstr("<b>"), HasSubstr("</b>")));
}

// Whatever is asked for, no text is longer than the positions that were learned.
TEST_F(Engine, EndsTranslationsAtTheLastLearnedPosition) {
  TransformerOptions options = testing::tiny_transformer_options();
  options.source_vocab_size = tokenizer.source().size();
  options.target_vocab_size = tokenizer.target().size();
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 10;
  torch::manual_seed(5);
  transformer = Transformer(options);
  transformer->eval();
  const std::string text = "the red house is near. the old train is closed. the river is far.";
  ASSERT_GT(tokenizer.source().encode(text).size(), 10U);
  const Translation found = translate({text}, TranslationOptions()).at(0);
  EXPECT_GT(found.parts, 1);
  for (const char* word : {"the", "the red house"})
    EXPECT_LE(translate({word}, TranslationOptions()).at(0).hypotheses.at(0).tokens.size(), 9U);
}

TEST_F(Engine, SaysWhichPrefixAndTermsAreTooLongForLearnedPositions) {
  const std::string prefix = "das alte", term = "Br\u00fccke";
  const auto tokens_of = [&](const std::string& text) { return tokenizer.target().encode(text).size(); };
  const auto demanded = static_cast<int64_t>(tokens_of(prefix) + tokens_of(term));
  TranslationOptions options = few_tokens();
  options.target_prefixes = {"", prefix};
  options.glossary = {{"house", term}};
  const std::vector<std::string> texts{"the house", "the house"};
  transformer = tiny_transformer(tokenizer, 5, with_learned_positions(demanded + 1));  // and one for the end
  const std::string text = translate(texts, options).at(1).hypotheses.at(0).text;
  EXPECT_THAT(text, AllOf(HasSubstr(prefix), HasSubstr(term)));
  transformer = tiny_transformer(tokenizer, 5, with_learned_positions(demanded));
  EXPECT_THAT(message_of<BadText>([&] { translate(texts, options); }),
              AllOf(HasSubstr("text 2: its translation must have " + std::to_string(demanded) + " tokens"),
                    HasSubstr("learned positions for " + std::to_string(demanded - 1))));
}

TEST_F(Engine, RefusesBeforeTheFirstTextWhatNoTextCouldHave) {
  TranslationOptions options;
  options.glossary = {{"house", "Haus"}};
  options.search.sampling = SamplingOptions();
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({}, options); }), HasSubstr("glossary"));
}

TEST_F(Engine, RefusesAPrefixOfAnyLength) {
  TranslationOptions options;
  std::string prefix;
  for (int i = 0; i < 5000; ++i) prefix += "das Haus ";
  options.target_prefixes = {prefix};
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the house"}, options); }),
              AllOf(HasSubstr("text 1: its target prefix has"), HasSubstr("more than 8192")));
}

TEST_F(Engine, NamesTheTextWhosePrefixTheVocabularyCannotWrite) {
  TranslationOptions options;
  options.target_prefixes = {"das", "\u2603"};
  EXPECT_EQ(message_of<BadText>([&] {
              translate({"the house", "the house"}, options);
            }),
            "text 2: its target prefix \"\u2603\" has characters that the model's vocabulary lacks");
}

}  // namespace
}  // namespace transmute
