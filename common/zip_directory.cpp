// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/zip_directory.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

void damaged_archive(const std::string& name, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore it, or make it again", name, what));
}

namespace {

// Signatures and sizes of PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16.
constexpr uint64_t kLocalHeader = 0x04034b50, kLocalHeaderBytes = 30;
constexpr uint64_t kCentralHeader = 0x02014b50, kCentralHeaderBytes = 46;
constexpr uint64_t kEnd = 0x06054b50, kEndBytes = 22, kMaxCommentBytes = 65535;
constexpr uint64_t kEnd64 = 0x06064b50, kEnd64Bytes = 56;
constexpr uint64_t kLocator64 = 0x07064b50, kLocator64Bytes = 20;
constexpr uint64_t kZip64Field = 1;
constexpr uint64_t kElsewhere = 0xffffffff;  // the value is in the zip64 field

// Little-endian numbers of a block that was read whole.
class Fields {
 public:
  Fields(const std::string& path, std::string bytes) : path_(path), bytes_(std::move(bytes)) {}

  uint64_t size() const { return bytes_.size(); }

  uint64_t number(uint64_t at, uint64_t count) const {
    require(at, count);
    uint64_t value = 0;
    for (uint64_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes_[at + i])} << (8 * i);
    return value;
  }

  std::string text(uint64_t at, uint64_t count) const {
    require(at, count);
    return bytes_.substr(at, count);
  }

 private:
  void require(uint64_t at, uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) damaged_archive(path_, "its list of records is cut short");
  }

  const std::string& path_;
  std::string bytes_;
};

Fields fields_at(const ZipBytes& archive, uint64_t offset, uint64_t count) {
  if (offset > archive.size || count > archive.size - offset) damaged_archive(archive.name, "it is cut short");
  std::string bytes(count, '\0');
  if (archive.read(offset, bytes.data(), count) < count) damaged_archive(archive.name, "it is cut short");
  return Fields(archive.name, std::move(bytes));
}

struct DirectoryPlace {
  uint64_t records, bytes, offset;
};

DirectoryPlace find_directory(const ZipBytes& archive) {
  const uint64_t tail_bytes = std::min(archive.size, kEndBytes + kMaxCommentBytes);
  const uint64_t tail_begin = archive.size - tail_bytes;
  const Fields tail = fields_at(archive, tail_begin, tail_bytes);
  uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1;
  while (at > 0 && tail.number(at - 1, 4) != kEnd) --at;
  if (at-- == 0) throw std::runtime_error(archive.name + ": no zip archive, or one that is cut short");
  const DirectoryPlace directory{tail.number(at + 10, 2), tail.number(at + 12, 4), tail.number(at + 16, 4)};
  if (at < kLocator64Bytes || tail.number(at - kLocator64Bytes, 4) != kLocator64) return directory;
  const Fields end64 = fields_at(archive, tail.number(at - kLocator64Bytes + 8, 8), kEnd64Bytes);
  if (end64.number(0, 4) != kEnd64) damaged_archive(archive.name, "its list of records is not where it should be");
  return {end64.number(32, 8), end64.number(40, 8), end64.number(48, 8)};
}

}  // namespace

ZipBytes zip_bytes(const std::string& path, const InputFile& file) {
  return {path, file.size(), [&file](uint64_t offset, void* to, size_t count) { return file.read(offset, to, count); }};
}

ZipDirectory read_zip_directory(const ZipBytes& archive) {
  const DirectoryPlace place = find_directory(archive);
  const Fields list = fields_at(archive, place.offset, place.bytes);
  ZipDirectory directory{{}, place.offset};
  uint64_t at = 0, sum = 0;
  for (uint64_t r = 0; r < place.records; ++r) {
    if (list.number(at, 4) != kCentralHeader) damaged_archive(archive.name, "its list of records is unreadable");
    const uint64_t name_bytes = list.number(at + 28, 2), extra_bytes = list.number(at + 30, 2);
    ZipRecord record;
    record.name = list.text(at + kCentralHeaderBytes, name_bytes);
    record.flags = static_cast<uint16_t>(list.number(at + 8, 2));
    record.method = static_cast<uint16_t>(list.number(at + 10, 2));
    record.crc = static_cast<uint32_t>(list.number(at + 16, 4));
    record.packed = list.number(at + 20, 4);
    record.size = list.number(at + 24, 4);
    record.header = list.number(at + 42, 4);
    const uint64_t extra_end = at + kCentralHeaderBytes + name_bytes + extra_bytes;
    for (uint64_t field = at + kCentralHeaderBytes + name_bytes; field + 4 <= extra_end;) {
      uint64_t value = field + 4;
      if (list.number(field, 2) == kZip64Field)
        for (uint64_t* number : {&record.size, &record.packed, &record.header})
          if (*number == kElsewhere) *number = list.number(value, 8), value += 8;
      field += 4 + list.number(field + 2, 2);
    }
    // Records that share their bytes could be many times the file when they are read.
    if (record.packed > archive.size - sum || record.header > archive.size)
      damaged_archive(archive.name, fmt::format("'{}' is larger than the file", record.name));
    sum += record.packed;
    const uint64_t end = extra_end + list.number(at + 32, 2);
    record.directory_fields = list.text(at, end - at);
    directory.records.push_back(std::move(record));
    at = end;
  }
  return directory;
}

uint64_t zip_data_begin(const ZipBytes& archive, const ZipRecord& record) {
  const Fields header = fields_at(archive, record.header, kLocalHeaderBytes);
  if (header.number(0, 4) != kLocalHeader)
    damaged_archive(archive.name, fmt::format("'{}' is not where it should be", record.name));
  const uint64_t begin = record.header + kLocalHeaderBytes + header.number(26, 2) + header.number(28, 2);
  if (begin > archive.size || record.packed > archive.size - begin)
    damaged_archive(archive.name, fmt::format("'{}' is cut short", record.name));
  return begin;
}

}  // namespace v0
}  // namespace transmute
