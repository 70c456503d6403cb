// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/packed_file.h>

#include <libdeflate.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/hash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr uint16_t kSizesFollow = 8;  // in a descriptor after the data
constexpr size_t kNameAt = 46;        // in an entry of the directory
constexpr uint16_t kZip64Extra = 1;

void put(std::string& bytes, size_t at, uint64_t value, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

size_t number_in(const std::string& bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]) | (size_t{static_cast<unsigned char>(bytes[at + 1])} << 8U);
}

std::string inflated(const char* packed, const ZipRecord& record) {
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> unpacker(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (!unpacker) throw std::bad_alloc();
  std::string content(record.size, '\0');
  size_t size = 0;
  const auto result =
      libdeflate_deflate_decompress(unpacker.get(), packed, record.packed, content.data(), content.size(), &size);
  content.resize(result == LIBDEFLATE_SUCCESS ? size : 0);
  return content;
}

std::string deflated(const std::string& content) {
  constexpr int kLevel = 6;
  const std::unique_ptr<libdeflate_compressor, void (*)(libdeflate_compressor*)> packer(
      libdeflate_alloc_compressor(kLevel), libdeflate_free_compressor);
  if (!packer) throw std::bad_alloc();
  std::string packed(libdeflate_deflate_compress_bound(packer.get(), content.size()), '\0');
  packed.resize(
      libdeflate_deflate_compress(packer.get(), content.data(), content.size(), packed.data(), packed.size()));
  return packed;
}

// An entry of the directory without the 64-bit sizes that it may have, which a small archive does not need.
std::string without_zip64(std::string entry) {
  size_t at = kNameAt + number_in(entry, 28);
  size_t extra = number_in(entry, 30);
  for (size_t end = at + extra; at + 4 <= end;) {
    const size_t field = std::min(4 + number_in(entry, at + 2), end - at);
    if (number_in(entry, at) == kZip64Extra) {
      entry.erase(at, field);
      end -= field;
      extra -= field;
    } else {
      at += field;
    }
  }
  put(entry, 30, extra, 2);
  return entry;
}

// The two descriptions that an archive has of a record: before its data, and in the directory.
struct PackedRecord {
  std::string local, entry;
};

// Writes a record with new content, packed as before. Its local header has no extra fields.
PackedRecord packed_anew(const ZipRecord& record, const std::string& content) {
  const std::string packed = record.is_deflated() ? deflated(content) : content;
  const uint32_t crc = crc32(0, content.data(), content.size());
  const auto flags = static_cast<uint16_t>(record.flags & ~kSizesFollow);
  PackedRecord result{std::string(30, '\0'), without_zip64(record.directory_fields)};
  put(result.local, 0, 0x04034b50, 4);
  result.local.replace(4, 10, record.directory_fields, 6, 10);  // version, flags, method, time and date
  put(result.local, 6, flags, 2);
  put(result.entry, 8, flags, 2);
  for (const auto& [number, local, entry] :
       {std::array<uint64_t, 3>{crc, 14, 16}, {packed.size(), 18, 20}, {content.size(), 22, 24}}) {
    put(result.local, local, number, 4);
    put(result.entry, entry, number, 4);
  }
  put(result.local, 26, record.name.size(), 2);
  result.local += record.name + packed;
  return result;
}

}  // namespace

PackedFile::PackedFile(std::string name, std::string content) : name_(std::move(name)), content_(std::move(content)) {
  if (content_.compare(0, 4, "\xD0\xCF\x11\xE0") == 0)
    throw std::runtime_error(name_ +
                             ": is encrypted, or in the format of Office 97; save it without a password in the current "
                             "format (.docx, .xlsx, .pptx)");
  ZipDirectory directory = read_zip_directory(bytes());
  if (directory.records.size() > std::numeric_limits<uint16_t>::max())
    throw std::runtime_error(name_ + ": has more than 65,535 members; divide the file");
  directory_offset_ = directory.offset;
  std::vector<size_t> by_place(directory.records.size());
  std::iota(by_place.begin(), by_place.end(), size_t{0});
  std::stable_sort(by_place.begin(), by_place.end(), [&](size_t one, size_t other) {
    return directory.records[one].header < directory.records[other].header;
  });
  directory_order_.resize(by_place.size());
  for (const size_t number : by_place) {
    ZipRecord& record = directory.records[number];
    if (record.is_encrypted()) throw std::runtime_error(name_ + ": is encrypted; save it without a password");
    if (record.header >= directory_offset_)
      damaged_archive(name_, fmt::format("'{}' is not where it should be", record.name));
    directory_order_[number] = members_.size();
    members_.push_back(std::move(record));
  }
}

