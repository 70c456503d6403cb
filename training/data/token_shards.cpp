// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/token_shards.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/json.h>

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

namespace {

constexpr const char* kIndexFile = "index.json";
constexpr int kFormatVersion = 1;
constexpr const char* kIndexChecksum = "checksum";
constexpr char kMagic[8] = {'t', 'm', '-', 't', 'o', 'k', 'e', 'n'};

// The last bytes of a shard, which is written from the beginning to the end.
struct Footer {
  uint64_t table_offset;
  uint64_t pairs;
  uint64_t key;
  uint32_t token_bytes;
  uint32_t version;
  char magic[8];
  uint64_t checksum;  // checksum of the table and of the preceding fields of the footer
};

uint64_t checksum_of(const Footer& footer, const void* table, size_t table_bytes) {
  return hash_bytes(&footer, offsetof(Footer, checksum), hash_bytes(table, table_bytes));
}

// The checksum of an index, computed without the checksum itself.
std::string checksum_of(const Json& index) {
  return fmt::format("{:016x}", hash_text(json_text(index)));
}

std::string shard_path(const std::string& folder, size_t number) {
  return path_in(folder, fmt::format("{:05d}.tokens", number));
}

template <class T>
void add_number(T number, std::vector<uint8_t>& bytes) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&number);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

void add_numbers(const std::vector<uint32_t>& numbers, int token_bytes, std::vector<uint8_t>& bytes) {
  for (const uint32_t number : numbers) {
    if (token_bytes == 2) {
      add_number(static_cast<uint16_t>(number), bytes);
    } else {
      add_number(number, bytes);
    }
  }
}

uint32_t number_at(const uint8_t* numbers, size_t i, int token_bytes) {
  // Blocks are aligned to the size of a number.
  return token_bytes == 2 ? reinterpret_cast<const uint16_t*>(numbers)[i]
                          : reinterpret_cast<const uint32_t*>(numbers)[i];
}

size_t lists_of_pair(bool has_links) {
  return has_links ? 3 : 2;
}

DamagedShards damaged(const std::string& path, const std::string& why) {
  return DamagedShards(fmt::format("{}: damaged ({})", path, why));
}

}  // namespace

// A file under its partial name, a buffer for the end of its content, and its table.
class ShardWriter::Shard {
 public:
  explicit Shard(const std::string& path) : file_(path) { table_.push_back({0, 0}); }

  void add_block(size_t pairs, const std::vector<uint32_t>& lengths, const std::vector<uint32_t>& tokens,
                 int token_bytes) {
    const size_t begin = buffer_.size();
    add_numbers(lengths, token_bytes, buffer_);
    add_numbers(tokens, token_bytes, buffer_);
    table_.back().checksum = hash_bytes(buffer_.data() + begin, buffer_.size() - begin);
    table_.push_back({written_ + buffer_.size(), 0});
    pairs_ += pairs;
    if (buffer_.size() > kBufferBytes) flush();
  }

  void commit(const ShardOptions& options) {
    flush();
    const size_t table_bytes = table_.size() * sizeof(table_[0]);
    Footer footer{written_, pairs_, options.key, static_cast<uint32_t>(options.token_bytes), kFormatVersion, {}, 0};
    std::copy(std::begin(kMagic), std::end(kMagic), footer.magic);
    footer.checksum = checksum_of(footer, table_.data(), table_bytes);
    file_.write(table_.data(), table_bytes);
    file_.write(&footer, sizeof(footer));
    file_.commit();
  }

 private:
  static constexpr size_t kBufferBytes = 1 << 20;

  void flush() {
    file_.write(buffer_.data(), buffer_.size());
    written_ += buffer_.size();
    buffer_.clear();
  }

  AtomicFile file_;
  std::vector<uint8_t> buffer_;
  uint64_t written_ = 0;
  std::vector<TokenShards::BlockPlace> table_;
  size_t pairs_ = 0;
};

ShardWriter::ShardWriter(std::string folder, const ShardOptions& options)
    : folder_(std::move(folder)), options_(options) {}

ShardWriter::~ShardWriter() = default;

void ShardWriter::add(const TokenizedPair& pair) {
  if (!shard_) shard_ = std::make_unique<Shard>(shard_path(folder_, shards_++));
  std::vector<const Ids*> lists{&pair.source, &pair.target};
  if (options_.has_links) lists.push_back(&pair.links);
  for (const Ids* list : lists) {
    lengths_.push_back(static_cast<uint32_t>(list->size()));
    for (const int64_t number : *list) tokens_.push_back(static_cast<uint32_t>(number));
  }
  counts_.source_tokens += static_cast<int64_t>(pair.source.size());
  counts_.target_tokens += static_cast<int64_t>(pair.target.size());
  counts_.unknown_source += std::count(pair.source.begin(), pair.source.end(), special_ids::kUnknown);
  counts_.unknown_target += std::count(pair.target.begin(), pair.target.end(), special_ids::kUnknown);
  ++pairs_;
  if (pairs_ % kBlockPairs == 0) end_block();
  if (pairs_ % options_.pairs_per_shard == 0) end_shard();
}

