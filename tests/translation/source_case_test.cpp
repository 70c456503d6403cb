// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>
#include <transmute/tests/translation/engine_fixture.h>
#include <transmute/text/source_case.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The capitals of the letters that the tiny German text has.
std::string capitals(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "ü") == 0) {
      result += "Ü";
      ++i;
    } else {
      result += text[i] >= 'a' && text[i] <= 'z' ? static_cast<char>(text[i] - 'a' + 'A') : text[i];
    }
  }
  return result;
}

// An untrained model whose vocabulary has no capitals on the source side: it translates a text in capitals as it
// translates that text in lower case.
class CaseOfTheSource : public testing::Engine {
 protected:
  using Engine::Engine;
};

TEST_F(CaseOfTheSource, IsThatOfTheTranslation) {
  options.search.num_hypotheses = 3;
  const Translation upper = translate({"THE RED HOUSE IS NEAR."}, options).at(0);
  const Translation lower = translate({"the red house is near."}, options).at(0);
  EXPECT_EQ(upper.source_tokens, lower.source_tokens);
  ASSERT_THAT(upper.hypotheses, SizeIs(3));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(upper.hypotheses[i].text, capitals(lower.hypotheses[i].text));
    EXPECT_NE(upper.hypotheses[i].text, lower.hypotheses[i].text);
    EXPECT_EQ(upper.hypotheses[i].tokens, lower.hypotheses[i].tokens);
    EXPECT_EQ(upper.hypotheses[i].score, lower.hypotheses[i].score);
  }
}

TEST_F(CaseOfTheSource, CanBeKept) {
  options.letter_case = LetterCase::kept;
  EXPECT_EQ(translated("the RED HOUSE"), translated("the red house")) << "read in letters that it has";
}

TEST_F(CaseOfTheSource, IsThatOfWordsInLettersThatTheVocabularyHas) {
  std::string translation = translated("the red house");
  const Translation found = translate({"The red HOUSE"}, options).at(0);
  EXPECT_THAT(found.unknown, IsEmpty());
  ASSERT_TRUE(translation[0] >= 'a' && translation[0] <= 'z') << translation;
  translation[0] = static_cast<char>(translation[0] - 'a' + 'A');
  EXPECT_EQ(found.hypotheses[0].text, translation);
  const SourceTexts sources = encode_texts(tokenizer.source(), {"a tall River. The Train"}, {}, {}, one_by_one);
  EXPECT_EQ(SourceCase(sources, tokenizer, "").restore(0, {20}, "ein river. das train").text, "ein River. das Train");
}

TEST_F(CaseOfTheSource, IsThatOfEachSentence) {
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  const Translation mixed = translate({"the old train! THE RED HOUSE IS NEAR! the river."}, options).at(0);
  const Translation lower = translate({"the old train! the red house is near! the river."}, options).at(0);
  EXPECT_EQ(mixed.parts, 3);
  const std::string first = translated("the old train!"), last = translated("the river.");
  const std::string& whole = lower.hypotheses[0].text;
  ASSERT_EQ(whole.substr(0, first.size() + 1), first + " ");
  ASSERT_EQ(whole.substr(whole.size() - last.size() - 1), " " + last);
  const std::string middle = whole.substr(first.size() + 1, whole.size() - first.size() - last.size() - 2);
  EXPECT_EQ(mixed.hypotheses[0].text, first + " " + capitals(middle) + " " + last);
  EXPECT_EQ(mixed.hypotheses[0].word_alignment, lower.hypotheses[0].word_alignment);
}

