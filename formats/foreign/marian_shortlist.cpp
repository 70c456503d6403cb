// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/marian_shortlist.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/foreign/file_cursor.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr const char* kShortlistKind = "binary shortlist of Marian";
constexpr uint64_t kShortlistBegin = 0xF11A48D5013417F5;

// The lists of all source tokens, one after the other, in the model's own numbers.
struct ShortlistFile {
  uint64_t frequent = 0;          // tokens from the start of the vocabulary that are on every list
  std::vector<uint64_t> offsets;  // where the list of each source token begins, and the end
  std::vector<uint64_t> tokens;
};

// The bytes after the checksum are hashed in words of 8 bytes; a rest of 4 is not.
class ShortlistHash {
 public:
  void add(uint64_t value, size_t bytes) {
    word_ |= value << (8 * filled_);
    filled_ += bytes;
    if (filled_ < sizeof word_) return;
    hash_ ^= word_ + 0x9e3779b9 + (hash_ << 6) + (hash_ >> 2);
    word_ = filled_ = 0;
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0, word_ = 0;
  size_t filled_ = 0;
};

ShortlistFile read_shortlist_file(const std::string& path) {
  FileCursor cursor(path, kShortlistKind);
  ShortlistHash hash;
  const auto number = [&](size_t bytes) {
    const uint64_t value = cursor.number(bytes);
    hash.add(value, bytes);
    return value;
  };
  if (cursor.number(8) != kShortlistBegin) cursor.damaged("it begins otherwise");
  const uint64_t checksum = cursor.number(8);
  ShortlistFile file;
  file.frequent = number(8);
  number(8);  // the most tokens of a list
  const uint64_t offsets = number(8), tokens = number(8);
  if (offsets > cursor.bytes_left() / 8 || tokens > cursor.bytes_left() / 4 ||
      8 * offsets + 4 * tokens != cursor.bytes_left())
    cursor.damaged(fmt::format("{} offsets and {} tokens do not make {} bytes", offsets, tokens, cursor.bytes_left()));
  for (uint64_t i = 0; i < offsets; ++i) file.offsets.push_back(number(8));
  for (uint64_t i = 0; i < tokens; ++i) file.tokens.push_back(number(4));
  if (hash.value() != checksum) cursor.damaged("its checksum does not match its content");
  if (!std::is_sorted(file.offsets.begin(), file.offsets.end()) || offsets == 0 || file.offsets.back() != tokens)
    cursor.damaged("its offsets are impossible");
  return file;
}

// Our id of each number.
std::vector<int64_t> ids_by_number(const Renumbering& order) {
  std::vector<int64_t> ids;
  for (size_t id = 0; id < order.numbers.size(); ++id) {
    const auto number = static_cast<size_t>(order.numbers[id]);
    if (order.numbers[id] == kNoPiece) continue;
    if (ids.size() <= number) ids.resize(number + 1, kNoPiece);
    ids[number] = static_cast<int64_t>(id);
  }
  return ids;
}

}  // namespace

std::shared_ptr<const Shortlist> read_marian_shortlist(const std::string& path, const Renumbering& source,
                                                       const Renumbering& target, bool is_shared) {
  const ShortlistFile file = read_shortlist_file(path);
  const std::vector<int64_t> sources = ids_by_number(source), targets = ids_by_number(target);
  const bool is_of_model =
      file.offsets.size() == sources.size() + 1 &&
      std::all_of(file.tokens.begin(), file.tokens.end(), [&](uint64_t token) { return token < targets.size(); });
  if (!is_of_model)
    throw std::runtime_error(
        fmt::format("{}: has lists for {} tokens, but the model's vocabularies have {} and {}; the "
                    "two do not belong together, restore both from one source",
                    path, file.offsets.size() - 1, sources.size(), targets.size()));
  std::vector<Ids> lists(source.numbers.size());
  for (size_t id = 0; id < lists.size(); ++id) {
    if (source.numbers[id] == kNoPiece) continue;
    const auto number = static_cast<size_t>(source.numbers[id]);
    for (uint64_t i = file.offsets[number]; i < file.offsets[number + 1]; ++i)
      lists[id].push_back(targets[file.tokens[i]]);
    if (is_shared) lists[id].push_back(static_cast<int64_t>(id));
  }
  Ids always = lists[special_ids::kEnd];  // every source ends so
  for (uint64_t number = 0; number < std::min<uint64_t>(file.frequent, targets.size()); ++number)
    always.push_back(targets[number]);
  return std::make_shared<Shortlist>(ShortlistTable(lists, always));
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
