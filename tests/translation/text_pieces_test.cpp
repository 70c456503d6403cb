// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/translation/text_pieces.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

Translation translation(const std::string& text, int sentences) {
  Translation found;
  found.hypotheses.emplace_back().text = text;
  found.sentences = found.parts = sentences;
  return found;
}

TEST(TextPieces, AreWholeSentences) {
  const std::string sentence = "A man is here. ";  // 546 of them fill a piece
  const std::vector<std::string> texts{"Short. Text.", repeated(sentence, 1000), repeated("word ", 2000)};
  const TextPieces pieces(texts, {true, true, true}, SentenceSplitter("en"), {}, false);
  ASSERT_EQ(pieces.pieces().size(), 4);
  EXPECT_EQ(pieces.pieces()[0], texts[0]);
  EXPECT_EQ(pieces.pieces()[1] + " ", repeated(sentence, 546));
  EXPECT_EQ(pieces.pieces()[2], repeated(sentence, 454));
  EXPECT_EQ(pieces.pieces()[3], texts[2]) << "one sentence";
  EXPECT_EQ(pieces.text_of(2), 1);
  EXPECT_EQ(pieces.text_of(3), 2);
  const TextPieces uncut(texts, {true, false, true}, SentenceSplitter("en"), {}, false);
  EXPECT_EQ(uncut.pieces(), texts);
}

TEST(TextPieces, HaveWholeTerms) {
  const std::string text = repeated("We like our house. Good people came. ", 400);
  const Glossary glossary(std::vector<GlossaryEntry>{{"house. Good", "x"}});
  const TextPieces pieces({text}, {true}, SentenceSplitter("en"), glossary, false);
  for (const std::string& piece : pieces.pieces()) EXPECT_THAT(piece, ::testing::StartsWith("We"));
}

TEST(TextPieces, HaveWholeElements) {
  const std::string text = repeated("One. <b>A man. A dog.</b> ", 400);
  const TextPieces pieces({text, "<i>" + text + "</i>"}, {true, true}, SentenceSplitter("en"), {}, true);
  ASSERT_EQ(pieces.pieces().size(), 3);
  EXPECT_THAT(pieces.pieces()[0], ::testing::EndsWith("A dog.</b>"));
  EXPECT_THAT(pieces.pieces()[1], ::testing::StartsWith("One. "));
  EXPECT_EQ(pieces.text_of(2), 1) << "an element surrounds the text";
}

TEST(TextPieces, AreJoined) {
  const TextPieces pieces({"a", repeated("A man is here.\n", 600)}, {true, true}, SentenceSplitter("en"), {}, false);
  ASSERT_EQ(pieces.pieces().size(), 3);
  std::vector<std::string> told;
  size_t done = 0, total = 0;
  TranslationHooks hooks;
  hooks.on_text = [&](size_t text, const std::string& so_far) { told.push_back(std::to_string(text) + so_far); };
  hooks.on_progress = [&](size_t texts, size_t of) { done = texts, total = of; };
  hooks.is_unwanted = [&](size_t text) { return text == 1; };
  const TranslationHooks of_pieces = pieces.hooks(hooks);
  of_pieces.on_text(0, "x");
  of_pieces.on_text(1, "y");
  of_pieces.on_progress(2, 3);
  EXPECT_EQ(done, 1);
  of_pieces.on_progress(3, 3);
  EXPECT_EQ(done, 2);
  EXPECT_EQ(total, 2);
  EXPECT_FALSE(of_pieces.is_unwanted(0));
  EXPECT_TRUE(of_pieces.is_unwanted(2));
  std::vector<Translation> found{translation("x", 1), translation("y y", 500), translation("zz", 100)};
  found[2].warnings.push_back({WarningKind::number, {3, 4}, {0, 2}, "wrong"});
  const std::vector<Translation> joined = pieces.joined(std::move(found), {}, hooks);
  ASSERT_EQ(joined.size(), 2);
  EXPECT_EQ(joined[0].hypotheses.at(0).text, "x");
  EXPECT_EQ(joined[0].sentences, 1);
  EXPECT_EQ(joined[1].hypotheses.at(0).text, "y y\nzz");
  EXPECT_EQ(joined[1].sentences, 600);
  EXPECT_EQ(joined[1].parts, 600);
  const TranslationWarning& warning = joined[1].warnings.at(0);
  EXPECT_EQ(warning.source, ByteSpan(pieces.pieces()[1].size() + 1 + 3, pieces.pieces()[1].size() + 1 + 4));
  EXPECT_EQ(warning.target, ByteSpan(4, 6));
  EXPECT_THAT(told, ElementsAre("0x", "1y y\nzz"));
}

}  // namespace
}  // namespace transmute
