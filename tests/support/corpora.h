// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/token_lists.h>
#include <transmute/training/data/training_text.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {

namespace fs = std::filesystem;

using Pair = std::pair<Ids, Ids>;

inline constexpr uint64_t kKey = 77;

inline Pair pair_at(const ParallelText& text, size_t i) {
  return {ids_at(text.source, i), ids_at(text.target, i)};
}

// A few tokens each, from which number_of() recovers i.
inline Pair made_pair(size_t i) {
  const auto low = static_cast<int64_t>(i % 60'000), high = static_cast<int64_t>(i / 60'000);
  Pair pair{{low, high}, {high, low}};
  pair.first.resize(2 + i % 5, 9);
  pair.second.resize(2 + mix_bits(i) % 7, 9);
  return pair;
}

inline size_t number_of(const Pair& pair) {
  return static_cast<size_t>(pair.first[0] + 60'000 * pair.first[1]);
}

// Writes pairs made by made_pair() into a new `folder`.
inline std::shared_ptr<const TokenShards> made_shards(const std::string& folder, size_t pairs,
                                                      ShardOptions options = {}) {
  fs::create_directories(folder);
  options.key = kKey;
  ShardWriter writer(folder, options);
  for (size_t i = 0; i < pairs; ++i) writer.add({made_pair(i).first, made_pair(i).second, {}});
  writer.finish({1, 2, 3});
  return std::make_shared<TokenShards>(folder, kKey);
}

inline std::vector<Pair> all_pairs_of(const TokenShards& shards) {
  PairBlock read;
  ParallelText text;
  for (size_t block = 0; block < shards.blocks(); ++block) {
    shards.read_block(block, read);
    for (const auto& pair : read.pairs) shards.copy(pair, text);
  }
  std::vector<Pair> pairs;
  for (size_t i = 0; i < text.size(); ++i) pairs.push_back(pair_at(text, i));
  return pairs;
}

/// Flips one bit of a file.
inline void flip(const std::string& path, size_t place) {
  std::string bytes = read_text(path);
  bytes.at(place) = static_cast<char>(bytes[place] ^ 1);
  write_text(path, bytes);
}

class LargeText : public ::testing::Test {
 protected:
  static constexpr size_t kPairs = 300'001;
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ShardOptions options;
    options.pairs_per_shard = 1 << 17;
    options.token_bytes = 2;
    made_shards(*folder_ / "text", kPairs, options);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static TrainingText text_in(const std::string& folder) {
    return TrainingText({{std::make_shared<TokenShards>(folder, kKey)}});
  }

  inline static std::unique_ptr<TemporaryFolder> folder_;
  const TrainingText text_ = text_in(*folder_ / "text");
};

}  // namespace transmute::testing
