// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/metrics/bootstrap.h>

#include <cmath>
#include <vector>

namespace transmute {
namespace {

double mean_of(const std::vector<double>& values, const std::vector<std::size_t>& segments) {
  double sum = 0;
  for (const std::size_t segment : segments) sum += values[segment];
  return sum / static_cast<double>(segments.size());
}

// Of the mean of 400 values the standard error is known: 1.96 of it on either side are the 95% interval.
TEST(Bootstrap, FindsTheIntervalOfAMean) {
  std::vector<double> values;
  double variance = 0;
  for (int i = 0; i < 400; ++i) {
    values.push_back(i % 20);
    variance += std::pow(values.back() - 9.5, 2) / 400;
  }
  const auto interval =
      bootstrap(values.size(), [&](const auto& segments) { return mean_of(values, segments); }, {2000, 1});
  EXPECT_NEAR(interval.mean, 9.5, 0.05);
  EXPECT_NEAR(interval.half_width, 1.96 * std::sqrt(variance / 400), 0.05);
}

TEST(Bootstrap, ADifferenceInEverySegmentIsNotChanceAndNoDifferenceIs) {
  std::vector<double> values, better, shuffled;
  for (int i = 0; i < 200; ++i) {
    values.push_back(i % 17);
    better.push_back(i % 17 + 1 + i % 3);
    shuffled.push_back((i + 5) % 17);
  }
  const auto score = [](const std::vector<double>& of) -> ScoreOfSegments {
    return [&of](const auto& segments) { return mean_of(of, segments); };
  };
  EXPECT_DOUBLE_EQ(paired_bootstrap_p(200, score(values), score(better)), 1.0 / 1001);
  EXPECT_GT(paired_bootstrap_p(200, score(values), score(shuffled)), 0.05);
  EXPECT_EQ(paired_bootstrap_p(200, score(values), score(shuffled)),
            paired_bootstrap_p(200, score(values), score(shuffled)));
}

}  // namespace
}  // namespace transmute