ZipBytes PackedFile::bytes() const {
  return {name_, content_.size(), [this](uint64_t offset, void* to, size_t count) {
            const size_t there =
                std::min<uint64_t>(count, content_.size() - std::min<uint64_t>(offset, content_.size()));
            if (there > 0) std::memcpy(to, content_.data() + offset, there);
            return there;
          }};
}

std::optional<size_t> PackedFile::find(const std::string& name) const {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const ZipRecord& record) { return record.name == name; });
  if (found == members_.end()) return std::nullopt;
  return static_cast<size_t>(found - members_.begin());
}

std::string PackedFile::read(size_t member) const {
  const ZipRecord& record = members_[member];
  const uint64_t begin = zip_data_begin(bytes(), record);
  if (!record.is_stored() && !record.is_deflated())
    throw std::runtime_error(
        fmt::format("{}: '{}' is packed by method {}; only deflate is read", name_, record.name, record.method));
  // Deflate makes a file at most 1,032 times as large.
  constexpr uint64_t kMostExpansion = 1032;
  if (record.size / kMostExpansion > record.packed)
    damaged_archive(name_, fmt::format("'{}' has a wrong size", record.name));
  std::string content =
      record.is_stored() ? content_.substr(begin, record.size) : inflated(content_.data() + begin, record);
  if (content.size() != record.size || crc32(0, content.data(), content.size()) != record.crc)
    damaged_archive(name_, fmt::format("'{}' does not match its checksum", record.name));
  return content;
}

void PackedFile::write(const ContentOf& content_of, const ByteSink& sink) const {
  const std::string_view archive = content_;
  std::vector<std::string> entries;
  uint64_t offset = members_.empty() ? directory_offset_ : members_.front().header;
  bool is_changed = false;
  sink(archive.substr(0, offset));
  for (size_t i = 0; i < members_.size(); ++i) {
    const ZipRecord& record = members_[i];
    const uint64_t end = i + 1 < members_.size() ? members_[i + 1].header : directory_offset_;
    std::optional<std::string> content = content_of(i);
    if (content && content->size() == record.size && *content == read(i)) content.reset();
    PackedRecord packed{"", record.directory_fields};
    if (content) packed = packed_anew(record, *content);
    is_changed = is_changed || content.has_value();
    const std::string_view local = content ? packed.local : archive.substr(record.header, end - record.header);
    if (offset != record.header) put(packed.entry = without_zip64(packed.entry), 42, offset, 4);
    offset += local.size();
    if (offset > std::numeric_limits<uint32_t>::max() && is_changed)
      throw std::runtime_error(name_ + ": is larger than 4 GiB with its translation; divide the file");
    sink(local);
    entries.push_back(std::move(packed.entry));
  }
  is_changed ? write_directory(entries, offset, sink) : sink(archive.substr(directory_offset_));
}

void PackedFile::write_directory(const std::vector<std::string>& entries, uint64_t offset, const ByteSink& sink) const {
  std::string directory;
  for (const size_t member : directory_order_) directory += entries[member];
  std::string end(22, '\0');
  put(end, 0, 0x06054b50, 4);
  for (const size_t at : {8, 10}) put(end, at, members_.size(), 2);
  put(end, 12, directory.size(), 4);
  put(end, 16, offset, 4);
  sink(directory + end);
}

}  // namespace v0
}  // namespace transmute
