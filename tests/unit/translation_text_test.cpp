// Text around the search: glossaries, tags, sentences, what is printed. No file of LibTorch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/translation/alignment.h>
#include <transmute/translation/glossary.h>
#include <transmute/translation/inline_tags.h>
#include <transmute/translation/output.h>
#include <transmute/translation/sentences.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::TemporaryFolder;
using testing::write_text;

TEST(Sentences, EndByUnicodesRules) {
  EXPECT_THAT(split_sentences("One. Two!  Three?\tFour"), ElementsAre("One.", "Two!", "Three?", "Four"));
  EXPECT_THAT(split_sentences("It costs 3.14 e.g. here. Änderungen folgen."),
              ElementsAre("It costs 3.14 e.g. here.", "Änderungen folgen."));
  EXPECT_THAT(split_sentences("一。二！"), ElementsAre("一。", "二！"));
  EXPECT_THAT(split_sentences(" \t "), IsEmpty());
  EXPECT_THAT(split_sentences(""), IsEmpty());
}

TEST(AGlossary, FindsWholeWordsOnce) {
  const Glossary glossary({{"bank", "Bank"}, {"river bank", "Ufer"}, {"über", "over"}, {"C++", "C++"}});
  EXPECT_THAT(glossary.terms_for("the bank, the bank"), ElementsAre("Bank"));
  EXPECT_THAT(glossary.terms_for("the river bank"), ElementsAre("Ufer"));
  EXPECT_THAT(glossary.terms_for("the river bank and a bank"), ElementsAre("Ufer", "Bank"));
  EXPECT_THAT(glossary.terms_for("banks embank Bank"), IsEmpty());
  EXPECT_THAT(glossary.terms_for("überall darüber"), IsEmpty());
  EXPECT_THAT(glossary.terms_for("(über)"), ElementsAre("over"));
  EXPECT_THAT(glossary.terms_for("in C++."), ElementsAre("C++"));
  EXPECT_THAT(glossary.terms_for(""), IsEmpty());
}

TEST(AGlossary, RefusesContradictionsAndEmptyTerms) {
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                Glossary({{"a", "b"}, {"a", "c"}});
              }),
              AllOf(HasSubstr("\"a\" as \"b\" and as \"c\""), HasSubstr("keep one")));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                Glossary({GlossaryEntry{"a", " "}});
              }),
              HasSubstr("without content"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { Glossary({GlossaryEntry{"a", "\xff"}}); }), HasSubstr("UTF-8"));
  EXPECT_THAT(Glossary({{"a", "b"}, {"a", "b"}}).terms_for("a"), ElementsAre("b"));
}

TEST(AGlossary, IsReadFromATabSeparatedFile) {
  const TemporaryFolder folder;
  write_text(folder / "good.tsv", "# comment\nriver bank \t Ufer\r\n\nbank\tBank\n");
  const auto entries = read_glossary(folder / "good.tsv");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].source, "river bank");
  EXPECT_EQ(entries[0].target, "Ufer");
  for (const char* bad : {"a\n", "a\t\n", "\tb\n", "a\tb\tc\n"}) {
    write_text(folder / "bad.tsv", std::string("x\ty\n") + bad);
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_glossary(folder / "bad.tsv"); }), HasSubstr("bad.tsv:2: "));
  }
  EXPECT_THROW(read_glossary(folder / "none.tsv"), std::runtime_error);
}

// The words of a text as tokens.
std::vector<ByteSpan> words_of(const std::string& text) {
  std::vector<ByteSpan> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t word = std::min(text.find_first_not_of(' ', begin), text.size());
    const size_t end = std::min(text.find(' ', word), text.size());
    words.emplace_back(begin, end);  // with the space before it, as SentencePiece has it
    begin = end;
  }
  return words;
}

// Restores tags where target word t is the translation of source word links[t].
std::string restored(const std::string& source, const std::string& target, const std::vector<size_t>& links) {
  const TaggedText text(source);
  const auto source_words = words_of(text.plain());
  std::vector<std::vector<float>> alignment;
  for (const size_t link : links) {
    alignment.emplace_back(source_words.size(), 0.1F / static_cast<float>(source_words.size()));
    alignment.back()[link] += 0.9F;
  }
  return text.restore(target, source_words, words_of(target), alignment);
}

