// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/text/sentences.h>
#include <transmute/text/source_parts.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::tiny_tokenizer;

class SourcePartsOfTexts : public ::testing::Test {
 protected:
  SourceTexts parts(const std::vector<std::string>& texts, const TranslationOptions& options = {}) const {
    return encode_texts(tokenizer_.source(), texts, options, Glossary(options.glossary), one_by_one);
  }
  SourceTexts sentences(const std::vector<std::string>& texts, const TranslationOptions& options = {}) const {
    const SentenceSplitter splitter("en");
    const Glossary glossary(options.glossary);
    const SentencesOf sentences_of = [&](size_t text) {
      return with_words(texts[text], splitter.spans(texts[text], glossary));
    };
    return encode_texts(tokenizer_.source(), texts, options, glossary, one_by_one, sentences_of);
  }
  static std::vector<size_t> counts(const SourceTexts& texts) {
    std::vector<size_t> counts;
    for (const SourceText& text : texts) counts.push_back(text.parts.size());
    return counts;
  }
  Ids ids(const std::string& text) const { return tokenizer_.source().encode(text); }

  const Tokenizer tokenizer_ = tiny_tokenizer();
};

TEST_F(SourcePartsOfTexts, StandInTheOrderOfTheTexts) {
  const SourceTexts sources = sentences({"the red house! the old train!", " ", "the river."});
  ASSERT_THAT(counts(sources), ElementsAre(2, 0, 1));
  EXPECT_EQ(sources[0].parts[1].text, 0U);
  EXPECT_EQ(sources[0].parts[1].ids, ids("the old train!"));
  EXPECT_EQ(sources[0].sentences(), 2);
  EXPECT_EQ(sources[1].sentences(), 1);
  EXPECT_EQ(sources[2].parts[0].text, 2U);
}

TEST_F(SourcePartsOfTexts, AreTheSameOfFewAndOfManyTexts) {
  const SourceTexts sources = parts(std::vector<std::string>(200, "the red house"));
  ASSERT_EQ(counts(sources), std::vector<size_t>(200, 1));
  for (const SourceText& text : sources) EXPECT_EQ(text.parts[0].ids, ids("the red house"));
}

TEST_F(SourcePartsOfTexts, BeginWithThePrefixOfTheirText) {
  SourceTexts sources = sentences({"", "the red house! the old train!"});
  ASSERT_THAT(counts(sources), ElementsAre(0, 2));
  demand_prefix(sources[1].parts[0], "das", tokenizer_.target());
  EXPECT_EQ(sources[1].parts[0].prefix, tokenizer_.target().encode("das"));
  EXPECT_THAT(sources[1].parts[1].prefix, IsEmpty());
}

TEST_F(SourcePartsOfTexts, ContainTheTermsOfTheirOwnWords) {
  const std::vector<std::string> texts{"the red house! the old train, the train! Train is old!"};
  SourceTexts sources = sentences(texts);
  ASSERT_THAT(counts(sources), ElementsAre(3));
  std::vector<SourcePart>& parts = sources[0].parts;
  parts.push_back(whole_source(tokenizer_.source(), "the Train", 0));
  for (SourcePart& part : parts) demand_terms(part, Glossary(std::vector<GlossaryEntry>{{"train", "Zug"}}), tokenizer_);
  const Ids train = tokenizer_.target().encode("Zug");
  EXPECT_THAT(parts[0].terms, IsEmpty());
  EXPECT_THAT(parts[1].terms, ElementsAre(train));
  EXPECT_THAT(parts[2].terms, ElementsAre(train));
  EXPECT_THAT(parts[3].terms, IsEmpty());
}

TEST_F(SourcePartsOfTexts, OfALongTextHaveItsOwnWords) {
  TranslationOptions options;
  options.max_source_tokens = 6;
  const std::string text = "the ﬁne™ train is closed,  the river is Жnear. the red house";
  std::string joined;
  const SourceTexts sources = parts({text}, options);
  EXPECT_GT(sources.at(0).parts.size(), 3U);
  for (const SourcePart& part : sources.at(0).parts) joined += part.plain;
  std::string words = text;
  for (std::string* each : {&joined, &words}) each->erase(std::remove(each->begin(), each->end(), ' '), each->end());
  EXPECT_EQ(joined, words);
}

