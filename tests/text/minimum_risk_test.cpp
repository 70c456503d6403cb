// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/text/minimum_risk.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

std::vector<Hypothesis> candidates_of(const std::vector<std::pair<std::string, double>>& texts) {
  std::vector<Hypothesis> candidates;
  for (const auto& [text, probability] : texts) {
    candidates.emplace_back().text = text;
    candidates.back().log_probability = std::log(probability);
  }
  return candidates;
}

std::vector<std::string> chosen(std::vector<Hypothesis> candidates, MbrUtility utility, bool are_samples,
                                size_t kept = 10) {
  choose_by_risk(candidates, utility, are_samples, kept);
  std::vector<std::string> texts;
  for (const Hypothesis& candidate : candidates) texts.push_back(candidate.text);
  return texts;
}

// The most probable one is unlike the three that agree.
TEST(MinimumRisk, PrefersWhatManyCandidatesAreLike) {
  const auto candidates = candidates_of({{"nothing of this", 0.4},
                                         {"the red house is near", 0.22},
                                         {"the red house is so near", 0.2},
                                         {"a red house is near", 0.18}});
  for (const MbrUtility utility : {MbrUtility::chrf, MbrUtility::bleu}) {
    EXPECT_THAT(chosen(candidates, utility, true, 1), ElementsAre("the red house is near"));
    EXPECT_THAT(chosen(candidates, utility, false, 1), ElementsAre("the red house is near"));
  }
}

// For 13a each of these lines is one word, so that all are equally unlike.
TEST(MinimumRisk, FindsTheWordsOfScriptsWithoutSpaces) {
  const auto candidates = candidates_of({{"什么都没有", 0.4}, {"红色的房子很近", 0.3}, {"红色的房子非常近", 0.3}});
  EXPECT_NE(chosen(candidates, MbrUtility::bleu, true).front(), "什么都没有");
}

TEST(MinimumRisk, WeighsReferencesByProbabilityUnlessTheyAreSamples) {
  const auto candidates = candidates_of({{"nothing of this", 0.9}, {"the house", 0.05}, {"the house is", 0.05}});
  EXPECT_EQ(chosen(candidates, MbrUtility::chrf, false).front(), "nothing of this");
  EXPECT_EQ(chosen(candidates, MbrUtility::chrf, true).back(), "nothing of this");
}

// Sums by the definition, with the corpus scores of single pairs.
TEST(MinimumRisk, OrdersByExpectedUtility) {
  const std::vector<std::pair<std::string, double>> texts{{"a b c d", 0.3}, {"a b c", 0.1}, {"a c d", 0.25},
                                                          {"b c d e", 0.2}, {"x y", 0.1},   {"a b c d e", 0.05}};
  BleuOptions bleu;
  bleu.effective_order = true;
  for (const MbrUtility utility : {MbrUtility::chrf, MbrUtility::bleu})
    for (const bool are_samples : {false, true}) {
      std::vector<std::pair<double, std::string>> expected;
      for (const auto& [hypothesis, own] : texts) {
        double sum = 0;
        for (const auto& [reference, probability] : texts)
          sum += (are_samples ? 1 : probability) * (utility == MbrUtility::chrf
                                                        ? corpus_chrf({hypothesis}, {{reference}})
                                                        : corpus_bleu({hypothesis}, {{reference}}, bleu).score);
        expected.emplace_back(-sum, hypothesis);
      }
      std::sort(expected.begin(), expected.end());
      const auto found = chosen(candidates_of(texts), utility, are_samples);
      ASSERT_EQ(found.size(), texts.size());
      for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], expected[i].second) << i;
    }
}

TEST(MinimumRisk, KeepsDifferentTextsThoughEqualOnesCountTogether) {
  std::vector<Hypothesis> candidates(5);
  const char* texts[] = {"the red house", "a cat", "a cat", "a cat", "the red horse"};
  for (size_t i = 0; i < candidates.size(); ++i) candidates[i].text = texts[i];
  choose_by_risk(candidates, MbrUtility::chrf, true, 2);
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(candidates[0].text, "a cat");
  EXPECT_NE(candidates[1].text, "a cat");
}

TEST(MinimumRisk, KeepsTheOrderOfEqualOnes) {
  EXPECT_THAT(chosen(candidates_of({{"a b", 0.1}, {"c d", 0.1}, {"", 0.01}}), MbrUtility::chrf, false, 2),
              ElementsAre("a b", "c d"));
  EXPECT_THAT(chosen(candidates_of({{"", 1}}), MbrUtility::bleu, false), ElementsAre(""));
}

}  // namespace
}  // namespace transmute