void ShardWriter::end_block() {
  if (lengths_.empty()) return;
  // All lengths of one side come first, then all of the other, so that each side is read at once.
  const size_t lists = lists_of_pair(options_.has_links);
  std::vector<uint32_t> lengths;
  for (size_t list = 0; list < lists; ++list)
    for (size_t i = list; i < lengths_.size(); i += lists) lengths.push_back(lengths_[i]);
  shard_->add_block(lengths_.size() / lists, lengths, tokens_, options_.token_bytes);
  lengths_.clear();
  tokens_.clear();
}

void ShardWriter::end_shard() {
  end_block();
  if (shard_) shard_->commit(options_);
  shard_.reset();
}

void ShardWriter::finish(const LeftOut& left_out) {
  end_shard();
  Json index{{"version", kFormatVersion},
             {"key", fmt::format("{:016x}", options_.key)},
             {"pairs", pairs_},
             {"pairs_per_shard", options_.pairs_per_shard},
             {"token_bytes", options_.token_bytes},
             {"has_links", options_.has_links},
             {"source_tokens", counts_.source_tokens},
             {"target_tokens", counts_.target_tokens},
             {"unknown_source", counts_.unknown_source},
             {"unknown_target", counts_.unknown_target},
             {"left_out",
              {{"empty", left_out.empty},
               {"long_source", left_out.long_source},
               {"long_target", left_out.long_target},
               {"unequal", left_out.unequal}}}};
  index[kIndexChecksum] = checksum_of(index);
  write_file_atomically(path_in(folder_, kIndexFile), json_text(index, 2) + "\n");
}

TokenShards::TokenShards(const std::string& folder, uint64_t key) : folder_(folder), key_(key) {
  const std::string path = path_in(folder, kIndexFile);
  if (!std::filesystem::is_regular_file(path)) throw damaged(path, "missing, or no file");
  size_t pairs_per_shard = 0;
  try {
    Json index = parse_json(read_file(path));
    if (index.at("version") != kFormatVersion) throw damaged(path, "of another version");
    if (index.at("key") != fmt::format("{:016x}", key)) throw damaged(path, "made from something else");
    const Json checksum = index.at(kIndexChecksum);
    index.erase(kIndexChecksum);
    if (checksum != checksum_of(index)) throw damaged(path, "its checksum is wrong");
    pairs_ = index.at("pairs");
    pairs_per_shard = index.at("pairs_per_shard");
    token_bytes_ = index.at("token_bytes");
    has_links_ = index.at("has_links");
    counts_.source_tokens = index.at("source_tokens");
    counts_.target_tokens = index.at("target_tokens");
    counts_.unknown_source = index.at("unknown_source");
    counts_.unknown_target = index.at("unknown_target");
    const Json& left_out = index.at("left_out");
    counts_.left_out = {left_out.at("empty"), left_out.at("long_source"), left_out.at("long_target"),
                        left_out.at("unequal")};
  } catch (const Json::exception& error) {
    throw damaged(path, error.what());
  } catch (const JsonLimitError& error) {
    throw damaged(path, error.what());
  }
  if (pairs_per_shard == 0 || pairs_per_shard % kBlockPairs != 0 || (token_bytes_ != 2 && token_bytes_ != 4))
    throw damaged(path, "of impossible values");
  blocks_per_shard_ = pairs_per_shard / kBlockPairs;
  for (size_t begin = 0; begin < pairs_; begin += pairs_per_shard)
    shards_.push_back(open_shard(shard_path(folder, shards_.size()), key, std::min(pairs_per_shard, pairs_ - begin)));
}