TEST_F(CaseOfTheSource, IsThatOfTheLabelAtTheBeginning) {
  const auto read = [&](const std::string& text, const TranslationOptions& options = {}) {
    return encode_texts(tokenizer.source(), {text}, options, {}, one_by_one);
  };
  const auto restored = [&](const std::string& text, const std::string& translation) {
    const SourceTexts sources = read(text);
    return SourceCase(sources, tokenizer, "").restore(0, {translation.size()}, translation).text;
  };
  const SourceTexts sources = read("THE TRAIN: The red House is near");
  EXPECT_EQ(sources[0].parts[0].plain, "the train: the red House is near");
  EXPECT_EQ(sources[0].parts[0].written, TextCase::label);
  EXPECT_EQ(restored("THE TRAIN: The red House is near", "der zug: das rote haus"), "DER ZUG: das rote haus");
  EXPECT_EQ(restored("[TRAIN] the River is near", "[zug] der fluss, river"), "[ZUG] der fluss, River");
  EXPECT_EQ(restored("(TRAIN)", "(zug)"), "(ZUG)");
  EXPECT_EQ(restored("TRAIN: it is {n} old", "ein {n} zug: er ist alt"), "EIN {n} ZUG: er ist alt");
  EXPECT_EQ(restored("THE TRAIN: Old River", "der zug: alter fluss"), "DER ZUG: alter fluss") << "not Der Zug";
  EXPECT_EQ(restored("TRAIN: it is old", "der alte rote zug ist: alt"), "der alte rote zug ist: alt") << "no label";
  EXPECT_EQ(restored("TRAIN: it is old", "der zug (alt)"), "der zug (alt)");
  EXPECT_EQ(restored("[TRAIN] it is old", "zug: alt"), "zug: alt");

  options.letter_case = LetterCase::kept;
  EXPECT_EQ(read("THE TRAIN: the house", options)[0].parts[0].written, TextCase::mixed);
  options.letter_case = LetterCase::adapted;
  options.protect = Protection::none;  // the colon, which the vocabulary lacks
  EXPECT_EQ(translate({"TRAIN: the red house"}, options)[0].source_tokens,
            translate({"train: the red house"}, options)[0].source_tokens);
}

TEST_F(CaseOfTheSource, DoesNotReachTags) {
  options.inline_tags = true;
  const std::string upper = translated("THE <b class=\"x\">RED HOUSE</b> IS {name} NEAR.");
  const std::string lower = translated("the <b class=\"x\">red house</b> is {name} near.");
  std::string expected = capitals(lower);
  for (const std::string tag : {"<b class=\"x\">", "</b>", "{name}"})
    expected.replace(expected.find(capitals(tag)), tag.size(), tag);
  EXPECT_EQ(upper, expected);
}

TEST_F(CaseOfTheSource, LeavesPrefixesAndTermsAsTheCallerWroteThem) {
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(translated("THE RED HOUSE"), StartsWith("das rote"));
  options.target_prefixes = {"DAS ROTE"};  // the vocabulary can write it in lower case only
  const Translation continued = translate({"THE RED HOUSE"}, options).at(0);
  options.target_prefixes = {"das rote"};
  EXPECT_EQ(continued.hypotheses[0].text, capitals(translated("the red house")));
  options.target_prefixes = {};
  options.glossary = {{"house", "Haus"}};
  EXPECT_THAT(translated("THE RED HOUSE"), HasSubstr("Haus"));
  EXPECT_EQ(capitals(translated("THE RED HOUSE")), capitals(translated("the red house")));
}

TEST_F(CaseOfTheSource, DoesNotReachPlaceholdersThatTheModelWrites) {
  const SourceTexts sources =
      encode_texts(tokenizer.source(), {"THE OLD RED HOUSE %s IS NEAR {n}"}, {}, {}, one_by_one);
  const std::string translation = "das {n} rote Haus %d ist %s nah";
  EXPECT_EQ(SourceCase(sources, tokenizer, "").restore(0, {translation.size()}, translation).text,
            "DAS {n} ROTE HAUS %D IST %s NAH");
}

TEST_F(CaseOfTheSource, IsRestoredOnlyOnceTheTranslationIsWhole) {
  std::vector<std::string> told;
  const TranslationHooks hooks = testing::telling(told);
  const Translation found = translate({"THE RED HOUSE IS NEAR."}, options, 1, hooks).at(0);
  ASSERT_FALSE(told.empty());
  for (const std::string& so_far : told) EXPECT_EQ(so_far, found.hypotheses[0].text);
}

// An untrained model whose vocabulary truecases: it reads the first word of a sentence in lower case, and its
// translation begins with a capital if the source does.
class TruecasingModel : public CaseOfTheSource {
 protected:
  TruecasingModel() : CaseOfTheSource(testing::tiny_truecasing_tokenizer()) {}

  static bool is_capital(const std::string& text) { return !text.empty() && text[0] >= 'A' && text[0] <= 'Z'; }
  static std::string capitalized(std::string text) {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }
};

