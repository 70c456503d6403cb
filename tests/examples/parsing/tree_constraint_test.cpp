// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/examples/parsing/tree_constraint.h>
#include <transmute/examples/parsing/tree_text.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/piece_marks.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

// NN begins NNS, and is often spelled as a part of it.
std::vector<std::string> label_lines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i) {
    lines.emplace_back("(S (NP DT NN )NP (VP VBZ (NP NNS )NP )VP . )S");
    lines.emplace_back("(S (NP NN NN )NP (VP VBZ (SBAR (S (VP VBG )VP )S )SBAR )VP . )S");
  }
  lines.emplace_back("(FRAG UH )FRAG");
  return lines;
}

struct Parser {
  explicit Parser(int64_t pieces, const TreeLabels& lexicon = {}) {
    TokenizerOptions options;
    options.vocabulary = VocabularySharing::separate;
    options.vocab_size = 60;
    options.target_vocab_size = pieces;
    options.split_by_script = false;
    tokenizer = std::make_unique<Tokenizer>(
        train_tokenizer(options, testing::lines_from(testing::tiny_english()), testing::lines_from(label_lines())));
    labels = lexicon;
    for (const auto& line : label_lines()) labels.add(line);
    constraint = std::make_unique<TreeConstraint>(*tokenizer, labels);
  }
  // True if the search could write this line for these words.
  bool allows(const std::string& line, const std::string& words) const {
    auto state = constraint->begin(tokenizer->source().encode(words), words);
    for (const int64_t token : tokenizer->target().encode(line)) {
      const Ids allowed = state->allowed();
      if (std::find(allowed.begin(), allowed.end(), token) == allowed.end()) return false;
      state = state->after(token);
    }
    const Ids allowed = state->allowed();
    return std::find(allowed.begin(), allowed.end(), special_ids::kEnd) != allowed.end();
  }

  std::unique_ptr<Tokenizer> tokenizer;
  TreeLabels labels;
  std::unique_ptr<TreeConstraint> constraint;
};

// With whole labels as tokens, and with labels of several tokens.
class EachVocabulary : public ::testing::TestWithParam<int64_t> {};

TEST_P(EachVocabulary, AllowsTreesOverTheWords) {
  const Parser parser(GetParam());
  EXPECT_TRUE(parser.allows("(S (NP DT NN )NP (VP VBZ (NP NNS )NP )VP )S", "the red house is"));
  EXPECT_TRUE(parser.allows("(FRAG UH )FRAG", "red"));
  EXPECT_TRUE(parser.allows("", "")) << "nothing has no tree";
}

TEST_P(EachVocabulary, AllowsNothingElse) {
  const Parser parser(GetParam());
  const std::string words = "the house";
  EXPECT_TRUE(parser.allows("(S DT NN )S", words));
  for (const char* bad : {"(S DT )S", "(S DT NN NN )S", "(S DT NN", "(S DT NN )NP", "DT NN", "(S (NP )NP DT NN )S",
                          "(S DT )S (S NN )S", "(S DT NN )S )S", "(S DT NN )S NN", ")S", "", "(S (NP DT )S )NP NN"})
    EXPECT_FALSE(parser.allows(bad, words)) << bad;
  EXPECT_FALSE(parser.allows("(S DT )S", "")) << "no word is left";
}

