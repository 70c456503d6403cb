// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/tests/support/translation_engine.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
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
class CaseOfTheSource : public ::testing::Test {
 protected:
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     const TranslationHooks& hooks = {}) const {
    return testing::engine_of(transformer_, tokenizer_).translate(texts, options, hooks);
  }
  std::string text(const std::string& source, const TranslationOptions& options) const {
    return translate({source}, options).at(0).hypotheses.at(0).text;
  }

  static TranslationOptions few_tokens() {
    TranslationOptions options;
    options.guard = Guard::off;  // what an untrained model says looks wrong
    options.search.max_extra_length = 5;
    return options;
  }

  const Tokenizer tokenizer_ = testing::tiny_tokenizer();
  const Transformer transformer_ = testing::tiny_transformer(tokenizer_, 5);
};

TEST_F(CaseOfTheSource, IsThatOfTheTranslation) {
  TranslationOptions options = few_tokens();
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
  TranslationOptions options = few_tokens();
  options.letter_case = LetterCase::kept;
  const Translation kept = translate({"THE RED HOUSE"}, options).at(0);
  EXPECT_THAT(kept.source_tokens, Contains("<unk>"));
}

TEST_F(CaseOfTheSource, IsThatOfEachSentence) {
  TranslationOptions options = few_tokens();
  options.split_sentences = SentenceSplitting::always;
  options.word_alignments = true;
  const Translation mixed = translate({"the old train! THE RED HOUSE IS NEAR! the river."}, options).at(0);
  const Translation lower = translate({"the old train! the red house is near! the river."}, options).at(0);
  EXPECT_EQ(mixed.parts, 3);
  const std::string first = text("the old train!", options), last = text("the river.", options);
  const std::string& whole = lower.hypotheses[0].text;
  ASSERT_EQ(whole.substr(0, first.size() + 1), first + " ");
  ASSERT_EQ(whole.substr(whole.size() - last.size() - 1), " " + last);
  const std::string middle = whole.substr(first.size() + 1, whole.size() - first.size() - last.size() - 2);
  EXPECT_EQ(mixed.hypotheses[0].text, first + " " + capitals(middle) + " " + last);
  EXPECT_EQ(mixed.hypotheses[0].word_alignment, lower.hypotheses[0].word_alignment);
}

TEST_F(CaseOfTheSource, DoesNotReachTags) {
  TranslationOptions options = few_tokens();
  options.inline_tags = true;
  const std::string upper = text("THE <b class=\"x\">RED HOUSE</b> IS {name} NEAR.", options);
  const std::string lower = text("the <b class=\"x\">red house</b> is {name} near.", options);
  std::string expected = capitals(lower);
  for (const std::string tag : {"<b class=\"x\">", "</b>", "{name}"})
    expected.replace(expected.find(capitals(tag)), tag.size(), tag);
  EXPECT_EQ(upper, expected);
}

TEST_F(CaseOfTheSource, LeavesPrefixesAndTermsAsTheCallerWroteThem) {
  TranslationOptions options = few_tokens();
  options.target_prefixes = {"das rote"};
  EXPECT_THAT(text("THE RED HOUSE", options), StartsWith("das rote"));
  options.target_prefixes = {"DAS ROTE"};  // the vocabulary can write it in lower case only
  const Translation continued = translate({"THE RED HOUSE"}, options).at(0);
  options.target_prefixes = {"das rote"};
  EXPECT_EQ(continued.hypotheses[0].text, capitals(text("the red house", options)));
  options.target_prefixes = {};
  options.glossary = {{"house", "Haus"}};
  EXPECT_THAT(text("THE RED HOUSE", options), HasSubstr("Haus"));
  EXPECT_EQ(capitals(text("THE RED HOUSE", options)), capitals(text("the red house", options)));
}

TEST_F(CaseOfTheSource, IsRestoredOnlyOnceTheTranslationIsWhole) {
  TranslationHooks hooks;
  std::vector<std::string> told;
  hooks.on_text = [&](size_t, const std::string& so_far) { told.push_back(so_far); };
  const Translation found = translate({"THE RED HOUSE IS NEAR."}, few_tokens(), hooks).at(0);
  EXPECT_EQ(told, std::vector<std::string>{found.hypotheses[0].text});
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
  TranslationOptions options = few_tokens();
  const auto constraint = std::make_shared<EndsAtOnce>();
  options.search.constraint = constraint;
  translate({"THE RED HOUSE"}, options);
  EXPECT_EQ(constraint->source, "THE RED HOUSE");
}

}  // namespace
}  // namespace transmute