TEST(InlineTags, LeaveThePlainText) {
  EXPECT_EQ(TaggedText("a <b>c</b> d").plain(), "a c d");
  EXPECT_EQ(TaggedText("one<br/>two").plain(), "one two");
  EXPECT_EQ(TaggedText("hi {name}, {0}!").plain(), "hi , !");
  for (const char* text : {"3 < 4 > 2", "a <", "{", "<>", "{a b}", "</>", "x <3"}) {
    EXPECT_EQ(TaggedText(text).plain(), text);
    EXPECT_FALSE(TaggedText(text).has_tags());
  }
}

TEST(InlineTags, FollowTheWordsThatTheyEmbrace) {
  EXPECT_EQ(restored("a <b>red house</b> here", "hier ein rotes Haus", {3, 0, 1, 2}), "hier ein <b>rotes Haus</b>");
  EXPECT_EQ(restored("<p>a <b>red</b> house</p>", "ein Haus rot", {0, 2, 1}), "<p>ein Haus <b>rot</b></p>");
  EXPECT_EQ(restored("<b>a</b> <i>red</i> house", "Haus rot ein", {2, 1, 0}), "Haus <i>rot</i> <b>ein</b>");
  EXPECT_EQ(restored("<b><i>a</i></b> red", "rot ein", {1, 0}), "rot <b><i>ein</i></b>");
}

TEST(InlineTags, WithoutContentGoBeforeTheWordThatFollowsThem) {
  EXPECT_EQ(restored("a <br/> red house", "Haus rot ein", {2, 1, 0}), "Haus <br/> rot ein");
  EXPECT_EQ(restored("<x/>a red", "rot ein", {1, 0}), "<x/>rot ein") << "at the beginning it stays";
  EXPECT_EQ(restored("a red<x/>", "rot ein", {1, 0}), "rot ein<x/>") << "and at the end";
  EXPECT_EQ(restored("a {x} red", "ein rot", {0, 1}), "ein {x} rot");
  EXPECT_EQ(restored("a <b>red", "ein rot", {0, 1}), "ein <b>rot") << "never closed";
  EXPECT_EQ(restored("a</b> red", "ein rot", {0, 1}), "ein</b> rot") << "never opened";
  EXPECT_EQ(restored("<a></a>", "", {}), "<a></a>");
}

TEST(InlineTags, ComeOnceAndNestedHoweverWildTheAlignment) {
  const std::string source = "<p>a <b>c <i>d e</i> {1}f</b> <u>g</u><br/> h</p> i";
  const std::string target = "A C D E F G H I";
  uint64_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::vector<size_t> links;
    for (int t = 0; t < 8; ++t) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      links.push_back((state >> 33) % 8);
    }
    const std::string text = restored(source, target, links);
    std::vector<std::string> open;
    size_t tags = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '<' && text[at] != '{') continue;
      ++tags;
      const std::string tag = text.substr(at, text.find_first_of(">}", at) + 1 - at);
      if (tag == "<br/>" || tag == "{1}") continue;
      if (tag[1] != '/') {
        open.push_back(tag.substr(1));
      } else {
        ASSERT_FALSE(open.empty()) << text;
        EXPECT_EQ(open.back(), tag.substr(2)) << text;
        open.pop_back();
      }
    }
    EXPECT_EQ(tags, 10U) << text;
    EXPECT_TRUE(open.empty()) << text;
  }
}

Translation example() {
  Translation translation;
  translation.source_tokens = {"\u2581a", "\u2581b"};
  Hypothesis hypothesis;
  hypothesis.text = "x \"y\"";
  hypothesis.log_probability = -1.5;
  hypothesis.score = -1.25;
  hypothesis.tokens = {"\u2581x", "\u2581\"y\"", "!"};
  hypothesis.token_scores = {-0.5, -0.25, -0.25};
  hypothesis.alignment = {{0.2F, 0.7F}, {0.6F, 0.3F}, {0.1F, 0.2F}};
  translation.hypotheses = {hypothesis};
  return translation;
}