TEST_F(SourcePartsOfTexts, AreNotCutWithinTerms) {
  TranslationOptions options;
  options.glossary = {{"Жa™ train", "Zug"}, {"old. The river", "Fluss"}};
  const Glossary glossary(options.glossary);
  bool splits = false;
  const auto terms_in = [&](const std::string& text) {
    SourceTexts sources = splits ? sentences({text}, options) : parts({text}, options);
    std::vector<Ids> terms;
    for (SourcePart& part : sources.at(0).parts) {
      demand_terms(part, glossary, tokenizer_);
      terms.insert(terms.end(), part.terms.begin(), part.terms.end());
    }
    return terms;
  };
  const Ids train = tokenizer_.target().encode("Zug"), river = tokenizer_.target().encode("Fluss");
  const std::string before = "the red house is near, ", train_text = "the  Жa™  train is old. ";
  const auto limit = static_cast<int64_t>(ids(train_text).size());
  for (options.max_source_tokens = limit; options.max_source_tokens < limit + 20; ++options.max_source_tokens)
    EXPECT_THAT(terms_in(before + train_text + before + train_text), ElementsAre(train, train))
        << options.max_source_tokens;
  options.max_source_tokens = 256;
  splits = true;
  EXPECT_THAT(terms_in("the train is old. The river is near. The house"), ElementsAre(river));
}

TEST_F(SourcePartsOfTexts, KnowWhatStandsBetweenThem) {
  const auto gaps = [](const SourceTexts& sources) {
    std::vector<std::string> found;
    for (const SourcePart& part : sources.at(0).parts) found.push_back(part.gap);
    return found;
  };
  EXPECT_THAT(gaps(sentences({"The red house.  The old train.\n\tThe river!"})), ElementsAre("", "  ", "\n\t"));
  EXPECT_THAT(gaps(sentences({"一。二。"})), ElementsAre("", " "));
  TranslationOptions options;
  options.max_source_tokens = static_cast<int64_t>(ids("the red house").size());
  for (const std::string space : {" ", "\t", "\n", " \u3000"})
    EXPECT_THAT(gaps(parts({"the red house" + space + "the red house"}, options)), ElementsAre("", " ")) << space;
  options.max_source_tokens = 6;
  const SourceTexts address = parts({"http://example.org/a1b2c3d4e5f6a7b8c9d0"}, options);
  EXPECT_GT(address.at(0).parts.size(), 2U);
  std::string joined;
  for (const SourcePart& part : address.at(0).parts) joined += (joined.empty() ? "" : part.gap) + part.plain;
  EXPECT_EQ(joined, "http://example.org/a1b2c3d4e5f6a7b8c9d0");
}

TEST_F(SourcePartsOfTexts, HaveWords) {
  const auto plain = [&](const std::string& text) {
    const SourceTexts sources = sentences({text});
    std::vector<std::string> found;
    for (const SourcePart& part : sources.at(0).parts) found.push_back(part.plain);
    return found;
  };
  EXPECT_THAT(plain(". The train. The house."), ElementsAre(". the train.", "the house."));
  EXPECT_THAT(plain("The train! * ! * ! The house."), ElementsAre("the train! * ! * !", "the house."));
  EXPECT_THAT(plain("The train.\n*\nThe house."), ElementsAre("the train.", "*", "the house."));
  const std::vector<ByteSpan> sentences{{0, 2}, {3, 6}, {7, 9}};
  EXPECT_THAT(with_words("A. ... B.", sentences), ElementsAre(ByteSpan{0, 6}, ByteSpan{7, 9}));
  EXPECT_EQ(with_words("A. ... B.", sentences, {2, 6}), sentences);
  EXPECT_THAT(with_words("A. 71. B.", sentences), ElementsAre(ByteSpan{0, 6}, ByteSpan{7, 9}));
}

TEST_F(SourcePartsOfTexts, AreOneTextWhereThePrefixHasSeveralSentences) {
  TranslationOptions options;
  options.target_prefixes = {"Das Haus. Der Zug.", "Das Haus."};
  const std::string text = "The red house. The old train.";
  EXPECT_THAT(counts(sentences({text, text}, options)), ElementsAre(1, 2));
  options.split_sentences = SentenceSplitting::always;
  EXPECT_THAT(counts(sentences({text, text}, options)), ElementsAre(2, 2));
}

TEST_F(SourcePartsOfTexts, AreTheWholeTextWhereItIsOneSentence) {
  const std::string text = " the  red house is near. ";
  EXPECT_EQ(sentences({text}).at(0).parts.at(0).plain, text);
  EXPECT_EQ(sentences({text}).at(0).parts.at(0).ids, parts({text}).at(0).parts.at(0).ids);
}

TEST_F(SourcePartsOfTexts, AreRefusedWhereTheyCannotBeMade) {
  TranslationOptions options;
  options.max_source_tokens = 1;
  options.long_texts = LongTexts::refused;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { parts({"the red house"}, options); }),
              HasSubstr("tokens, more than 1"));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { parts({"a", "\xff"}); }), HasSubstr("text 2"));
}

}  // namespace
}  // namespace transmute
