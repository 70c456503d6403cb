// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/text/checks/confidence.h>

#include <cmath>
#include <limits>
#include <vector>

namespace transmute {
namespace {

TEST(Confidence, FitFindsTheWeightsThatMadeTheTargets) {
  const TextFeatures truth{0.5, 1.5, -0.5, 0.25, 0, 0, 0};
  std::vector<TextFeatures> rows;
  std::vector<double> targets;
  for (int i = 0; i < 5000; ++i) {
    const TextFeatures row{1, std::sin(i), std::cos(3.0 * i), std::sin(7.0 * i), 0, 0, 0};
    rows.push_back(row);
    targets.push_back(1 / (1 + std::exp(-(0.5 + 1.5 * row[1] - 0.5 * row[2] + 0.25 * row[3]))));
  }
  const TextFeatures found = fit_logistic(rows, targets);
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], truth[i], 0.01) << "shrunk a little by the prior";
  EXPECT_NEAR(logistic(found, rows[3]), targets[3], 0.01);
}

TEST(Confidence, FitStaysFiniteWhereTargetsAreSeparable) {
  const std::vector<WordFeatures> rows{{1, -1, 0, 0}, {1, 1, 0, 0}};
  for (const double weight : fit_logistic(rows, {0, 1})) EXPECT_TRUE(std::isfinite(weight));
}

TEST(Confidence, FeaturesAreThoseOfTheTokensAndTheEnd) {
  const TextFeatures features = text_features({-1.5, -0.5}, -0.25, true);
  EXPECT_DOUBLE_EQ(features[1], -0.75);
  EXPECT_DOUBLE_EQ(features[2], -1.5);
  EXPECT_DOUBLE_EQ(features[3], (std::exp(-1.5) + std::exp(-0.5) + std::exp(-0.25)) / 3);
  EXPECT_DOUBLE_EQ(features[4], 1.0 / 3);
  EXPECT_DOUBLE_EQ(features[5], std::log(3.0));
  EXPECT_EQ(features[6], 1);
  const WordFeatures word = word_features({-1.5, -0.5, -1}, {1, 3});
  EXPECT_DOUBLE_EQ(word[1], -1.5);
  EXPECT_DOUBLE_EQ(word[2], std::exp(-1.5));
  EXPECT_DOUBLE_EQ(word[3], -1);
}

TEST(Confidence, ImpossibleTokensCountAsVeryImprobableOnes) {
  const double never = -std::numeric_limits<double>::infinity();
  for (const double feature : text_features({never}, never, false)) EXPECT_TRUE(std::isfinite(feature));
  for (const double feature : word_features({never}, {0, 1})) EXPECT_TRUE(std::isfinite(feature));
}

}  // namespace
}  // namespace transmute