TokenShards::Shard TokenShards::open_shard(const std::string& path, uint64_t key, size_t pairs) const {
  if (!std::filesystem::is_regular_file(path)) throw damaged(path, "missing, or no file");
  Shard shard{path, std::make_unique<InputFile>(path), pairs};
  const size_t blocks = (pairs + kBlockPairs - 1) / kBlockPairs;
  const size_t table_bytes = (blocks + 1) * sizeof(BlockPlace);
  const uint64_t bytes = shard.file->size();
  if (bytes < table_bytes + sizeof(Footer)) throw damaged(path, "cut off");
  const uint64_t table_offset = bytes - sizeof(Footer) - table_bytes;
  Footer footer;
  shard.table.resize(blocks + 1);
  if (shard.file->read(bytes - sizeof(Footer), &footer, sizeof(Footer)) < sizeof(Footer) ||
      shard.file->read(table_offset, shard.table.data(), table_bytes) < table_bytes)
    throw damaged(path, "cut off");
  if (!std::equal(std::begin(kMagic), std::end(kMagic), footer.magic) || footer.table_offset != table_offset ||
      footer.pairs != pairs || static_cast<int>(footer.token_bytes) != token_bytes_)
    throw damaged(path, "cut off, or other than its index says");
  if (footer.version != kFormatVersion) throw damaged(path, "of another version");
  if (footer.key != key) throw damaged(path, "made from something else");
  if (footer.checksum != checksum_of(footer, shard.table.data(), table_bytes))
    throw damaged(path, "its checksum is wrong");
  const auto goes_back = [](const BlockPlace& a, const BlockPlace& b) { return b.offset < a.offset; };
  if (std::adjacent_find(shard.table.begin(), shard.table.end(), goes_back) != shard.table.end() ||
      shard.table.back().offset > table_offset)
    throw damaged(path, "its blocks are not in order");
  return shard;
}

void TokenShards::read_block(size_t block, PairBlock& read) const {
  const Shard& shard = shards_.at(block / blocks_per_shard_);
  const size_t in_shard = block % blocks_per_shard_;
  const BlockPlace& place = shard.table[in_shard];
  read.bytes.resize(shard.table[in_shard + 1].offset - place.offset);
  const size_t found = shard.file->read(place.offset, read.bytes.data(), read.bytes.size());
  const auto damaged_block = [&](const char* what) {
    return damaged(shard.path, fmt::format("block {} of it {}; remove the folder {}, which is made again from the text",
                                           in_shard, what, folder_));
  };
  if (found < read.bytes.size()) throw damaged_block("has been cut off");
  if (hash_bytes(read.bytes.data(), read.bytes.size()) != place.checksum)
    throw damaged_block("is not what was written");
  read.pairs = pairs_of(read.bytes, std::min(kBlockPairs, shard.pairs - in_shard * kBlockPairs));
  if (read.pairs.empty()) throw damaged_block("has other lengths or links than its index says");
}

// Returns nothing if the lengths do not add up to the bytes, or if a link points outside of its pair.
std::vector<StoredPair> TokenShards::pairs_of(const std::vector<uint8_t>& bytes, size_t count) const {
  const auto width = static_cast<size_t>(token_bytes_);
  uint64_t numbers = lists_of_pair(has_links_) * count;  // lengths are below 2^32, and few: no sum overflows
  if (numbers > bytes.size() / width) return {};
  const uint8_t* tokens = bytes.data() + numbers * width;
  std::vector<StoredPair> pairs;
  for (size_t i = 0; i < count; ++i) {
    StoredPair pair;
    pair.source_length = number_at(bytes.data(), i, token_bytes_);
    pair.target_length = number_at(bytes.data(), count + i, token_bytes_);
    if (has_links_) pair.links_length = number_at(bytes.data(), 2 * count + i, token_bytes_);
    numbers += uint64_t{pair.source_length} + pair.target_length + pair.links_length;
    if (numbers > bytes.size() / width || pair.links_length % 2 != 0) return {};
    pair.source = tokens;
    pair.target = pair.source + pair.source_length * width;
    pair.links = pair.target + pair.target_length * width;
    tokens = pair.links + pair.links_length * width;
    for (size_t link = 0; link < pair.links_length; link += 2)
      if (number_at(pair.links, link, token_bytes_) >= pair.target_length ||
          number_at(pair.links, link + 1, token_bytes_) >= pair.source_length)
        return {};
    pairs.push_back(pair);
  }
  return numbers * width == bytes.size() ? pairs : std::vector<StoredPair>{};
}

void TokenShards::will_need(size_t block) const {
  const Shard& shard = shards_.at(block / blocks_per_shard_);
  const size_t in_shard = block % blocks_per_shard_;
  const uint64_t begin = shard.table[in_shard].offset;
  ::posix_fadvise(shard.file->descriptor(), static_cast<off_t>(begin),
                  static_cast<off_t>(shard.table[in_shard + 1].offset - begin), POSIX_FADV_WILLNEED);
}

void TokenShards::copy(const StoredPair& pair, ParallelText& text) const {
  const auto add = [&](const uint8_t* tokens, uint32_t length, TokenLists& lists) {
    if (token_bytes_ == 2) {
      lists.add(reinterpret_cast<const uint16_t*>(tokens), length);
    } else {
      lists.add(reinterpret_cast<const uint32_t*>(tokens), length);
    }
  };
  add(pair.source, pair.source_length, text.source);
  add(pair.target, pair.target_length, text.target);
  if (has_links_) add(pair.links, pair.links_length, text.links);
}

}  // namespace v0
}  // namespace transmute
