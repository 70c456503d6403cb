// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/text/alignment.h>

#include <algorithm>
#include <numeric>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(BalancedAlignment, GivesAnArticleItsOwnOriginal) {
  // "das Dach eines Hauses" for "the roof of a house", whose articles attend to the nouns.
  const std::vector<std::vector<float>> attention{{0.20F, 0.44F, 0.02F, 0.02F, 0.04F},
                                                  {0.03F, 0.67F, 0.05F, 0.01F, 0.02F},
                                                  {0.02F, 0.03F, 0.20F, 0.22F, 0.31F},
                                                  {0.01F, 0.01F, 0.04F, 0.05F, 0.76F}};
  const auto balanced = balanced_alignment(attention);
  std::vector<size_t> best;
  for (const auto& row : balanced) {
    best.push_back(static_cast<size_t>(std::max_element(row.begin(), row.end()) - row.begin()));
    EXPECT_LE(std::accumulate(row.begin(), row.end(), 0.0F), 1.0F + 1e-6F);
  }
  EXPECT_THAT(best, ElementsAre(0, 1, 3, 4));
}

TEST(BalancedAlignment, KeepsWhatIsCertain) {
  // Three tokens of one source token, one of the next, none of the last, one that belongs to the end.
  const std::vector<std::vector<float>> attention{
      {1, 0, 0}, {0.98F, 0.01F, 1e-4F}, {1, 0, 0}, {0, 0.99F, 1e-4F}, {0, 0, 0}};
  const auto balanced = balanced_alignment(attention);
  for (const size_t row : {0, 1, 2}) EXPECT_GT(balanced[row][0], 0.5F);
  EXPECT_GT(balanced[3][1], 0.9F);
  EXPECT_EQ(balanced[4], attention[4]);
  EXPECT_THAT(balanced_alignment({}), IsEmpty());
  EXPECT_THAT(balanced_alignment({{}, {}}), ElementsAre(IsEmpty(), IsEmpty()));
}

}  // namespace
}  // namespace transmute
