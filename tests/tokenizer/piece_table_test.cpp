// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/model_check.h>
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

  const SubwordModel model{serialized(), "model"};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, PieceTableOfTwoLanguages,
                         ::testing::Values(SubwordAlgorithm::bpe, SubwordAlgorithm::unigram));

TEST_P(PieceTableOfTwoLanguages, FindsWhatSentencePieceDoesNotKnowByItsText) {
  const auto expected = ElementsAre("▁", "二", "▁", "<unk>", "▁", "三四", "▁", "<unk>");
  // The last one is neither piece, but a run of both.
  const std::string text = "二 五 三四 二三四";
  EXPECT_THAT(pieces(model, model.encode(text)), expected);
  EXPECT_THAT(pieces(model, model.segment(text).ids), expected);
  EXPECT_EQ(model.decode(model.encode("\u4e8c \u4e09\u56db")), "\u4e8c \u4e09\u56db");
}

TEST_P(PieceTableOfTwoLanguages, CanReplaceTheTableOfAModel) {
  PieceTable same;
  for (int64_t id = 0; id < model.size(); ++id) same.pieces.push_back(model.piece(id));
  EXPECT_EQ(with_piece_table(model.serialized(), "model", same), model.serialized());
}

TEST_P(PieceTableOfTwoLanguages, TakesNoPieceForALanguage) {
  EXPECT_EQ(model.languages(), LanguagePieces::none);
  EXPECT_THAT(message_of<std::invalid_argument>([&] { model.language("\u4e8c"); }), HasSubstr("one language only"));
}

TEST_P(PieceTableOfTwoLanguages, NeverReadsAReservedPieceFromText) {
  for (const char* text : {"<s>", "</s>", "<pad>"})
    for (const int64_t id : model.encode(text)) EXPECT_FALSE(id < special_ids::kCount && id != special_ids::kUnknown);
}

// A field of a Protocol Buffers message.
std::string field_of(uint64_t tag, const std::string& bytes) {
  std::string field(1, static_cast<char>(tag));
  size_t size = bytes.size();
  for (; size >= 0x80; size >>= 7) field += static_cast<char>((size & 0x7f) | 0x80);
  return field + static_cast<char>(size) + bytes;
}

// The rules of NFKC.
std::string normalization_rules(const std::string& serialized) {
  for (MessageReader model(serialized); model.next();)
    if (model.tag == kModelNormalizerSpec)
      for (MessageReader spec(model.bytes); spec.next();)
        if (spec.tag == kNormalizerRules) return std::string(spec.bytes);
  return "";
}

// A model's own rules may change its text into other pieces. The fuzzer of tokenizer models found this one.
TEST_P(PieceTableOfTwoLanguages, StaysWithinATextThatRulesHaveChanged) {
  const std::string rules = normalization_rules(serialized());
  ASSERT_FALSE(rules.empty());
  const SubwordModel model(serialized() + field_of(kModelDenormalizerSpec, field_of(kNormalizerRules, rules)), "model");
  const std::string text = "fifi";
  for (const auto& [begin, end] : model.spans_of_pieces({"\uFB01", "\uFB01"}, text)) {  // two ligatures
    EXPECT_LE(begin, end);
    EXPECT_LE(end, text.size());
  }
}

