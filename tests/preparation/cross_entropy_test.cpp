// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/preparation/cross_entropy.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace transmute {
namespace {

TEST(DualCrossEntropy, IsTheMeanOfBothDirectionsAndTheirDifference) {
  const Translator forward(std::string(TRANSMUTE_TEST_DATA "/formats/marian")),
      reverse(std::string(TRANSMUTE_TEST_DATA "/formats/marian"));
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "word ";
  const std::vector<TextPair> pairs{{"a dog runs", "ein Hund"}, {long_text, "kurz"}, {"yes", "ja , ja"}};
  // The cross-entropy of one target, from the scores of its tokens and of its end.
  const auto per_token = [](const Translator& model, const std::string& source, const std::string& target) {
    const Hypothesis scored = model.score_batch({source}, {target}).front();
    return -scored.log_probability / static_cast<double>(model.tokenizer().target().encode(target).size() + 1);
  };
  const std::vector<double> costs = dual_cross_entropies(forward, reverse, pairs);
  ASSERT_EQ(costs.size(), 3);
  EXPECT_TRUE(std::isnan(costs[1])) << "it is too long";
  for (const size_t i : {size_t{0}, size_t{2}}) {
    const double to_target = per_token(forward, pairs[i].source, pairs[i].target),
                 to_source = per_token(reverse, pairs[i].target, pairs[i].source);
    EXPECT_GT(std::abs(to_target - to_source), 1e-3);
    EXPECT_NEAR(costs[i], std::max(to_target, to_source) * 1.5 - std::min(to_target, to_source) * 0.5, 1e-4);
  }
}

}  // namespace
}  // namespace transmute
