#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/model/threading.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/transformer_step_model.h>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::SizeIs;
using testing::tiny_english;
using testing::tiny_tokenizer;
using testing::tiny_transformer;

// The parts of a text given by its pieces ('_' begins a word), as the numbers of their pieces.
std::vector<Ids> parts_of(std::vector<std::string> pieces, int64_t limit) {
  Ids ids;
  for (auto& piece : pieces) {
    if (piece.front() == '_') piece.replace(0, 1, "\u2581");
    ids.push_back(static_cast<int64_t>(ids.size()));
  }
  return split_ids(ids, pieces, limit);
}

TEST(SplitIds, LeavesShortTextWhole) {
  EXPECT_THAT(parts_of({"_a", "_b", "_c"}, 3), ElementsAre(Ids{0, 1, 2}));
}

TEST(SplitIds, PrefersTheEndOfASentence) {
  EXPECT_THAT(parts_of({"_a", ".", "_b", ",", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1}, Ids{2, 3, 4, 5, 6}));
  EXPECT_THAT(parts_of({"_a", "!", "_b", "?", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1, 2, 3}, Ids{4, 5, 6}))
      << "the last one that fits";
}

TEST(SplitIds, TakesTheEndOfAClauseWhereNoSentenceEnds) {
  EXPECT_THAT(parts_of({"_a", ",", "_b", ";", "_c", "_d", "_e"}, 6), ElementsAre(Ids{0, 1, 2, 3}, Ids{4, 5, 6}));
}

TEST(SplitIds, TakesTheEndOfAWordWhereNoClauseEnds) {
  EXPECT_THAT(parts_of({"_a", "_b", "c", "_d", "e", "f"}, 4), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}));
}

TEST(SplitIds, CutsAWordThatIsTooLong) {
  EXPECT_THAT(parts_of({"_a", "b", "c", "d", "e", "f", "g"}, 3), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}, Ids{6}));
}

TEST(SplitIds, CutsBehindTheFullPartWhereAWordEndsThere) {
  EXPECT_THAT(parts_of({"_a", "b", "c", "_d", "e"}, 3), ElementsAre(Ids{0, 1, 2}, Ids{3, 4}));
}

TEST(SplitIds, TakesNoPointInsideANumberForAnEnd) {
  EXPECT_THAT(parts_of({"_3", ".", "1", "4", "_x", "_y"}, 5), ElementsAre(Ids{0, 1, 2, 3, 4}, Ids{5}));
}

TEST(SplitIds, CutsAtFullWidthMarksWithoutSpaces) {
  EXPECT_THAT(parts_of({"_汉", "字", "。", "汉", "字", "汉"}, 5), ElementsAre(Ids{0, 1, 2}, Ids{3, 4, 5}));
}

TEST(SplitIds, LosesNothingAndKeepsTheLimit) {
  std::vector<std::string> pieces;
  const std::vector<std::string> kinds{"_w", "x", ".", ",", "_y", "。", "z"};
  for (size_t i = 0; i < 500; ++i) pieces.push_back(kinds[(i * i + i / 7) % kinds.size()]);
  for (int64_t limit = 1; limit < 40; ++limit) {
    Ids joined;
    for (const Ids& part : parts_of(pieces, limit)) {
      EXPECT_FALSE(part.empty());
      EXPECT_LE(static_cast<int64_t>(part.size()), limit);
      joined.insert(joined.end(), part.begin(), part.end());
    }
    ASSERT_EQ(joined.size(), pieces.size());
    for (size_t i = 0; i < joined.size(); ++i) ASSERT_EQ(joined[i], static_cast<int64_t>(i));
  }
}

// An untrained model: its translations mean nothing, but they must be the same however the work is cut.
class Engine : public ::testing::Test {
 protected:
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     int workers = 1) {
    WorkerCrew crew(workers, run_operations_on_this_thread_only);
    return TranslationEngine(transformer, tokenizer, torch::kCPU, crew).translate(texts, options);
  }

  static TranslationOptions few_tokens() {
    TranslationOptions options;
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
      // Other shapes take other paths through the matrix products: float32, some dozens of additions.
      EXPECT_NEAR(found[i].hypotheses[h].score, expected[i].hypotheses[h].score, 1e-3);
    }
  }
}

TEST_F(Engine, KeepsTheOrderOfItsInput) {
  const std::vector<std::string> texts{"the red house is near.", "the", "the old train is closed. the river is far.",
                                       "house"};
  const auto found = translate(texts, few_tokens());
  ASSERT_EQ(found.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    const Ids ids = tokenizer.source().encode(texts[i]);
    const auto alone =
        beam_search(TransformerStepModel(transformer, torch::kCPU), {ids}, few_tokens().search).at(0).at(0);
    EXPECT_EQ(found[i].hypotheses.at(0).text, tokenizer.target().decode(alone.ids)) << texts[i];
    EXPECT_NEAR(found[i].hypotheses[0].score, alone.score, 1e-4);
  }
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

TEST_F(Engine, RefusesInvalidUtf8AndOptionsOutOfRange) {
  EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"gr\xfcn"}, few_tokens()); }), HasSubstr("byte 3"));
  for (int64_t TranslationOptions::*option :
       {&TranslationOptions::batch_size, &TranslationOptions::batch_tokens, &TranslationOptions::max_source_tokens}) {
    TranslationOptions options;
    options.*option = 0;
    EXPECT_THAT(message_of<std::invalid_argument>([&] { translate({"the"}, options); }),
                HasSubstr("must be at least 1, not 0"));
  }
}

}  // namespace
}  // namespace transmute
