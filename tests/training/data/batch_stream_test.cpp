// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/hash.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/corpora.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/data/batch_stream.h>

#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::LargeText;
namespace fs = std::filesystem;
using testing::flip;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kKey;
using testing::made_shards;
using testing::message_of;
using testing::number_of;
using testing::pair_at;
using testing::TemporaryFolder;

// The content of a batch, as one number.
uint64_t hash_of(const PreparedBatch& batch) {
  uint64_t hash = combine_keys(static_cast<uint64_t>(batch.source_tokens), batch.target_tokens, batch.next.epoch,
                               batch.next.window, batch.next.batch);
  for (const auto& micro_batch : batch.micro_batches)
    for (const auto& tensor : {micro_batch.source, micro_batch.target_in, micro_batch.target_out})
      hash = hash_bytes(tensor.data_ptr<int64_t>(), static_cast<size_t>(tensor.numel()) * sizeof(int64_t), hash);
  return hash;
}

BatchStreamOptions stream_options(int64_t threads) {
  BatchStreamOptions options;
  options.batch_tokens = 20'000;
  options.micro_batch_tokens = 3000;
  options.workers = 2;
  options.prefetch_threads = threads;
  return options;
}

// Batches of two epochs and a little more.
std::vector<PreparedBatch> read_batches(BatchStream& stream) {
  std::vector<PreparedBatch> batches;
  do {
    batches.push_back(stream.next());
  } while (batches.back().next.epoch < 2 || batches.back().next.batch < 3);
  return batches;
}

class BatchesOfALargeText : public LargeText {};

TEST_F(BatchesOfALargeText, AreTheSameWithAnyNumberOfThreads) {
  std::vector<uint64_t> expected;
  for (const int64_t threads : {0, 1, 4}) {
    BatchStream stream(text_, stream_options(threads), {});
    std::vector<uint64_t> found;
    for (const auto& batch : read_batches(stream)) found.push_back(hash_of(batch));
    EXPECT_GT(found.size(), 100u);
    if (expected.empty()) expected = found;
    EXPECT_EQ(found, expected) << threads << " threads";
  }
}

TEST_F(BatchesOfALargeText, GoOnFromACursor) {
  BatchStream whole(text_, stream_options(1), {});
  const auto batches = read_batches(whole);
  const auto per_window = batches.size() / 4;
  for (const size_t done : {size_t{1}, per_window - 1, per_window + 3, 2 * per_window + 5, batches.size() - 3}) {
    BatchStream rest(text_, stream_options(2), batches[done - 1].next);
    for (size_t i = done; i < std::min(done + 3, batches.size()); ++i)
      EXPECT_EQ(hash_of(rest.next()), hash_of(batches[i])) << "batch " << i << " after " << done;
  }
  double last = 0;
  for (const auto& batch : batches) {
    EXPECT_GE(batch.epoch_done, batch.next.window == 0 && batch.next.batch == 0 ? 0 : last);
    EXPECT_LT(batch.epoch_done, 1);
    last = batch.epoch_done;
  }
}

TEST_F(BatchesOfALargeText, AreDealtOutToRanks) {
  constexpr int64_t kRanks = 3;
  BatchStream alone(text_, stream_options(1), {});
  std::vector<std::unique_ptr<BatchStream>> streams;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    BatchStreamOptions options = stream_options(rank);
    options.rank = rank;
    options.ranks = kRanks;
    streams.push_back(std::make_unique<BatchStream>(text_, options, BatchCursor{}));
  }
  for (int64_t i = 0; i < 100; ++i) {
    const PreparedBatch expected = alone.next();
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      const PreparedBatch found = streams[static_cast<size_t>(rank)]->next();
      EXPECT_EQ(found.target_tokens, expected.target_tokens);
      EXPECT_EQ(found.source_tokens, expected.source_tokens);
      EXPECT_EQ(found.next.batch, expected.next.batch);
      if (i % kRanks == rank) {
        EXPECT_EQ(hash_of(found), hash_of(expected));
      } else {
        EXPECT_THAT(found.micro_batches, IsEmpty());
      }
    }
  }
}

TEST_F(BatchesOfALargeText, HandOnWhatGoesWrongInAThread) {
  const TemporaryFolder copy;
  fs::copy(*folder_ / "text", copy / "text");
  // In a block of the second window.
  const std::string shard = copy / "text/00001.tokens";
  const TrainingText text = text_in(copy / "text");
  const Epoch::Window first = Epoch(text, 20'000, 1, 0).window(0);
  std::set<size_t> of_first;
  for (size_t i = 0; i < first.text.size(); ++i) of_first.insert(number_of(pair_at(first.text, i)));
  size_t block = (1 << 17) / kBlockPairs;
  while (of_first.count(block * kBlockPairs) > 0) ++block;
  PairBlock read;
  const TokenShards shards(copy / "text", kKey);
  size_t place = 0;
  for (size_t before = (1 << 17) / kBlockPairs; before < block; ++before, place += read.bytes.size())
    shards.read_block(before, read);
  flip(shard, place + 2 * kBlockPairs * sizeof(uint16_t));
  const TrainingText damaged = text_in(copy / "text");
  for (const int64_t threads : {0, 1, 4}) {
    BatchStream stream(damaged, stream_options(threads), {});
    for (size_t i = 0; i < first.batches.size(); ++i) ASSERT_NO_THROW(stream.next()) << i;
    EXPECT_THAT(message_of<DamagedShards>([&] { stream.next(); }), HasSubstr(shard)) << threads << " threads";
    EXPECT_THROW(stream.next(), DamagedShards);
  }
}

TEST_F(BatchesOfALargeText, RefuseACursorBehindTheEnd) {
  EXPECT_THROW(BatchStream(text_, stream_options(1), {0, 0, 100'000}), std::runtime_error);
  EXPECT_THROW(BatchStream(text_, stream_options(1), {0, 2, 1}), std::runtime_error);
  BatchStream next_epoch(text_, stream_options(1), {0, 2, 0});  // where all windows are done
  EXPECT_EQ(next_epoch.next().next.epoch, 1);
}

TEST(BatchStream, SaysWhereNothingIsDrawn) {
  const TemporaryFolder folder;
  const TrainingText text({{made_shards(folder / "a", 1), 1e-9}});
  EXPECT_THAT(message_of<std::runtime_error>([&] { BatchStream(text, stream_options(1), {}); }), HasSubstr("weights"));
}

}  // namespace
}  // namespace transmute
