// SPDX-License-Identifier: Apache-2.0
// The cache of tokenized text: index, table and block with checksums that fit, and what they say.
#include <transmute/common/hash.h>
#include <transmute/fuzz/fuzz.h>
#include <transmute/training/data/token_shards.h>

#include <optional>

using namespace transmute;

namespace {

constexpr uint64_t kKey = 77;

template <class T>
void add(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const std::string& folder = fuzz::scratch_folder();
  const uint8_t choice = input.byte();
  ShardOptions options;
  options.key = kKey;
  options.token_bytes = (choice & 1) != 0 ? 2 : 4;
  options.has_links = (choice & 2) != 0;
  options.pairs_per_shard = kBlockPairs;
  const uint64_t pairs = 1 + input.byte() % kBlockPairs;
  ShardWriter writer(folder, options);
  for (uint64_t i = 0; i < pairs; ++i) writer.add({});
  writer.finish({});  // its index stays, its shard is replaced
  const uint64_t begin = input.byte() % 8;
  std::string shard = input.rest();
  const std::string block = shard.size() < begin ? "" : shard.substr(begin);
  const uint64_t end = (choice & 4) != 0 ? shard.size() + 8 : shard.size();  // after the table's begin
  const uint64_t table_offset = shard.size();
  std::string table;
  for (const uint64_t number : {begin, hash_bytes(block.data(), block.size()), end, uint64_t{0}}) add(table, number);
  std::string footer;
  for (const uint64_t number : {table_offset, pairs, kKey}) add(footer, number);
  add(footer, static_cast<uint32_t>(options.token_bytes));
  add(footer, uint32_t{1});
  footer += "tm-token";
  add(footer, hash_bytes(footer.data(), footer.size(), hash_bytes(table.data(), table.size())));
  fuzz::write_bytes(folder + "/00000.tokens", shard + table + footer);
  std::optional<TokenShards> shards;
  fuzz::may_refuse([&] { shards.emplace(folder, kKey); });
  fuzz::require(shards.has_value() == (begin <= end && end <= table_offset));
  if (!shards) return 0;
  fuzz::may_refuse([&] {
    PairBlock read;
    shards->read_block(0, read);
    fuzz::require(read.pairs.size() == pairs);
    ParallelText text;
    for (const StoredPair& pair : read.pairs) shards->copy(pair, text);
  });
  return 0;
}
