// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>
#include <transmute/training/data/parallel_text.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Tokenized parallel text in a folder, read block by block: it need not fit into memory.
///
///     index.json           counts, and how the shards are divided
///     00000.tokens …       shards of equally many pairs, the last one excepted
///
/// A shard is blocks of kBlockPairs pairs (lengths, then tokens and links, each number in 2 or 4 bytes), a table of the
/// blocks' places and checksums, and a footer. Numbers are in the machine's byte order. Index, footer and table are
/// checked when a shard is opened, a block and every length and link in it whenever it is read.
constexpr size_t kBlockPairs = 64;

/// Thrown if the files differ from what was written. They can be made again from the text.
struct DamagedShards : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct TextCounts {
  int64_t source_tokens = 0;  ///< without ends
  int64_t target_tokens = 0;
  LeftOut left_out{};
  int64_t unknown_source = 0;  ///< unknown tokens
  int64_t unknown_target = 0;
};

struct ShardOptions {
  uint64_t key = 0;                          ///< key of the content; a reader asks for the same one
  int token_bytes = 4;                       ///< bytes per number: 2 if all ids and lengths are below 65,536
  bool has_links = false;                    ///< pairs come with ParallelText::links
  size_t pairs_per_shard = size_t{1} << 20;  ///< a multiple of kBlockPairs
};

/// Writes a folder of shards, pair by pair; a few blocks are in memory.
class ShardWriter {
 public:
  ShardWriter(std::string folder, const ShardOptions& options);
  ~ShardWriter();

  /// @throws std::runtime_error naming the file that cannot be written, a full disk among the causes.
  void add(const TokenizedPair& pair);
  size_t pairs() const { return pairs_; }
  /// The last thing to be called; without it the folder is not complete.
  void finish(const LeftOut& left_out);

 private:
  class Shard;
  void end_block();
  void end_shard();

  std::string folder_;
  ShardOptions options_;
  TextCounts counts_;
  size_t pairs_ = 0;
  size_t shards_ = 0;
  std::vector<uint32_t> lengths_, tokens_;  // of the current block
  std::unique_ptr<Shard> shard_;
};

/// A pair's tokens in a block.
struct StoredPair {
  const uint8_t* source = nullptr;
  const uint8_t* target = nullptr;
  const uint8_t* links = nullptr;
  uint32_t source_length = 0;  ///< tokens
  uint32_t target_length = 0;
  uint32_t links_length = 0;  ///< numbers
};

/// Some pairs that are read together.
struct PairBlock {
  std::vector<uint8_t> bytes;     ///< what the pairs point to
  std::vector<StoredPair> pairs;  ///< at most kBlockPairs
};

/// The text in a folder of shards. Safe to use from many threads at once.
class TokenShards {
 public:
  /// @throws DamagedShards naming the file if something is missing, cut off, or made from something else.
  TokenShards(const std::string& folder, uint64_t key);

  uint64_t key() const { return key_; }
  size_t size() const { return pairs_; }
  size_t blocks() const { return (pairs_ + kBlockPairs - 1) / kBlockPairs; }
  const TextCounts& counts() const { return counts_; }
  bool has_links() const { return has_links_; }

  /// Reads a block and replaces the content of `read`.
  /// @throws DamagedShards naming the file if the block is damaged or missing.
  void read_block(size_t block, PairBlock& read) const;
  /// Starts to read it in the background.
  void will_need(size_t block) const;

  /// Appends one pair's tokens to `text`.
  void copy(const StoredPair& pair, ParallelText& text) const;

 private:
  struct BlockPlace {
    uint64_t offset;
    uint64_t checksum;
  };
  struct Shard {
    std::string path;
    std::unique_ptr<InputFile> file;
    size_t pairs = 0;
    std::vector<BlockPlace> table{};  // has one entry more than there are blocks: the end of the last one
  };
  friend class ShardWriter;
  Shard open_shard(const std::string& path, uint64_t key, size_t pairs) const;
  std::vector<StoredPair> pairs_of(const std::vector<uint8_t>& bytes, size_t count) const;

  std::string folder_;
  uint64_t key_ = 0;
  size_t pairs_ = 0;
  size_t blocks_per_shard_ = 0;
  int token_bytes_ = 0;
  bool has_links_ = false;
  TextCounts counts_;
  std::vector<Shard> shards_;
};

}  // namespace v0
}  // namespace transmute
