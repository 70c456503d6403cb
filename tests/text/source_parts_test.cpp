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
  SourceParts parts(const std::vector<std::string>& texts, const TranslationOptions& options = {}) const {
    return encode_texts(tokenizer_.source(), texts, options, Glossary(options.glossary), one_by_one);
  }
  SourceParts sentences(const std::vector<std::string>& texts, const TranslationOptions& options = {}) const {
    const SentenceSplitter splitter("en");
    const Glossary glossary(options.glossary);
    const SentencesOf sentences_of = [&](size_t text) { return splitter.spans(texts[text], glossary); };
    return encode_texts(tokenizer_.source(), texts, options, glossary, one_by_one, sentences_of);
  }
  Ids ids(const std::string& text) const { return tokenizer_.source().encode(text); }

  const Tokenizer tokenizer_ = tiny_tokenizer();
};

TEST_F(SourcePartsOfTexts, StandInTheOrderOfTheTexts) {
  const SourceParts sources = sentences({"the red house! the old train!", " ", "the river."});
  EXPECT_THAT(sources.counts, ElementsAre(2, 0, 1));
  ASSERT_EQ(sources.parts.size(), 3U);
  EXPECT_EQ(sources.parts[1].text, 0U);
  EXPECT_EQ(sources.parts[1].ids, ids("the old train!"));
  EXPECT_EQ(sources.parts[2].text, 2U);
  EXPECT_EQ(sources.first_of(0), 0U);
  EXPECT_EQ(sources.first_of(2), 2U);
}

TEST_F(SourcePartsOfTexts, AreTheSameOfFewAndOfManyTexts) {
  const SourceParts sources = parts(std::vector<std::string>(200, "the red house"));
  EXPECT_EQ(sources.counts, std::vector<size_t>(200, 1));
  for (const SourcePart& part : sources.parts) EXPECT_EQ(part.ids, ids("the red house"));
}

TEST_F(SourcePartsOfTexts, BeginWithThePrefixOfTheirText) {
  SourceParts sources = sentences({"", "the red house! the old train!"});
  demand_prefixes(sources, {"", "das"}, tokenizer_.target());
  ASSERT_EQ(sources.parts.size(), 2U);
  EXPECT_EQ(sources.parts[0].prefix, tokenizer_.target().encode("das"));
  EXPECT_THAT(sources.parts[1].prefix, IsEmpty());
}

TEST_F(SourcePartsOfTexts, ContainTheTermsOfTheirOwnWords) {
  const std::vector<std::string> texts{"the red house! the old train!"};
  SourceParts sources = sentences(texts);
  demand_terms(sources, Glossary(std::vector<GlossaryEntry>{{"train", "Zug"}}), tokenizer_);
  ASSERT_EQ(sources.parts.size(), 2U);
  EXPECT_THAT(sources.parts[0].terms, IsEmpty());
  EXPECT_THAT(sources.parts[1].terms, ElementsAre(tokenizer_.target().encode("Zug")));
}

TEST_F(SourcePartsOfTexts, OfALongTextHaveItsOwnWords) {
  TranslationOptions options;
  options.max_source_tokens = 6;
  const std::string text = "the ﬁne™ train is closed,  the river is Жnear. the red house";
  std::string joined;
  const SourceParts sources = parts({text}, options);
  EXPECT_GT(sources.parts.size(), 3U);
  for (const SourcePart& part : sources.parts) joined += part.plain;
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
    SourceParts sources = splits ? sentences({text}, options) : parts({text}, options);
    demand_terms(sources, glossary, tokenizer_);
    std::vector<Ids> terms;
    for (const SourcePart& part : sources.parts) terms.insert(terms.end(), part.terms.begin(), part.terms.end());
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
  const auto gaps = [](const SourceParts& sources) {
    std::vector<std::string> found;
    for (const SourcePart& part : sources.parts) found.push_back(part.gap);
    return found;
  };
  EXPECT_THAT(gaps(sentences({"The red house.  The old train.\n\tThe river!"})), ElementsAre("", "  ", "\n\t"));
  EXPECT_THAT(gaps(sentences({"一。二。"})), ElementsAre("", " "));
  TranslationOptions options;
  options.max_source_tokens = 6;
  const SourceParts address = parts({"http://example.org/a1b2c3d4e5f6a7b8c9d0"}, options);
  EXPECT_GT(address.parts.size(), 2U);
  std::string joined;
  for (const SourcePart& part : address.parts) joined += (joined.empty() ? "" : part.gap) + part.plain;
  EXPECT_EQ(joined, "http://example.org/a1b2c3d4e5f6a7b8c9d0");
}

TEST_F(SourcePartsOfTexts, AreOneTextWhereThePrefixHasSeveralSentences) {
  TranslationOptions options;
  options.target_prefixes = {"Das Haus. Der Zug.", "Das Haus."};
  const std::string text = "The red house. The old train.";
  EXPECT_THAT(sentences({text, text}, options).counts, ElementsAre(1, 2));
  options.split_sentences = SentenceSplitting::always;
  EXPECT_THAT(sentences({text, text}, options).counts, ElementsAre(2, 2));
}

TEST_F(SourcePartsOfTexts, AreTheWholeTextWhereItIsOneSentence) {
  const std::string text = " the  red house is near. ";
  EXPECT_EQ(sentences({text}).parts.at(0).plain, text);
  EXPECT_EQ(sentences({text}).parts.at(0).ids, parts({text}).parts.at(0).ids);
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
