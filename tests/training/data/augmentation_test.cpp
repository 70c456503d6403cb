// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/data/augmentation.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;

// With bytes, so that capitals have tokens.
Tokenizer tokenizer_with_bytes() {
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.vocab_size = 340;
  options.byte_fallback = true;
  return testing::tiny_tokenizer(options);
}

class Augmented : public ::testing::Test {
 protected:
  static constexpr int kDraws = 2000;
  // How often each pair of texts comes out for one pair.
  std::map<std::pair<std::string, std::string>, int> outcomes(const std::vector<std::string>& names,
                                                              const std::string& source,
                                                              const std::string& target) const {
    const Augmenter augmenter(tokenizer_, augmentations_of(names));
    std::map<std::pair<std::string, std::string>, int> found;
    for (uint64_t key = 0; key < kDraws; ++key) {
      const auto pair =
          augmenter.augment(tokenizer_.source().encode(source), tokenizer_.target().encode(target), mix(key));
      if (pair) ++found[{tokenizer_.source().decode(pair->source), tokenizer_.target().decode(pair->target)}];
    }
    return found;
  }
  // Some pairs come out, all as this one.
  void expect_outcome(const std::string& name, const std::string& source, const std::string& target,
                      const std::pair<std::string, std::string>& outcome) const {
    const auto found = outcomes({name}, source, target);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.begin()->first, outcome);
    expect_share(found.begin()->second);
  }
  static uint64_t mix(uint64_t key) { return (key + 1) * 0x9e3779b97f4a7c15ULL; }  // equidistributed
  // Nearly all counts of 2,000 draws with probability 0.05 are within four standard deviations, 4 * 9.7.
  static void expect_share(int count) { EXPECT_NEAR(count, 0.05 * kDraws, 39); }

  const Tokenizer tokenizer_ = tokenizer_with_bytes();
};

TEST_F(Augmented, PairsAreInCapitalsOnBothSides) {
  expect_outcome("upper", "the red house is near.", "das grüne Haus ist nah.",
                 {"THE RED HOUSE IS NEAR.", "DAS GRÜNE HAUS IST NAH."});
}

TEST_F(Augmented, PairsHaveCapitalWordsOnBothSides) {
  expect_outcome("title", "the red house is near.", "das grüne Haus ist nah.",
                 {"The Red House Is Near.", "Das Grüne Haus Ist Nah."});
}

TEST_F(Augmented, PairsLackTheirFinalMarkOnBothSides) {
  expect_outcome("punctuation", "the red house is near.", "das Haus ist nah.",
                 {"the red house is near", "das Haus ist nah"});
  EXPECT_TRUE(outcomes({"punctuation"}, "the red house", "das Haus.").empty()) << "one side has none to lose";
}

TEST_F(Augmented, SourcesHaveTypos) {
  const auto found = outcomes({"typos"}, "the red house is near.", "das Haus ist nah.");
  EXPECT_GT(found.size(), 10U);
  int all = 0;
  for (const auto& [pair, count] : found) {
    EXPECT_EQ(pair.second, "das Haus ist nah.");
    EXPECT_NE(pair.first, "the red house is near.");
    EXPECT_EQ(pair.first.compare(0, 9, "the red h"), 0) << "neither short words nor first letters change";
    all += count;
  }
  expect_share(all);
}

TEST_F(Augmented, PairsAreOfOneKindOnly) {
  const auto found = outcomes({"upper", "title", "punctuation"}, "the house.", "das Haus.");
  EXPECT_EQ(found.size(), 3U);
  for (const auto& [pair, count] : found) expect_share(count);
  const auto fewer = outcomes({"punctuation"}, "the house.", "das Haus.");
  EXPECT_EQ(fewer.at({"the house", "das Haus"}), found.at({"the house", "das Haus"})) << "others do not change a draw";
}

