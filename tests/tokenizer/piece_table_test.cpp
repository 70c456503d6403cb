// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/piece_table.h>
#include <transmute/tokenizer/tokenizer.h>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The vocabulary of a source and a target language, of which the SentencePiece model knows the source's pieces alone.
class PieceTableOfTwoLanguages : public ::testing::TestWithParam<SubwordAlgorithm> {
 protected:
  static std::string serialized() {
    TokenizerOptions options = tiny_tokenizer_options();
    options.algorithm = GetParam();
    options.vocabulary = VocabularySharing::separate;
    options.vocab_size = 35;
    const Tokenizer tokenizer = tiny_tokenizer(options);
    const std::string& source = tokenizer.source().serialized();
    PieceTable table;
    for (const std::string& piece : pieces_of(source, "source")) table.pieces.push_back(piece);
    for (const char* piece : {"二", "三四"}) table.pieces.emplace_back(piece);
    return with_piece_table(source, "source", table);
  }
  static std::vector<std::string> pieces(const SubwordModel& model, const Ids& ids) {
    std::vector<std::string> pieces;
    for (const int64_t id : ids) pieces.push_back(model.piece(id));
    return pieces;
  }
};

INSTANTIATE_TEST_SUITE_P(Algorithms, PieceTableOfTwoLanguages,
                         ::testing::Values(SubwordAlgorithm::bpe, SubwordAlgorithm::unigram));

TEST_P(PieceTableOfTwoLanguages, FindsWhatSentencePieceDoesNotKnowByItsText) {
  const SubwordModel model(serialized(), "model");
  const auto expected = ElementsAre("▁", "二", "▁", "<unk>", "▁", "三四", "▁", "<unk>");
  // The last one is neither piece, but a run of both.
  const std::string text = "二 五 三四 二三四";
  EXPECT_THAT(pieces(model, model.encode(text)), expected);
  EXPECT_THAT(pieces(model, model.segment(text).ids), expected);
  EXPECT_EQ(model.decode(model.encode("\u4e8c \u4e09\u56db")), "\u4e8c \u4e09\u56db");
}

TEST_P(PieceTableOfTwoLanguages, TakesNoPieceForALanguage) {
  const SubwordModel model(serialized(), "model");
  EXPECT_EQ(model.languages(), LanguagePieces::none);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { model.language("\u4e8c"); }), HasSubstr("one language only"));
}

TEST_P(PieceTableOfTwoLanguages, NeverReadsAReservedPieceFromText) {
  const SubwordModel model(serialized(), "model");
  for (const char* text : {"<s>", "</s>", "<pad>"})
    for (const int64_t id : model.encode(text)) EXPECT_FALSE(id < special_ids::kCount && id != special_ids::kUnknown);
}

// What a model's own rules make of its text is not what its pieces are. The fuzzer of tokenizer models found this one.
TEST_P(PieceTableOfTwoLanguages, StaysWithinATextThatRulesHaveChanged) {
  const std::string rules = "\x2a\x2a\x12\x28" + std::string(40, 'x');  // SentencePiece's denormalizer_spec
  const SubwordModel model(serialized() + rules, "model");
  const std::string text = model.decode(model.encode("二 三四"));
  for (const auto& [begin, end] : model.spans_of_pieces({"▁", "二", "▁", "三四"}, text)) {
    EXPECT_LE(begin, end);
    EXPECT_LE(end, text.size());
  }
}

TEST(PieceTable, HasNoPieceWithItsOwnMark) {
  PieceTable table;
  for (const char* piece : {"", "", "", "", "\uFDD0"}) table.pieces.emplace_back(piece);
  table.control.insert("\uFDD0");
  const std::string model = tiny_tokenizer().source().serialized();
  EXPECT_THAT(message_of<std::runtime_error>([&] { with_piece_table(model, "model", table); }), HasSubstr("U+FDD0"));
}

TEST(SpacedPieces, AreNotThoseOfSentencePiece) {
  PieceTable table;
  for (const char* piece : {"", "", "", "", "▁the", "▁old", "s"}) table.pieces.emplace_back(piece);
  EXPECT_THAT(message_of<std::runtime_error>([&] { model_of_spaced_pieces(table, "vocabulary.txt"); }),
              HasSubstr("vocabulary.txt: its pieces are those of a SentencePiece model"));
}

TEST(SpacedPieces, KeepUnknownWordsApart) {
  PieceTable table;
  for (const char* piece : {"", "", "", "", "the", "old", "bridge"}) table.pieces.emplace_back(piece);
  const SubwordModel model(model_of_spaced_pieces(table, "pieces"), "model");
  const auto expected = ElementsAre(4, special_ids::kUnknown, special_ids::kUnknown, 6, special_ids::kUnknown);
  const std::string text = " the very  strange bridge there ";
  EXPECT_THAT(model.encode(text), expected);
  const SegmentedText segmented = model.segment(text);
  EXPECT_THAT(segmented.ids, expected);
  std::vector<std::string> words;
  for (const auto& [begin, end] : segmented.spans) words.push_back(text.substr(begin, end - begin));
  EXPECT_THAT(words, ElementsAre("the", "very", "strange", "bridge", "there"));
  EXPECT_THAT(model.encode("  "), ElementsAre());
  EXPECT_EQ(model.decode(model.encode("the old bridge")), "the old bridge");
}

// Of pieces that the SentencePiece model does not split text into, too.
TEST_P(PieceTableOfTwoLanguages, CoversTheBytesOfADecodedText) {
  const SubwordModel model(serialized(), "model");
  Ids ids;
  for (int64_t id = model.size() - 1; id >= special_ids::kCount; --id) ids.push_back(id);
  const std::string text = model.decode(ids);
  ASSERT_NE(text.find("三四"), std::string::npos);
  const auto spans = model.spans_of_pieces(pieces(model, ids), text);
  ASSERT_EQ(spans.size(), ids.size());
  size_t end = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(spans[i].first, end);
    end = spans[i].second;
    ASSERT_LE(end, text.size());
    if (model.piece(ids[i]) == "三四") {
      EXPECT_EQ(text.substr(spans[i].first, end - spans[i].first), "三四");
    }
  }
  EXPECT_EQ(end, text.size());
}

TEST_P(PieceTableOfTwoLanguages, LeavesSpacesBetweenPartsToNoPiece) {
  const SubwordModel model(serialized(), "model");
  const auto spans = model.spans_of_pieces({"二", "三四", "二"}, "二三四 二");
  EXPECT_THAT(spans, ElementsAre(std::pair<size_t, size_t>(0, 3), std::pair<size_t, size_t>(3, 9),
                                 std::pair<size_t, size_t>(10, 13)));
}

}  // namespace
}  // namespace transmute::testing
