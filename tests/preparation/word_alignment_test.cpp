// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/preparation/alignment_score.h>
#include <transmute/text/format.h>
#include <transmute/training/data/word_links.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

TEST(SymmetrizedLinks, GrowFromTheIntersectionToItsNeighbors) {
  const WordLinks forward{{0, 0}, {1, 1}, {2, 1}}, backward{{0, 0}, {1, 1}};
  EXPECT_EQ(pharaoh_line(symmetrized(forward, backward)), "0-0 1-1 2-1") << "2 is a new word beside 1-1";
  EXPECT_EQ(pharaoh_line(symmetrized(backward, forward)), "0-0 1-1 2-1");
}

TEST(SymmetrizedLinks, TakeAtLastThoseOfTwoWordsWithoutALink) {
  const WordLinks forward{{0, 0}, {3, 3}}, backward{{0, 0}, {5, 0}, {6, 6}};
  EXPECT_EQ(pharaoh_line(symmetrized(forward, backward)), "0-0 3-3 6-6") << "0 of 5-0 has a link, which is not near";
  EXPECT_EQ(pharaoh_line(symmetrized({}, {})), "");
}

TEST(BestLinks, PreferTheDiagonalAmongEqualWords) {
  LinkProbabilities equal{3, 3, std::vector<double>(9, 0.5), std::vector<double>(3, 0.01)};
  EXPECT_EQ(pharaoh_line(best_links(equal)), "0-0 1-1 2-2");
  equal.values = {0.5, 0.5, 0.5, 0.0001, 0.0001, 0.0001, 0.5, 0.5, 0.5};
  EXPECT_EQ(pharaoh_line(best_links(equal)), "0-0 2-2") << "nothing explains the word in the middle";
}

TEST(WordsBetweenSpaces, AreCountedAsGuidedAlignmentCountsThem) {
  EXPECT_THAT(words_between_spaces("  a dog,\tand  more "), ElementsAre("a", "dog,", "and", "more"));
  EXPECT_THAT(words_between_spaces(" "), ElementsAre());
}

// A text in a language of letters. Its translation has other words, and each two neighbors change places.
TextPair swapped_pair(uint64_t seed, size_t words) {
  std::vector<std::string> targets(words);
  TextPair pair;
  for (size_t i = 0; i < words; ++i) {
    std::string letters;
    for (uint64_t rest = mix_bits(combine_keys(seed, i)) % 300 + 1; rest > 0; rest /= 14)
      letters += static_cast<char>('a' + rest % 14);
    pair.source += (i > 0 ? " k" : "k") + letters;
    targets[i ^ 1U] = "z" + letters;
  }
  for (size_t i = 0; i < words; ++i) pair.target += (i > 0 ? " " : "") + targets[i];
  return pair;
}

TEST(AlignedWords, AreFoundWhereTheyChangePlaces) {
  constexpr size_t kWords = 8;
  std::vector<TextPair> sample;
  for (uint64_t seed = 0; seed < 2000; ++seed) sample.push_back(swapped_pair(seed, kWords));
  WorkerCrew crew(1);
  const AlignmentScorer scorer(sample, crew);
  size_t right = 0, found = 0;
  for (uint64_t seed = 5000; seed < 5100; ++seed)  // pairs that the sample does not have
    for (const auto& [source, target] : scorer.align(swapped_pair(seed, kWords))) {
      ++found;
      right += target == (source ^ 1U) ? 1 : 0;
    }
  // A word that a sentence has twice may be linked to the other one.
  EXPECT_GT(static_cast<double>(right), 0.97 * 100 * kWords);
  EXPECT_GT(static_cast<double>(right), 0.97 * static_cast<double>(found));
}

TEST(AlignedWords, ThatNobodyKnowsAreLinkedIfTheyAreTheSame) {
  std::vector<TextPair> sample;
  for (uint64_t seed = 0; seed < 2000; ++seed) sample.push_back(swapped_pair(seed, 6));
  WorkerCrew crew(1);
  TextPair pair = swapped_pair(7000, 6);
  pair.source = "Xylophon " + pair.source + " !";
  pair.target += " ! Xylophon";
  EXPECT_EQ(pharaoh_line(AlignmentScorer(sample, crew).align(pair)), "0-7 1-1 2-0 3-3 4-2 5-5 6-4 7-6");
}

}  // namespace
}  // namespace transmute
