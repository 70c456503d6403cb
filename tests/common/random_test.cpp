// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

TEST(MixBits, IsSplitMix64) {
  // The first three outputs for seed 0 in the authors' reference implementation.
  constexpr uint64_t kGamma = 0x9e3779b97f4a7c15ULL;
  EXPECT_EQ(mix_bits(0), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(mix_bits(kGamma), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(mix_bits(2 * kGamma), 0x06c45d188009454fULL);
}

TEST(CombineKeys, GivesEachCombinationItsOwnKey) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 20; ++a)
    for (uint64_t b = 0; b < 20; ++b)
      for (uint64_t c = 0; c < 20; ++c) keys.insert(combine_keys(a, b, c));
  EXPECT_EQ(keys.size(), 20u * 20u * 20u);
}

std::vector<int> shuffled(int count, uint64_t key) {
  std::vector<int> items(static_cast<size_t>(count));
  std::iota(items.begin(), items.end(), 0);
  shuffle(items, key);
  return items;
}

TEST(Shuffle, IsAPermutation) {
  for (const int count : {0, 1, 2, 3, 17, 1000})
    for (uint64_t key = 0; key < 20; ++key) {
      std::vector<int> items = shuffled(count, key);
      std::sort(items.begin(), items.end());
      for (int i = 0; i < count; ++i) ASSERT_EQ(items[static_cast<size_t>(i)], i);
    }
}

TEST(Shuffle, IsAFunctionOfItsKey) {
  EXPECT_EQ(shuffled(1000, 7), shuffled(1000, 7));
  std::set<std::vector<int>> orders;
  for (uint64_t key = 0; key < 100; ++key) orders.insert(shuffled(20, key));
  EXPECT_EQ(orders.size(), 100u);
}

// Runs resume in the order in which they began: these orders are a format. Worked out with a second
// implementation, in Python.
TEST(Shuffle, KeepsItsOrders) {
  EXPECT_THAT(shuffled(10, 1), ElementsAre(2, 4, 7, 5, 1, 6, 3, 9, 8, 0));
  EXPECT_THAT(shuffled(10, 2), ElementsAre(2, 7, 4, 9, 6, 5, 0, 8, 1, 3));
  EXPECT_THAT(shuffled(8, combine_keys(1, 2, 3)), ElementsAre(5, 3, 7, 0, 6, 1, 4, 2));
}

TEST(Shuffle, GivesEveryOrderTheSameChance) {
  std::map<std::vector<int>, int> counts;
  for (uint64_t key = 0; key < 24'000; ++key) ++counts[shuffled(4, key)];
  EXPECT_EQ(counts.size(), 24u);
  // 1000 expected of each; six standard deviations are 186.
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 186);
}

}  // namespace
}  // namespace transmute