// SentencePiece follows rules out of their memory, and long pieces beyond its stack.
TEST_P(PieceTableOfTwoLanguages, RefusesWhatSentencePieceWouldNotSurvive) {
  const auto refusal = [](const std::string& more) {
    return message_of<std::runtime_error>([&] { SubwordModel(serialized() + more, "model"); });
  };
  const std::string rules = normalization_rules(serialized());
  const auto with = [&](size_t place, const std::string& bytes) {
    std::string changed = rules;
    changed.replace(place, bytes.size(), bytes);
    return field_of(kModelNormalizerSpec, field_of(kNormalizerRules, changed));
  };
  EXPECT_NO_THROW(SubwordModel(serialized() + with(0, ""), "model"));
  EXPECT_THAT(refusal(with(4, "\xff\xff\xff\x7f")), HasSubstr("damaged")) << "the root leads out of the array";
  EXPECT_THAT(refusal(with(0, "\xff\xff\xff\x7f")), HasSubstr("damaged")) << "the array is larger than all";
  EXPECT_THAT(refusal(with(rules.size() - 1, "x")), HasSubstr("damaged")) << "the last text has no end";
  EXPECT_THAT(refusal(field_of(kModelPieces, field_of(kPieceText, std::string(10'000, 'x')))), HasSubstr("damaged"));
}

// One of 256 units, of which texts with an 'a' go from the first to that of the 'a' and back, past a value each time.
std::string rules_without_end() {
  std::vector<uint32_t> units(256);
  units['a'] = uint32_t{'a'} << 10 | 1U << 8 | 'a';
  std::string rules(sizeof(uint32_t) * (1 + units.size()), '\0');
  const auto bytes = static_cast<uint32_t>(sizeof(uint32_t) * units.size());
  std::memcpy(rules.data(), &bytes, sizeof bytes);
  std::memcpy(rules.data() + sizeof bytes, units.data(), bytes);
  return rules + std::string("x\0", 2);
}

// Each is nothing that a model needs, and leads SentencePiece out of its memory, or to gigabytes or hours.
TEST_P(PieceTableOfTwoLanguages, KnowsWhatIsNotSafeToOpen) {
  const std::string model = serialized(), rules = normalization_rules(model);
  const auto is_safe = [&](const std::string& more) { return is_safe_to_open(model + more); };
  const auto normalizer = [](const std::string& of_rules) {
    return field_of(kModelNormalizerSpec, field_of(kNormalizerRules, of_rules));
  };
  const auto denormalizer = [](const std::string& of_rules) {
    return field_of(kModelDenormalizerSpec, field_of(kNormalizerRules, of_rules));
  };
  EXPECT_TRUE(is_safe(normalizer(rules)));
  std::string changed = rules;
  changed.replace(4, 4, "\xff\xff\xff\xff");
  EXPECT_FALSE(is_safe(normalizer(changed))) << "a root that looks like a value, and leads out of the array";
  EXPECT_FALSE(is_safe(normalizer(rules_without_end())));

  const std::string long_text = rules + std::string(300, 'x') + '\0', two_lines = rules + "x\ny" + '\0';
  EXPECT_FALSE(is_safe(normalizer(long_text))) << "one letter becomes hundreds";
  EXPECT_TRUE(is_safe(normalizer(two_lines)));
  EXPECT_FALSE(is_safe(denormalizer(two_lines))) << "a translation of two lines";

  const std::string field = normalizer(rules_without_end());
  EXPECT_THROW(is_safe("\x9a\x80\x80\x80\x10" + field.substr(1)), std::runtime_error)
      << "a tag of 33 bits, of which SentencePiece reads 32";

  const auto nested = [](size_t count) {
    std::string pieces, text;
    while (text.size() < count)
      pieces += field_of(kModelPieces, field_of(kPieceText, text += 'a') + std::string{kPieceType, kTypeUserDefined});
    return pieces;
  };
  EXPECT_TRUE(is_safe(nested(64)));
  EXPECT_FALSE(is_safe(nested(65)));

  EXPECT_TRUE(is_safe(field_of(kModelSelfTest, std::string(1000, 'x'))));
  EXPECT_FALSE(is_safe(field_of(kModelSelfTest, std::string(100'000, 'x'))));

  EXPECT_TRUE(is_safe(field_of(kModelTrainerSpec, std::string(1000, '\0'))));
  EXPECT_FALSE(is_safe(field_of(kModelTrainerSpec, std::string(5'000'000, '\0'))));
}

// Each takes two bytes of the file and some hundred of memory.
TEST(PieceTable, HasAtMostTwoMillionPieces) {
  std::string model;
  for (int64_t i = 0; i <= kMostPieces; ++i) model += field_of(kModelPieces, "");
  EXPECT_FALSE(is_safe_to_open(model));
  EXPECT_THAT(message_of<std::runtime_error>([&] { pieces_of(model, "model"); }),
              HasSubstr("model: not a SentencePiece model, or damaged (it has more than 2097152 pieces)"));
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

TEST(ListedPieces, AreLookedUpAsTheyAre) {
  PieceTable table;
  for (const char* piece : {"", "", "", "", "the", "old", ">>deu<<"}) table.pieces.emplace_back(piece);
  table.control.insert(">>deu<<");
  const SubwordModel plain(model_of_spaced_pieces(table, "pieces"), "model");
  EXPECT_EQ(plain.languages(), LanguagePieces::tags);
  const auto listed = plain.of_listed_pieces();
  EXPECT_TRUE(listed->is_listed());
  EXPECT_EQ(listed->languages(), LanguagePieces::none);
  const SegmentedText segmented = listed->segment("old >>deu<< </s> the");
  EXPECT_THAT(segmented.ids, ElementsAre(5, 6, special_ids::kUnknown, 4));
  EXPECT_THAT(segmented.pieces, ElementsAre("old", ">>deu<<", "</s>", "the"));
  EXPECT_EQ(segmented.spans.back(), ByteSpan(17, 20));
  EXPECT_EQ(listed->decode({5, 6, special_ids::kEnd, 4}), "old >>deu<< the");
  EXPECT_THAT(listed->spans_of_pieces({">>deu<<", "the"}, ">>deu<< the"), ElementsAre(ByteSpan(0, 7), ByteSpan(8, 11)));
}

TEST_P(PieceTableOfTwoLanguages, ListsAnyPieceOfItsVocabulary) {
  const auto listed = model.of_listed_pieces();
  Ids ids;
  std::string list;
  for (int64_t id = special_ids::kCount; id < model.size(); ++id) {
    ids.push_back(id);
    list += (list.empty() ? "" : " ") + model.piece(id);
  }
  EXPECT_EQ(listed->encode(list), ids);
  EXPECT_EQ(listed->decode(ids), list);
}

// It holds for pieces that the SentencePiece model does not split text into, too.
TEST_P(PieceTableOfTwoLanguages, CoversTheBytesOfADecodedText) {
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
  const auto spans = model.spans_of_pieces({"二", "三四", "二"}, "二三四 二");
  EXPECT_THAT(spans, ElementsAre(std::pair<size_t, size_t>(0, 3), std::pair<size_t, size_t>(3, 9),
                                 std::pair<size_t, size_t>(10, 13)));
  for (const std::string space : {"\u00A0", "\u00A0 ", " \u00A0", "\u3000", "\n", "\t "}) {
    const size_t next = 9 + space.size();
    EXPECT_THAT(model.spans_of_pieces({"二", "三四", "二"}, "二三四" + space + "二"),
                ElementsAre(ByteSpan(0, 3), ByteSpan(3, 9), ByteSpan(next, next + 3)));
  }
}

}  // namespace
}  // namespace transmute::testing
