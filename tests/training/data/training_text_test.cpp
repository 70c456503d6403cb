// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/corpora.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/data/batcher.h>
#include <transmute/training/data/training_text.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using testing::kKey;
using testing::LargeText;
using testing::made_pair;
using testing::made_shards;
using testing::number_of;
using testing::Pair;
using testing::pair_at;
using testing::TemporaryFolder;

// How often each pair number is seen, by its tokens.
std::map<size_t, int> seen_in(const Epoch& epoch) {
  std::map<size_t, int> seen;
  for (int64_t w = 0; w < epoch.windows(); ++w) {
    const Epoch::Window window = epoch.window(w);
    for (const auto& batch : window.batches)
      for (const size_t place : batch) {
        const Pair pair = pair_at(window.text, place);
        EXPECT_EQ(pair, made_pair(number_of(pair)));
        ++seen[number_of(pair)];
      }
  }
  return seen;
}

uint64_t order_of(const Epoch& epoch) {
  uint64_t hash = 0;
  for (int64_t w = 0; w < epoch.windows(); ++w) {
    const Epoch::Window window = epoch.window(w);
    for (const auto& batch : window.batches) {
      for (const size_t place : batch) hash = combine_keys(hash, number_of(pair_at(window.text, place)));
      hash = mix_bits(hash);
    }
  }
  return hash;
}

TEST(EpochOfASmallText, IsInTheOrderOfATextInMemory) {
  const TemporaryFolder folder;
  const TrainingText text({{made_shards(folder / "a", 1000)}, {made_shards(folder / "b", 70)}});
  ParallelText in_memory;
  for (const size_t pairs : {1000, 70})
    for (size_t i = 0; i < pairs; ++i) {
      in_memory.source.add(made_pair(i).first);
      in_memory.target.add(made_pair(i).second);
    }
  const Epoch epoch(text, 200, 5, 3);
  ASSERT_EQ(epoch.windows(), 1);
  EXPECT_EQ(text.size(), 1070u);
  const Epoch::Window window = epoch.window(0);
  EXPECT_EQ(window.batches, epoch_batches(in_memory, 200, 5, 3));
  ASSERT_EQ(window.text.size(), in_memory.size());
  for (size_t i = 0; i < in_memory.size(); ++i) EXPECT_EQ(pair_at(window.text, i), pair_at(in_memory, i));
}

TEST_F(LargeText, IsSeenOnceInAnEpoch) {
  const Epoch epoch(text_, 20'000, 5, 0);
  EXPECT_EQ(epoch.windows(), 2);
  const auto seen = seen_in(epoch);
  EXPECT_EQ(seen.size(), kPairs);
  for (const auto& [number, times] : seen) ASSERT_EQ(times, 1) << number;
}

TEST_F(LargeText, HasPairsFromEverywhereInEachWindow) {
  const Epoch epoch(text_, 20'000, 5, 0);
  const Epoch::Window window = epoch.window(0);
  std::vector<int> tenths(10);
  for (size_t i = 0; i < window.text.size(); ++i) ++tenths[number_of(pair_at(window.text, i)) * 10 / kPairs];
  // Blocks of 64: five standard deviations of drawing half of a tenth's 469 blocks.
  for (const int count : tenths) EXPECT_NEAR(count, kPairs / 20.0, 64 * 5 * std::sqrt(469 / 4.0));
}

// The order is a contract: resumed runs rely on it. Whoever changes it raises kStateVersion in checkpoint.cpp. The
// numbers come from a program of their own that was written from the description.
TEST_F(LargeText, IsInTheSameOrderWithEveryVersion) {
  EXPECT_EQ(order_of(Epoch(text_, 20'000, 5, 0)), 7245667721598202708u);
  const TrainingText small({{made_shards(*folder_ / "small", 1000)}});
  EXPECT_EQ(order_of(Epoch(small, 200, 5, 0)), 11706678377047367606u);
}

TEST_F(LargeText, IsInAnotherOrderInEachEpochAndWithEachSeed) {
  const uint64_t first = order_of(Epoch(text_, 20'000, 5, 0));
  EXPECT_EQ(order_of(Epoch(text_, 20'000, 5, 0)), first);
  EXPECT_NE(order_of(Epoch(text_, 20'000, 5, 1)), first);
  EXPECT_NE(order_of(Epoch(text_, 20'000, 6, 0)), first);
}

TEST(WeightedCorpora, CountInAnEpochsTokensAsOftenAsTheyAreSeen) {
  const TemporaryFolder folder;
  const auto tokens = [](size_t pairs) {
    double source = 0, target = 0;
    for (size_t i = 0; i < pairs; ++i) {
      source += static_cast<double>(made_pair(i).first.size() + 1);
      target += static_cast<double>(made_pair(i).second.size() + 1);
    }
    return std::make_pair(source, target);
  };
  const auto a = made_shards(folder / "a", 200), b = made_shards(folder / "b", 40);
  const auto [source_a, target_a] = tokens(200);
  const auto [source_b, target_b] = tokens(40);
  EXPECT_EQ(TrainingText({{a}, {b}}).epoch_tokens(), std::llround(std::max(source_a + source_b, target_a + target_b)));
  EXPECT_EQ(TrainingText({{a, 0}, {b, 2.5}}).epoch_tokens(), std::llround(2.5 * std::max(source_b, target_b)));
}

TEST(WeightedCorpora, AreSeenAsOftenAsTheirWeightsSay) {
  const TemporaryFolder folder;
  constexpr size_t kFirst = 5000, kSecond = 3000;
  // The second one's pairs have numbers after the first one's.
  fs::create_directories(folder / "b");
  ShardOptions options;
  options.key = kKey;
  ShardWriter writer(folder / "b", options);
  for (size_t i = kFirst; i < kFirst + kSecond; ++i) writer.add({made_pair(i).first, made_pair(i).second, {}});
  writer.finish({});
  const TrainingText text({{made_shards(folder / "a", kFirst), 2.25},
                           {std::make_shared<TokenShards>(folder / "b", kKey), 0.5},
                           {made_shards(folder / "c", 100), 0}});
  std::set<size_t> third_time[2];
  for (int64_t e = 0; e < 2; ++e) {
    const auto seen = seen_in(Epoch(text, 500, 1, e));
    double first = 0, second = 0;
    for (const auto& [number, times] : seen) {
      if (number < kFirst) {
        first += times;
        EXPECT_TRUE(times == 2 || times == 3) << number;
        if (times == 3) third_time[e].insert(number);
      } else {
        second += times;
        EXPECT_EQ(times, 1) << number;
      }
    }
    EXPECT_NEAR(first, 2.25 * kFirst, 5 * std::sqrt(kFirst * 0.25 * 0.75));
    EXPECT_NEAR(second, 0.5 * kSecond, 5 * std::sqrt(kSecond * 0.25));
  }
  size_t both = 0;
  for (const size_t number : third_time[0]) both += third_time[1].count(number);
  EXPECT_NEAR(static_cast<double>(both), kFirst / 16.0, 5 * std::sqrt(kFirst / 16.0)) << "each epoch draws anew";
}

}  // namespace
}  // namespace transmute
