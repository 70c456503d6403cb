// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/batches.h>

#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

std::vector<size_t> sizes(const std::vector<std::vector<size_t>>& batches) {
  std::vector<size_t> sizes;
  for (const auto& batch : batches) sizes.push_back(batch.size());
  return sizes;
}

TEST(BatchesByLength, HaveTextsOfSimilarLength) {
  EXPECT_THAT(batches_by_length({3, 9, 4, 9}, 2, 100), ElementsAre(ElementsAre(1, 3), ElementsAre(2, 0)));
  EXPECT_THAT(batches_by_length({3, 9, 4, 9}, 4, 20), ElementsAre(ElementsAre(1, 3), ElementsAre(2, 0)));
  EXPECT_THAT(batches_by_length({50}, 4, 20), ElementsAre(ElementsAre(0)));
}

TEST(BatchesByLength, HaveRoomForTheHypothesesOfTheirTexts) {
  const std::vector<size_t> lines(128, 24);
  EXPECT_THAT(sizes(batches_by_length(lines, 64, 4096, {4, 50})), ElementsAre(64, 64)) << "as without";
  // 32 hypotheses of 525 places each
  EXPECT_EQ(sizes(batches_by_length(lines, 64, 4096, {32, 500})).front(), 65536U / (32 * 525));
  EXPECT_EQ(sizes(batches_by_length(lines, 64, 4096, {10'000, 500})).front(), 1U);
  EXPECT_EQ(sizes(batches_by_length(lines, 64, 4096, {INT64_MAX, INT64_MAX})).front(), 1U);
}

TEST(BatchesByLength, KeepTextsApartThatNeedFarMoreHypotheses) {
  const std::vector<size_t> lengths{3, 9, 4, 9, 5};
  const std::vector<int64_t> more{0, 0, 64, 0, 3};
  EXPECT_THAT(batches_by_length(lengths, 64, 4096, {4, 50}, more),
              ElementsAre(ElementsAre(2), ElementsAre(4), ElementsAre(1, 3, 0)));
  // 128 hypotheses of 75 places each
  const std::vector<size_t> lines(128, 24);
  EXPECT_EQ(sizes(batches_by_length(lines, 64, 4096, {4, 50}, std::vector<int64_t>(128, 64))).front(),
            65536U / (128 * 75));
}

}  // namespace
}  // namespace transmute