TEST_P(EachVocabulary, EveryPathIsATree) {
  const Parser parser(GetParam());
  std::mt19937 random(3);
  for (int run = 0; run < 300; ++run) {
    std::vector<std::string> words;
    for (unsigned i = 1 + random() % 6; i > 0; --i) words.emplace_back(i % 2 == 0 ? "house" : "red☃");
    std::string text;
    for (const auto& word : words) text += word + " ";
    auto state = parser.constraint->begin(parser.tokenizer->source().encode(text), text);
    Ids ids;
    while (true) {
      const Ids allowed = state->allowed();
      ASSERT_FALSE(allowed.empty());
      const int64_t token = allowed[random() % allowed.size()];
      if (token == special_ids::kEnd) break;
      ids.push_back(token);
      state = state->after(token);
      ASSERT_LT(ids.size(), 100'000U);
    }
    TreeRepairs repairs;
    const Tree tree = tree_from_text(words, parser.tokenizer->target().decode(ids), repairs);
    EXPECT_EQ(repairs.repaired, 0) << parser.tokenizer->target().decode(ids);
    EXPECT_EQ(words_of(tree), words);
    EXPECT_EQ(tree.children.size(), 1U);
  }
}

// "the" and "house" are in the lexicon often, "red" does not, and "river" not at all.
TEST_P(EachVocabulary, ALexiconSaysWhatAWordCanBe) {
  TreeLabels lexicon;
  for (int i = 0; i < 5; ++i) lexicon.add("(S DT NN )S", "the house");
  lexicon.add("(NP NNS )NP", "house");
  lexicon.add("(NP VBG )NP", "red");
  const Parser parser(GetParam(), lexicon);
  EXPECT_TRUE(parser.allows("(S DT NN )S", "the house"));
  EXPECT_TRUE(parser.allows("(S DT (NP NNS )NP )S", "the house"));
  EXPECT_FALSE(parser.allows("(S NN NN )S", "the house"));
  EXPECT_FALSE(parser.allows("(S DT VBZ )S", "the house"));
  EXPECT_TRUE(parser.allows("(S NN DT )S", "house the")) << "by position";
  EXPECT_TRUE(parser.allows("(S VBZ NN )S", "red house")) << "too rare to say";
  EXPECT_TRUE(parser.allows("(S VBZ NN )S", "river house"));
}

// NFKC makes a space and an accent of ´, and a space of a no-break space; a zero-width space alone has no token.
TEST_P(EachVocabulary, WordsAreThoseOfTheTextWhateverTheTokenizerMakesOfThem) {
  TreeLabels lexicon;
  for (int i = 0; i < 5; ++i) lexicon.add("(S DT NNS NN )S", "the don´t house");
  for (const char* odd : {"don´t", "red\u00a0river", "red\friver", "\u200b"}) {
    const std::string words = std::string("the ") + odd + " house";
    const Parser parser(GetParam());
    size_t begun = 0;
    for (const std::string& piece : parser.tokenizer->source().segment(words).pieces)
      begun += begins_word(piece) ? 1 : 0;
    EXPECT_NE(begun, 3U) << "or nothing is shown";
    EXPECT_TRUE(parser.allows("(S DT NN NN )S", words)) << words;
    EXPECT_FALSE(parser.allows("(S DT NN NN NN )S", words)) << words;
    EXPECT_FALSE(parser.allows("(S DT NN )S", words)) << words;
  }
  const Parser parser(GetParam(), lexicon);
  EXPECT_TRUE(parser.allows("(S DT NNS NN )S", "the don´t house"));
  EXPECT_FALSE(parser.allows("(S DT NN NNS )S", "the don´t house")) << "tags and words are in step";
}

TEST(TreeLabels, HaveAPartOfSpeechForEachWord) {
  TreeLabels labels;
  labels.add("(S DT (NP NN )NP )S", "the  house");
  EXPECT_EQ(labels.lexicon.at("house").at("NN"), 1);
  labels.add("(S NNS )S", "the\fhouse");
  EXPECT_EQ(labels.lexicon.at("the\fhouse").at("NNS"), 1) << "one word, as trees writes it";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { labels.add("(S DT NN )S", "the"); }),
              HasSubstr("more parts of speech than words: \"the\""));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { labels.add("(S DT )S", "the house"); }),
              HasSubstr("more words than parts of speech: \"the house\""));
}

INSTANTIATE_TEST_SUITE_P(TreeConstraint, EachVocabulary, ::testing::Values(28, 45));

TEST(TreeConstraint, NeedsLabelsThatTheModelCanSpell) {
  const Parser parser(40);
  TreeLabels labels;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { TreeConstraint(*parser.tokenizer, labels); }),
              HasSubstr("no labels of trees"));
  labels.add("(S (Ж NN )Ж )S");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { TreeConstraint(*parser.tokenizer, labels); }),
              HasSubstr("cannot spell (Ж"));
}

}  // namespace
}  // namespace transmute
