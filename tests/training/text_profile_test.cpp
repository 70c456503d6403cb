// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/text_profile.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void add(SampledText& text, int times, const std::string& source, const std::string& target) {
  for (int i = 0; i < times; ++i) {
    text.sources.push_back(source);
    text.targets.push_back(target);
  }
}

TEST(LearnedSpans, AreFrequentAndKept) {
  SampledText text;
  add(text, 200, "%s has {0} files", "%s hat {0} Dateien");
  add(text, 60, "%s and %s", "%s und %s");
  add(text, 200, "see %d", "siehe");      // not kept
  add(text, 99, "%(name)s", "%(name)s");  // not frequent
  add(text, 1000, "a plain text", "ein Text");
  EXPECT_THAT(learned_spans(text), ElementsAre("%s", "{0}"));
}

TEST(LearnedSpans, MayBeMissingFromOneTranslationIn20) {
  SampledText text;
  add(text, 95, "%s", "%s");
  add(text, 5, "%s", "nothing");
  EXPECT_THAT(learned_spans(text), ElementsAre("%s"));
  add(text, 1, "%s", "nothing");
  EXPECT_THAT(learned_spans(text), IsEmpty());
}

TEST(TokenizedSample, LacksThePairsThatTrainingLeavesOut) {
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  const Ids source = tokenizer.source().encode("the red house."), target = tokenizer.target().encode("das rote Haus.");
  SampledText text;
  add(text, 1, "the red house.", "das rote Haus.");
  add(text, 1, "the red house. the red house.", "das rote Haus.");
  add(text, 1, "the red house.", "das rote Haus. das rote Haus.");
  add(text, 1, "", "das rote Haus.");
  add(text, 1, "the red house.", "");
  const LengthLimits limits{static_cast<int64_t>(source.size()), static_cast<int64_t>(target.size())};
  const ParallelText tokens = tokenized(text, tokenizer, limits);
  ASSERT_EQ(tokens.size(), 1U);
  EXPECT_EQ(tokens.source.total_tokens(), source.size());
  EXPECT_EQ(tokens.target.total_tokens(), target.size());
}

using ::testing::UnorderedElementsAre;

std::vector<std::string> repeated(const std::vector<std::string>& lines, int times) {
  std::vector<std::string> all;
  for (int i = 0; i < times; ++i) all.insert(all.end(), lines.begin(), lines.end());
  return all;
}

TEST(SentenceProfile, HasTheWordsThatAFullStopFollowsWithinLines) {
  const SentenceProfile profile = learn_sentences(
      repeated({"The Qux. Foo came to the house with xtr. 5 and him.", "It was the house. The man left it.",
                "We saw a house there.", "He is (approv. by us) here."},
               20),
      "en");
  EXPECT_THAT(profile.words, UnorderedElementsAre("qux", "xtr", "approv"));
  EXPECT_EQ(profile.language, "en");
  EXPECT_EQ(profile.lines, 80);
  EXPECT_EQ(profile.lines_with_several, 0.25);
}

TEST(SentenceProfile, LearnsNothingFromRareWords) {
  EXPECT_TRUE(learn_sentences(repeated({"The Qux. Foo came to the house with him."}, 4), "en").words.empty());
}

TEST(SentenceProfile, TakesTheLanguageFromTheWordsRatherThanFromAWrongHint) {
  const std::vector<std::string> german{"Das ist ein Haus und der Mann ist nicht da.", "Die Frau hat es auch."};
  EXPECT_EQ(learn_sentences(german, "en").language, "de");
  EXPECT_EQ(learn_sentences(german, "txt").language, "de");
  EXPECT_EQ(learn_sentences({"xxx yyy"}, "sw").language, "sw") << "whose words are not listed";
  EXPECT_EQ(learn_sentences({"xxx yyy"}, "source").language, "");
  EXPECT_EQ(learn_sentences({}, "en").lines, 0);
}

}  // namespace
}  // namespace v0
}  // namespace transmute