TEST_F(Augmented, PairsWithUnknownTokensStay) {
  const Tokenizer without_bytes = testing::tiny_tokenizer();
  const Augmenter augmenter(without_bytes, augmentations_of({"upper", "title", "punctuation", "typos"}));
  const Ids known = without_bytes.source().encode("the house."), unknown = without_bytes.source().encode("the ☃.");
  for (uint64_t key = 0; key < 100; ++key) {
    EXPECT_FALSE(augmenter.augment(unknown, known, mix(key)));
    EXPECT_FALSE(augmenter.augment(known, unknown, mix(key)));
  }
}

TEST_F(Augmented, SourcesKeepTheTagOfTheirTargetLanguage) {
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.languages = {"de", "fr"};
  const Tokenizer tokenizer = testing::tiny_tokenizer(options);
  const Augmenter augmenter(tokenizer, augmentations_of({"punctuation"}));
  const Ids source = tokenizer.source().encode(">>de<< the red house is near.");
  const Ids target = tokenizer.target().encode("das rote Haus ist nah.");
  ASSERT_EQ(source.front(), tokenizer.source().language("de"));
  std::optional<Augmenter::Pair> pair;
  for (uint64_t key = 0; !pair && key < kDraws; ++key) pair = augmenter.augment(source, target, mix(key));
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->source, tokenizer.source().encode(">>de<< the red house is near"));
}

TEST_F(Augmented, UserDefinedSymbolsStay) {
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.vocab_size = 340;
  options.byte_fallback = true;
  options.user_defined_symbols = {"the_place", "_end."};
  const Tokenizer tokenizer = testing::tiny_tokenizer(options);
  const Augmenter augmenter(tokenizer, augmentations_of({"upper", "title", "punctuation", "typos"}));
  const Ids source = tokenizer.source().encode("the_place is near the red house._end.");
  const Ids target = tokenizer.target().encode("the_place ist nah._end.");
  int count = 0;
  for (uint64_t key = 0; key < kDraws; ++key) {
    const auto pair = augmenter.augment(source, target, mix(key));
    if (!pair) continue;
    ++count;
    const std::string text = tokenizer.source().decode(pair->source);
    EXPECT_THAT(text, AllOf(StartsWith("the_place "), EndsWith("_end.")));
    EXPECT_THAT(tokenizer.target().decode(pair->target), AllOf(StartsWith("the_place "), EndsWith("_end.")));
  }
  EXPECT_GT(count, 0.12 * kDraws);  // all but those of punctuation, which nothing follows
}

TEST(Typos, AreAFunctionOfTextAndKey) {
  const std::string text = "Zwei große Hunde laufen über die grüne Wiese hinter dem Haus.";
  EXPECT_EQ(with_typos(text, 7), with_typos(text, 7));
  EXPECT_NE(with_typos(text, 7), with_typos(text, 8));
  EXPECT_EQ(with_typos("ab cde 日本", 7), "ab cde 日本");
  size_t shortest = text.size(), longest = 0;
  for (uint64_t key = 0; key < 300; ++key) {
    const std::string typed = with_typos(text, key);
    shortest = std::min(shortest, typed.size());
    longest = std::max(longest, typed.size());
    EXPECT_EQ(std::count(typed.begin(), typed.end(), ' '), 10);
  }
  EXPECT_LT(shortest, text.size());
  EXPECT_GT(longest, text.size());
}

TEST(FinalMarks, AreRemoved) {
  EXPECT_EQ(without_final_mark("Is it?!"), "Is it");
  EXPECT_EQ(without_final_mark("Oui !"), "Oui");
  EXPECT_EQ(without_final_mark("好。"), "好");
  EXPECT_EQ(without_final_mark("..."), "...");
  EXPECT_EQ(without_final_mark("a. b"), "a. b");
}

TEST(AugmentationNames, AreKnownAndGivenOnce) {
  EXPECT_THAT(augmentations_of({"typos", "upper"}), ElementsAre(Augmentation::upper, Augmentation::typos));
  EXPECT_THAT(message_of<std::invalid_argument>([] { augmentations_of({"uper"}); }),
              HasSubstr("training.augment has \"uper\"; it takes upper, title, punctuation and typos"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { augmentations_of({"upper", "upper"}); }), HasSubstr("twice"));
}

}  // namespace
}  // namespace transmute