TEST(BalancedAlignment, GivesAnArticleItsOwnOriginal) {
  // "das Dach eines Hauses" for "the roof of a house", whose articles attend to the nouns.
  const std::vector<std::vector<float>> attention{{0.20F, 0.44F, 0.02F, 0.02F, 0.04F},
                                                  {0.03F, 0.67F, 0.05F, 0.01F, 0.02F},
                                                  {0.02F, 0.03F, 0.20F, 0.22F, 0.31F},
                                                  {0.01F, 0.01F, 0.04F, 0.05F, 0.76F}};
  const auto balanced = balanced_alignment(attention);
  std::vector<size_t> best;
  for (const auto& row : balanced) {
    best.push_back(static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    EXPECT_LE(std::accumulate(row.begin(), row.end(), 0.0F), 1.0F + 1e-6F);
  }
  EXPECT_THAT(best, ElementsAre(0, 1, 3, 4));
}

TEST(BalancedAlignment, KeepsWhatIsCertain) {
  // Three tokens of one source token, one of the next, none of the last, one that belongs to the end.
  const std::vector<std::vector<float>> attention{
      {1, 0, 0}, {0.98F, 0.01F, 1e-4F}, {1, 0, 0}, {0, 0.99F, 1e-4F}, {0, 0, 0}};
  const auto balanced = balanced_alignment(attention);
  for (const size_t row : {0, 1, 2}) EXPECT_GT(balanced[row][0], 0.5F);
  EXPECT_GT(balanced[3][1], 0.9F);
  EXPECT_EQ(balanced[4], attention[4]);
  EXPECT_THAT(balanced_alignment({}), IsEmpty());
  EXPECT_THAT(balanced_alignment({{}, {}}), ElementsAre(IsEmpty(), IsEmpty()));
}

TEST(Output, AlignmentsAreTheBestLinks) {
  EXPECT_EQ(format_alignment(example().hypotheses[0]), "1-0 0-1") << "the last token looks at the end of the source";
  EXPECT_EQ(format_alignment(Hypothesis()), "");
}

TEST(Output, NBestListsAreMoses) {
  EXPECT_EQ(format_n_best(example(), 3), "3 ||| x \"y\" ||| logprob= -1.500000 ||| -1.250000 ||| 1-0 0-1\n");
}

TEST(Output, JsonHasEverything) {
  const auto json = parse_json(format_json(example(), 3));
  EXPECT_EQ(json["line"], 3);
  EXPECT_EQ(json["source_tokens"][1], "\u2581b");
  EXPECT_EQ(json["hypotheses"][0]["text"], "x \"y\"");
  EXPECT_EQ(json["hypotheses"][0]["token_scores"][1], -0.25);
  EXPECT_FLOAT_EQ(json["hypotheses"][0]["alignment"][0][1].get<float>(), 0.7F);
  EXPECT_EQ(format_json(example(), 3).find('\n'), format_json(example(), 3).size() - 1);
}

// A sampled translation of byte pieces need not be text.
TEST(Output, JsonIsUtf8WhateverTheTokensAre) {
  Translation translation = example();
  translation.hypotheses[0].text = "caf\xc3";
  translation.hypotheses[0].tokens = {"\xff"};
  const Json json = parse_json(format_json(translation, 0));
  EXPECT_EQ(json["hypotheses"][0]["text"], "caf\xef\xbf\xbd");
  EXPECT_EQ(json["hypotheses"][0]["tokens"][0], "\xef\xbf\xbd");
}

TEST(Output, LoopsAreSeen) {
  const auto loop = [](const std::string& text) {
    std::vector<std::string> tokens;
    for (const char c : text) tokens.emplace_back(1, c);
    return has_loop(tokens);
  };
  EXPECT_TRUE(loop("xyaaaaaaaaz"));
  EXPECT_TRUE(loop("abcabcabcabc"));
  EXPECT_FALSE(loop("abcabcabcab"));
  EXPECT_FALSE(loop("aaaaaaa")) << "seven may be meant";
  EXPECT_FALSE(loop("the cat sat on the mat"));
  EXPECT_FALSE(loop(""));
}

}  // namespace
}  // namespace transmute
