// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/preparation/word_alignment.h>
#include <transmute/text/format.h>
#include <transmute/training/data/word_links.h>

#include <functional>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

// Goes through all ways to link each target word with a source word, counted from 1, or with the empty word, 0.
void plain_link_posteriors(size_t targets, size_t sources, const Jumps& jumps, std::vector<double>& values,
                           Jumps& found) {
  constexpr double kEmpty = 0.08;
  std::vector<double> sums(values.size());
  Jumps jump_sums;
  double all = 0;
  std::vector<size_t> links(targets);
  const std::function<void(size_t, size_t, double)> link = [&](size_t j, size_t place, double probability) {
    if (j < targets) {
      links[j] = 0;
      link(j + 1, place, probability * kEmpty * values[j * (sources + 1) + sources]);
      double sum = 0;
      for (size_t to = 1; to <= sources; ++to)
        sum += jumps[static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(place)];
      for (size_t to = 1; to <= sources; ++to) {
        links[j] = to;
        const double jump = jumps[static_cast<std::ptrdiff_t>(to) - static_cast<std::ptrdiff_t>(place)] / sum;
        link(j + 1, to, probability * (1 - kEmpty) * jump * values[j * (sources + 1) + to - 1]);
      }
      return;
    }
    all += probability;
    std::ptrdiff_t before = 0;
    for (size_t k = 0; k < targets; ++k) {
      sums[k * (sources + 1) + (links[k] == 0 ? sources : links[k] - 1)] += probability;
      if (links[k] == 0) continue;
      jump_sums[static_cast<std::ptrdiff_t>(links[k]) - before] += probability;
      before = static_cast<std::ptrdiff_t>(links[k]);
    }
  };
  link(0, 0, 1);
  for (size_t k = 0; k < values.size(); ++k) values[k] = sums[k] / all;
  for (std::ptrdiff_t jump = -4; jump <= 4; ++jump) found[jump] = jump_sums[jump] / all;
}

TEST(LinkPosteriors, AreThoseOfAllWaysToLink) {
  for (const auto& [targets, sources] : {std::pair<size_t, size_t>{4, 3}, {3, 4}, {5, 1}, {1, 4}}) {
    uint64_t key = 10 * targets + sources;
    Jumps jumps;
    for (std::ptrdiff_t jump = -4; jump <= 4; ++jump) jumps[jump] = 0.1 + uniform(mix_bits(++key));
    std::vector<double> values(targets * (sources + 1));
    for (double& value : values) value = 0.001 + uniform(mix_bits(++key));
    std::vector<double> expected = values;
    Jumps found, expected_found;
    link_posteriors(targets, sources, jumps, values, &found);
    plain_link_posteriors(targets, sources, jumps, expected, expected_found);
    for (size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], 1e-12) << k;
    for (std::ptrdiff_t jump = -4; jump <= 4; ++jump) EXPECT_NEAR(found[jump], expected_found[jump], 1e-12) << jump;
  }
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
  const WordAligner aligner(sample, crew);
  size_t right = 0, found = 0;
  for (uint64_t seed = 5000; seed < 5100; ++seed)  // pairs that the sample does not have
    for (const auto& [source, target] : aligner.align(swapped_pair(seed, kWords))) {
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
  EXPECT_EQ(pharaoh_line(WordAligner(sample, crew).align(pair)), "0-7 1-1 2-0 3-3 4-2 5-5 6-4 7-6");
}

}  // namespace
}  // namespace transmute
