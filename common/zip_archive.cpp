// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/zip_archive.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/checksum.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Signatures and sizes of PKWARE's APPNOTE.TXT, sections 4.3.7 to 4.3.16.
constexpr uint64_t kLocalHeader = 0x04034b50, kLocalHeaderBytes = 30;
constexpr uint64_t kCentralHeader = 0x02014b50, kCentralHeaderBytes = 46;
constexpr uint64_t kEnd = 0x06054b50, kEndBytes = 22, kMaxCommentBytes = 65535;
constexpr uint64_t kEnd64 = 0x06064b50, kEnd64Bytes = 56;
constexpr uint64_t kLocator64 = 0x07064b50, kLocator64Bytes = 20;
constexpr uint64_t kZip64Field = 1;
constexpr uint64_t kElsewhere = 0xffffffff;  // the value is in the zip64 field

[[noreturn]] void damaged_archive(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: damaged ({}); restore it, or make it again", path, what));
}

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

Fields fields_at(const InputFile& file, const std::string& path, uint64_t offset, uint64_t count) {
  if (offset > file.size() || count > file.size() - offset) damaged_archive(path, "it is cut short");
  std::string bytes(count, '\0');
  if (file.read(offset, bytes.data(), count) < count) damaged_archive(path, "it is cut short");
  return Fields(path, std::move(bytes));
}

struct Directory {
  uint64_t records, bytes, offset;
};

Directory find_directory(const InputFile& file, const std::string& path) {
  const uint64_t tail_bytes = std::min(file.size(), kEndBytes + kMaxCommentBytes);
  const uint64_t tail_begin = file.size() - tail_bytes;
  const Fields tail = fields_at(file, path, tail_begin, tail_bytes);
  uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1;
  while (at > 0 && tail.number(at - 1, 4) != kEnd) --at;
  if (at-- == 0) throw std::runtime_error(path + ": no zip archive, or one that is cut short");
  const Directory directory{tail.number(at + 10, 2), tail.number(at + 12, 4), tail.number(at + 16, 4)};
  if (at < kLocator64Bytes || tail.number(at - kLocator64Bytes, 4) != kLocator64) return directory;
  const Fields end64 = fields_at(file, path, tail.number(at - kLocator64Bytes + 8, 8), kEnd64Bytes);
  if (end64.number(0, 4) != kEnd64) damaged_archive(path, "its list of records is not where it should be");
  return {end64.number(32, 8), end64.number(40, 8), end64.number(48, 8)};
}

}  // namespace

ZipArchive::ZipArchive(const std::string& path) : path_(path), file_(path) {
  const Directory directory = find_directory(file_, path);
  const Fields list = fields_at(file_, path, directory.offset, directory.bytes);
  uint64_t at = 0, sum = 0;
  for (uint64_t r = 0; r < directory.records; ++r) {
    if (list.number(at, 4) != kCentralHeader) damaged_archive(path, "its list of records is unreadable");
    const uint64_t name_bytes = list.number(at + 28, 2), extra_bytes = list.number(at + 30, 2);
    const std::string full_name = list.text(at + kCentralHeaderBytes, name_bytes);
    uint64_t packed = list.number(at + 20, 4), size = list.number(at + 24, 4), header = list.number(at + 42, 4);
    const uint64_t extra_end = at + kCentralHeaderBytes + name_bytes + extra_bytes;
    for (uint64_t field = at + kCentralHeaderBytes + name_bytes; field + 4 <= extra_end;) {
      uint64_t value = field + 4;
      if (list.number(field, 2) == kZip64Field)
        for (uint64_t* number : {&size, &packed, &header})
          if (*number == kElsewhere) *number = list.number(value, 8), value += 8;
      field += 4 + list.number(field + 2, 2);
    }
    // Records that share their bytes could be many times the file when they are read.
    if (packed > file_.size() - sum || header > file_.size())
      damaged_archive(path, fmt::format("'{}' is larger than the file", full_name));
    sum += packed;
    const bool is_stored = list.number(at + 10, 2) == 0 && packed == size;
    const Record record{header, size, static_cast<uint32_t>(list.number(at + 16, 4)), is_stored};
    const std::string name = full_name.substr(full_name.find('/') + 1);
    if (!records_.emplace(name, record).second) damaged_archive(path, fmt::format("it has '{}' twice", name));
    at = extra_end + list.number(at + 32, 2);
  }
}

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> names;
  for (const auto& [name, record] : records_) names.push_back(name);
  return names;
}

const ZipArchive::Record& ZipArchive::record(const std::string& name) const {
  const auto found = records_.find(name);
  if (found == records_.end()) damaged_archive(path_, fmt::format("it has no record '{}'", name));
  return found->second;
}

// Where the bytes of a record begin, all of which are in the file.
uint64_t ZipArchive::data_begin(const std::string& name) const {
  const Record& found = record(name);
  if (!found.is_stored) damaged_archive(path_, fmt::format("'{}' is compressed", name));
  const Fields header = fields_at(file_, path_, found.header, kLocalHeaderBytes);
  if (header.number(0, 4) != kLocalHeader) damaged_archive(path_, fmt::format("'{}' is not where it should be", name));
  const uint64_t begin = found.header + kLocalHeaderBytes + header.number(26, 2) + header.number(28, 2);
  if (begin > file_.size() || found.size > file_.size() - begin)
    damaged_archive(path_, fmt::format("'{}' is cut short", name));
  return begin;
}

uint64_t ZipArchive::size(const std::string& name) const {
  data_begin(name);
  return record(name).size;
}

std::string ZipArchive::read(const std::string& name) const {
  std::string content(size(name), '\0');
  read_into(name, content.data(), content.size());
  if (crc32(0, content.data(), content.size()) != record(name).crc)
    damaged_archive(path_, fmt::format("'{}' does not match its checksum", name));
  return content;
}

void ZipArchive::read_into(const std::string& name, void* to, uint64_t count) const {
  const uint64_t begin = data_begin(name);
  if (count > record(name).size || file_.read(begin, to, count) < count)
    damaged_archive(path_, fmt::format("'{}' is cut short", name));
}

}  // namespace v0
}  // namespace transmute
