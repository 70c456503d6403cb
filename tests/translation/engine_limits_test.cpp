// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/tests/translation/engine_fixture.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::Engine;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
using testing::tiny_transformer;
using testing::tokenizer_of_bytes;

TransformerOptions with_learned_positions(int64_t max_positions) {
  TransformerOptions options = testing::tiny_transformer_options();
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = max_positions;
  return options;
}

TEST_F(Engine, PutsCandidatesLastThatAreTooLongForTheReverseModel) {
  const std::vector<std::string> texts{"the"};
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
  engine.rerank_with(testing::reverse_engine(tokenizer, network));
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
  const auto short_one = [&] { return testing::reverse_engine(tokenizer, with_learned_positions(4)); };
  engine.rerank_with(short_one());
  options.rerank.candidates = 4;
  EXPECT_THAT(refusal(engine, {"", "the red house is near."}, options),
              AllOf(HasSubstr("text 2: it cannot be reranked"), HasSubstr("3 tokens that the reverse model takes"),
                    ::testing::Not(HasSubstr("max_source_tokens"))));
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                short_one()->score({"the", "the red house is near."}, {"", ""}, few_tokens());
              }),
              AllOf(HasSubstr("text 2: the source has"), HasSubstr("learned positions for 3")));
}

// A run of unknown characters is one token of a model, and three of each character of another that writes bytes.
TEST_F(Engine, SaysWhichTextIsTooLongForTheReverseModelToScore) {
  const Tokenizer other = tokenizer_of_bytes();
  TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  engine.rerank_with(testing::reverse_engine(other));
  options.rerank.candidates = 4;
  std::string text;
  for (int i = 0; i < 2800; ++i) text += "\u8a9e";
  ASSERT_LT(tokenizer.source().encode(text).size(), 10U);
  EXPECT_THAT(refusal(engine, {"the", "the red house", text}, options),
              AllOf(HasSubstr("text 3: it cannot be reranked"), HasSubstr("8192 tokens that the reverse model takes")));
}

TEST_F(Engine, RunsOtherScoreFunctionsOnThePlainPathAndSaysWhy) {
  TransformerOptions options = testing::tiny_transformer_options();
  options.score_function = ScoreFunction::additive;
  transformer = tiny_transformer(tokenizer, 5, options);
  const TranslationEngine engine = testing::engine_of(transformer, tokenizer);
  EXPECT_THAT(engine.slow_reason(), HasSubstr("score_function"));
  const Ids ids = tokenizer.source().encode("the red house is near.");
  const auto alone =
      beam_search(TransformerStepModel(transformer, torch::kCPU), {ids}, few_tokens().search).at(0).at(0);
  EXPECT_EQ(engine.translate({"the red house is near."}, few_tokens()).at(0).hypotheses.at(0).text,
            tokenizer.target().decode(alone.ids));
  EXPECT_THAT(message_of<std::invalid_argument>(
                  [&] { testing::engine_of(transformer, tokenizer, one_by_one, Precision::int8); }),
              HasSubstr("only be run in float32"));
}

TEST_F(Engine, RefusesThePrecisionOfGpusOnACpu) {
  EXPECT_THAT(
      message_of<std::invalid_argument>([&] { testing::engine_of(transformer, tokenizer, {}, Precision::half); }),
      HasSubstr("half is for GPUs"));
}

TEST_F(Engine, RefusesOverlongTextWhereAskedTo) {
  options.max_source_tokens = 3;
  options.long_texts = LongTexts::refused;
  EXPECT_THAT(refusal({"the red house is near."}, options), HasSubstr("more than 3: \"the red"));
}

TEST_F(Engine, RefusesATextLanguageThatIsNone) {
  options.text_language = "xx";
  EXPECT_THAT(refusal({"a"}, options), HasSubstr("text_language: \"xx\""));
}

TEST_F(Engine, RefusesInvalidUtf8AndOptionsOutOfRange) {
  EXPECT_THAT(refusal({"gr\xfcn"}, few_tokens()), HasSubstr("byte 3"));
  for (int64_t TranslationOptions::*option :
       {&TranslationOptions::batch_size, &TranslationOptions::batch_tokens, &TranslationOptions::max_source_tokens}) {
    options = {};
    options.*option = 0;
    EXPECT_THAT(refusal({"the"}, options), HasSubstr("must lie between 1 and 1000000000, not 0"));
  }
}

// A model that would say any byte: what it writes is still one line.
TEST(EngineWithBytes, WritesNoLineEnds) {
  const Tokenizer tokenizer = tokenizer_of_bytes();
  const Ids breaks = tokenizer.target().line_breaks();
  std::vector<std::string> names;
  for (const int64_t id : breaks) names.push_back(tokenizer.target().piece(id));
  EXPECT_THAT(names, ElementsAre("<0x00>", "<0x0A>", "<0x0D>"));
  ThreadPool pool(1);
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
  options.search.alignments = true;
  EXPECT_THAT(refusal({"the house", text}, options),
              AllOf(HasSubstr("text 2: "), HasSubstr("an alignment takes at most 8192")));
  TranslationOptions tags;
  tags.inline_tags = true;
  EXPECT_THAT(refusal({"the", text + "<b>house</b>"}, tags),
              AllOf(HasSubstr("text 2: "), HasSubstr("an alignment takes at most 8192")));
  ThreadPool pool(1);
  const TranslationEngine engine = testing::engine_of(transformer, tokenizer, pool.parallel_for());
  EXPECT_THAT(message_of<std::invalid_argument>([&] { engine.score({"the"}, {text}, options); }),
              HasSubstr("scoring takes at most 8192"));
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
  options.glossary = {{"house", "Haus"}};
  options.search.sampling = SamplingOptions();
  EXPECT_THAT(refusal({}, options), HasSubstr("glossary"));
}

TEST_F(Engine, RefusesAPrefixOfAnyLength) {
  std::string prefix;
  for (int i = 0; i < 5000; ++i) prefix += "das Haus ";
  options.target_prefixes = {prefix};
  EXPECT_THAT(refusal({"the house"}, options),
              AllOf(HasSubstr("text 1: its target prefix has"), HasSubstr("more than 8192")));
}

TEST_F(Engine, NamesTheTextWhosePrefixTheVocabularyCannotWrite) {
  options.target_prefixes = {"das", "\u2603"};
  EXPECT_EQ(message_of<BadText>([&] {
              translate({"the house", "the house"}, options);
            }),
            "text 2: its target prefix \"\u2603\" has characters that the model's vocabulary lacks");
}

}  // namespace
}  // namespace transmute