TEST_F(TruecasingModel, ReadsAndWritesCapitalsAtTheBeginning) {
  options.word_alignments = true;
  for (const LetterCase letter_case : {LetterCase::adapted, LetterCase::kept}) {
    options.letter_case = letter_case;
    const Translation written = translate({"The red house is near."}, options).at(0);
    const Translation lower = translate({"the red house is near."}, options).at(0);
    EXPECT_EQ(written.source_tokens, lower.source_tokens);
    EXPECT_EQ(written.hypotheses[0].tokens, lower.hypotheses[0].tokens);
    ASSERT_FALSE(is_capital(lower.hypotheses[0].text)) << lower.hypotheses[0].text;
    EXPECT_EQ(written.hypotheses[0].text, capitalized(lower.hypotheses[0].text));
    EXPECT_EQ(written.hypotheses[0].word_alignment, lower.hypotheses[0].word_alignment);
  }
}

TEST_F(TruecasingModel, WritesACapitalForEachSentence) {
  options.split_sentences = SentenceSplitting::always;
  const Translation found = translate({"The old train! The red house is near!"}, options).at(0);
  EXPECT_EQ(found.parts, 2);
  EXPECT_EQ(found.hypotheses[0].text, translated("The old train!") + " " + translated("The red house is near!"));
  options.split_sentences = SentenceSplitting::never;
  options.max_source_tokens = 4;
  const std::string first = translated("The red"), whole = translated("The red house is near the old train.");
  EXPECT_TRUE(is_capital(whole));
  EXPECT_EQ(whole.substr(1), translated("the red house is near the old train.").substr(1));
}

TEST_F(TruecasingModel, PutsTagsAndTermsInTheirPlaces) {
  options.inline_tags = true;
  const std::string lower = translated("the <b>red house</b> is near.");
  std::string expected = lower;
  const size_t letter = lower.compare(0, 3, "<b>") == 0 ? 3 : 0;
  expected[letter] = capitalized(expected.substr(letter, 1))[0];
  EXPECT_EQ(translated("The <b>red house</b> is near."), expected);
  options.glossary = {{"house", "Haus"}, {"The", "das"}};
  EXPECT_THAT(translated("The red house is near."), HasSubstr("Haus"));
}

TEST_F(TruecasingModel, ContinuesPrefixesAsTheyAreWritten) {
  options.target_prefixes = {"Das rote"};
  const std::string written = translated("The red house");
  EXPECT_THAT(written, StartsWith("Das rote"));
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(translated("The red house"), StartsWith("das rote"));
  EXPECT_EQ(capitalized(translated("The red house")), written);
}

TEST_F(TruecasingModel, TellsTheTranslationSoFarInItsCase) {
  std::vector<std::string> told;
  const TranslationHooks hooks = testing::telling(told);
  const Translation found = translate({"The red house is near."}, options, 1, hooks).at(0);
  ASSERT_FALSE(told.empty());
  for (const std::string& so_far : told) EXPECT_THAT(found.hypotheses[0].text, StartsWith(so_far));
  EXPECT_EQ(told.back(), found.hypotheses[0].text);
}

TEST_F(TruecasingModel, ScoresBothCasesAlike) {
  const auto engine = testing::engine_of(transformer, tokenizer);
  const std::vector<Hypothesis> found = engine.score({"The red house", "the red house"}, {"Das Haus", "das Haus"}, {});
  EXPECT_EQ(found[0].score, found[1].score);
  EXPECT_EQ(found[0].text, "Das Haus");
}

// Its output must be over the words of the source.
TEST_F(CaseOfTheSource, IsKeptWithAConstraint) {
  struct EndsAtOnce : NextTokenConstraint {
    struct Over : State {
      Ids allowed() const override { return {special_ids::kEnd}; }
      std::shared_ptr<const State> after(int64_t) const override { return nullptr; }
    };
    std::shared_ptr<const State> begin(const Ids&, const std::string& text) const override {
      source = text;
      return std::make_shared<Over>();
    }
    mutable std::string source;
  };
  const auto constraint = std::make_shared<EndsAtOnce>();
  options.search.constraint = constraint;
  translate({"THE RED HOUSE"}, options);
  EXPECT_EQ(constraint->source, "THE RED HOUSE");
}

}  // namespace
}  // namespace transmute
