// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/data/batcher.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using testing::ids_at;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Batches = std::vector<std::vector<size_t>>;

constexpr int64_t kEnd = special_ids::kEnd;

// Pairs with lengths like those of real text, some of them without content on one side. Token ids tell the pair
// and the place.
ParallelText made_text(size_t pairs, uint64_t key) {
  ParallelText text;
  for (size_t i = 0; i < pairs; ++i) {
    Ids source, target;
    for (uint64_t k = mix_bits(key + i) % 30; k > 0; --k) source.push_back(static_cast<int64_t>(100 * i + k));
    for (uint64_t k = source.size() / 2 + mix_bits(key + i + 7777) % 20; k > 0; --k)
      target.push_back(static_cast<int64_t>(100 * i + 50 + k));
    text.source.add(source);
    text.target.add(target);
  }
  return text;
}

int64_t padded_tokens(const TokenLists& lists, const std::vector<size_t>& pairs) {
  int64_t longest = 0;
  for (const size_t pair : pairs) longest = std::max(longest, static_cast<int64_t>(lists.length(pair)) + 1);
  return longest * static_cast<int64_t>(pairs.size());
}

std::vector<size_t> sorted_pairs(const Batches& batches) {
  std::vector<size_t> pairs;
  for (const auto& batch : batches) pairs.insert(pairs.end(), batch.begin(), batch.end());
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<size_t> all_pairs(size_t count) {
  std::vector<size_t> pairs(count);
  std::iota(pairs.begin(), pairs.end(), size_t{0});
  return pairs;
}

TEST(EpochBatches, HoldEachPairExactlyOnce) {
  const ParallelText text = made_text(997, 1);
  for (const int64_t batch_tokens : {1, 60, 500, 1'000'000})
    for (int64_t epoch = 0; epoch < 3; ++epoch)
      EXPECT_EQ(sorted_pairs(epoch_batches(text, batch_tokens, 5, epoch)), all_pairs(997));
}

TEST(EpochBatches, KeepTheTokenLimitOnBothSides) {
  const ParallelText text = made_text(997, 2);
  for (const int64_t batch_tokens : {59, 359})  // one less than what many shapes have
    for (const auto& batch : epoch_batches(text, batch_tokens, 5, 0)) {
      EXPECT_FALSE(batch.empty());
      EXPECT_LE(padded_tokens(text.source, batch), batch_tokens);
      EXPECT_LE(padded_tokens(text.target, batch), batch_tokens);
    }
}

TEST(EpochBatches, WasteLittleOnPadding) {
  const ParallelText text = made_text(5000, 3);
  int64_t padded = 0;
  for (const auto& batch : epoch_batches(text, 1000, 5, 0)) padded += padded_tokens(text.target, batch);
  const int64_t needed = static_cast<int64_t>(text.target.total_tokens() + text.target.size());
  EXPECT_LT(static_cast<double>(padded), 1.05 * static_cast<double>(needed));
}

TEST(EpochBatches, AreAFunctionOfSeedAndEpoch) {
  const ParallelText text = made_text(500, 4);
  const Batches first = epoch_batches(text, 300, 5, 0);
  EXPECT_EQ(epoch_batches(text, 300, 5, 0), first);
  EXPECT_NE(epoch_batches(text, 300, 5, 1), first);
  EXPECT_NE(epoch_batches(text, 300, 6, 0), first);
  EXPECT_NE(epoch_batches(text, 300, 5, 1), epoch_batches(text, 300, 5, 2));
}

TEST(EpochBatches, ComeInNoOrderOfLength) {
  const ParallelText text = made_text(2000, 5);
  int falls = 0, rises = 0;
  size_t last = 0;
  for (const auto& batch : epoch_batches(text, 300, 5, 0)) {
    const size_t length = text.target.length(batch.front());
    falls += length < last ? 1 : 0;
    rises += length > last ? 1 : 0;
    last = length;
  }
  EXPECT_GT(falls, 20);
  EXPECT_GT(rises, 20);
}

// Among pairs of the same length, of which real text has many.
TEST(EpochBatches, PutOthersTogetherInEachEpoch) {
  ParallelText text;
  for (size_t i = 0; i < 3000; ++i) {
    text.source.add(Ids(1 + i % 3, 9));
    text.target.add(Ids(1 + i % 5, 9));
  }
  const auto sets = [&](int64_t epoch) {
    std::set<std::set<size_t>> found;
    for (const auto& batch : epoch_batches(text, 60, 5, epoch)) found.insert({batch.begin(), batch.end()});
    return found;
  };
  const auto first = sets(0);
  EXPECT_GT(first.size(), 100u);
  for (const auto& batch : sets(1)) EXPECT_EQ(first.count(batch), 0u);
}

TEST(EpochBatches, GiveAnOversizedPairABatchOfItsOwn) {
  ParallelText text;
  for (const size_t length : {3, 50, 3, 3}) {
    text.source.add(Ids(length, 9));
    text.target.add(Ids(2, 9));
  }
  const Batches batches = epoch_batches(text, 20, 1, 0);
  EXPECT_EQ(sorted_pairs(batches), all_pairs(4));
  EXPECT_THAT(batches, ::testing::Contains(std::vector<size_t>{1}));
}

TEST(EpochBatches, OfNoTextAreNone) {
  EXPECT_THAT(epoch_batches({}, 100, 1, 0), IsEmpty());
}

TEST(CutIntoMicroBatches, CoversEachPairWithinTheLimit) {
  const ParallelText text = made_text(300, 7);
  for (const size_t rows : {1, 2, 7, 64, 300})
    for (const int64_t micro_batch_tokens : {1, 100, 1000, 100'000})
      for (const int64_t workers : {1, 2, 3, 8}) {
        std::vector<size_t> pairs = all_pairs(rows);
        const Batches micro_batches = cut_into_micro_batches(text, pairs, micro_batch_tokens, workers);
        EXPECT_EQ(sorted_pairs(micro_batches), pairs);
        EXPECT_TRUE(micro_batches.size() % static_cast<size_t>(workers) == 0 || micro_batches.size() == rows)
            << micro_batches.size() << " micro-batches of " << rows << " pairs for " << workers;
        for (const auto& micro_batch : micro_batches) {
          EXPECT_FALSE(micro_batch.empty());
          if (micro_batch.size() > 1) {
            EXPECT_LE(padded_tokens(text.source, micro_batch), micro_batch_tokens);
            EXPECT_LE(padded_tokens(text.target, micro_batch), micro_batch_tokens);
          }
        }
      }
}

TEST(CutIntoMicroBatches, MakesMicroBatchesOfTheSameSize) {
  const ParallelText text = made_text(300, 8);
  const Batches micro_batches = cut_into_micro_batches(text, all_pairs(100), 100'000, 3);
  ASSERT_THAT(micro_batches, SizeIs(3));
  for (const auto& micro_batch : micro_batches) EXPECT_NEAR(static_cast<double>(micro_batch.size()), 100.0 / 3, 1);
  EXPECT_THAT(cut_into_micro_batches(text, all_pairs(6), 100'000, 2),
              ElementsAre(ElementsAre(0, 2, 4), ElementsAre(1, 3, 5)))
      << "neighbors go to different micro-batches";
}

TEST(MakeBatch, FillsRowsWithPadding) {
  ParallelText text;
  text.source.add({10, 11});
  text.target.add({20, 21, 22});
  text.source.add({});
  text.target.add({99});
  text.source.add({12, 13, 14});
  text.target.add({23});
  const Batch batch = make_batch(text, {2, 0});
  EXPECT_TRUE(torch::equal(batch.source, torch::tensor({{12, 13, 14, 3}, {10, 11, 3, 0}})));
  EXPECT_TRUE(torch::equal(batch.target_in, torch::tensor({{2, 23, 0, 0}, {2, 20, 21, 22}})));
  EXPECT_TRUE(torch::equal(batch.target_out, torch::tensor({{23, 3, 0, 0}, {20, 21, 22, 3}})));
  EXPECT_EQ(batch.source_tokens, 7);
  EXPECT_EQ(batch.target_tokens, 6);
  EXPECT_EQ(batch.source.scalar_type(), torch::kLong);
  EXPECT_EQ(count_target_tokens(text, {2, 0}), 6);
  EXPECT_EQ(count_target_tokens(text, {2, 0, 1}), 8);
  const Batch empty_source = make_batch(text, {1});
  EXPECT_TRUE(torch::equal(empty_source.source, torch::tensor({{kEnd}})));
}

TEST(MakeBatch, SharesEachTargetPositionAmongItsLinks) {
  ParallelText text;
  text.source.add({10, 11});
  text.target.add({20, 21, 22});
  text.links.add({0, 1, 2, 0, 2, 1});
  text.source.add({12});
  text.target.add({23});
  text.links.add(Ids());
  const Batch batch = make_batch(text, {1, 0});
  ASSERT_EQ(batch.alignment.sizes(), (std::vector<int64_t>{2, 4, 3}));
  EXPECT_EQ(batch.alignment[0].abs().sum().item<double>(), 0);
  EXPECT_TRUE(
      torch::equal(batch.alignment[1],
                   torch::tensor({{0.0F, 1.0F, 0.0F}, {0.0F, 0.0F, 0.0F}, {0.5F, 0.5F, 0.0F}, {0.0F, 0.0F, 0.0F}})));
}

// Every token of every pair is found again in the tensors.
TEST(MakeBatch, HoldsEveryToken) {
  const ParallelText text = made_text(200, 9);
  for (const auto& pairs : epoch_batches(text, 400, 1, 0)) {
    const Batch batch = make_batch(text, pairs);
    int64_t real_targets = 0;
    for (size_t row = 0; row < pairs.size(); ++row) {
      const auto r = static_cast<int64_t>(row);
      Ids source = ids_at(text.source, pairs[row]);
      source.push_back(kEnd);
      Ids target_in = ids_at(text.target, pairs[row]);
      target_in.insert(target_in.begin(), special_ids::kBegin);
      Ids target_out = ids_at(text.target, pairs[row]);
      target_out.push_back(kEnd);
      real_targets += static_cast<int64_t>(target_out.size());
      source.resize(static_cast<size_t>(batch.source.size(1)), special_ids::kPad);
      target_in.resize(static_cast<size_t>(batch.target_in.size(1)), special_ids::kPad);
      target_out.resize(static_cast<size_t>(batch.target_out.size(1)), special_ids::kPad);
      EXPECT_TRUE(torch::equal(batch.source[r], torch::tensor(source)));
      EXPECT_TRUE(torch::equal(batch.target_in[r], torch::tensor(target_in)));
      EXPECT_TRUE(torch::equal(batch.target_out[r], torch::tensor(target_out)));
    }
    EXPECT_EQ(batch.target_tokens, real_targets);
  }
}

}  // namespace
}  // namespace transmute
