// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/zip_member.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/hash.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::vector<ZipRecord> files_in(const ZipBytes& archive) {
  std::vector<ZipRecord> files;
  for (ZipRecord& record : read_zip_directory(archive).records)
    if (!record.name.empty() && record.name.back() != '/') files.push_back(std::move(record));
  return files;
}

[[noreturn]] void refuse_choice(const std::string& archive, const std::string& member,
                                const std::vector<ZipRecord>& files) {
  constexpr size_t kMostNames = 8;
  if (files.empty()) throw std::runtime_error(archive + ": contains no files");
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(files.size(), kMostNames); ++i) names.push_back(files[i].name);
  const std::string list =
      fmt::format("{}{}", fmt::join(names, ", "), files.size() > names.size() ? " and others" : "");
  throw std::runtime_error(
      member.empty() ? fmt::format("{0} contains {1}; name one of them, as in {0}/{2}", archive, list, names.front())
                     : fmt::format("{} contains {}, not {}", archive, list, member));
}

ZipRecord chosen_file(const ZipBytes& archive, const std::string& member) {
  const std::vector<ZipRecord> files = files_in(archive);
  const auto found = std::find_if(files.begin(), files.end(), [&](const ZipRecord& file) {
    return member.empty() ? files.size() == 1 : file.name == member;
  });
  if (found == files.end()) refuse_choice(archive.name, member, files);
  if (found->is_encrypted())
    throw std::runtime_error(fmt::format("{}: {} is encrypted; unpack it first", archive.name, found->name));
  if (!found->is_stored() && !found->is_deflated())
    throw std::runtime_error(
        fmt::format("{}: {} is packed by another method than deflate; unpack it first", archive.name, found->name));
  return *found;
}

}  // namespace

struct ZipMember::Inflater {
  Inflater() {
    constexpr int kRawDeflate = -MAX_WBITS;  // a zip archive has checksums of its own
    if (inflateInit2(&stream, kRawDeflate) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream{};
  std::array<unsigned char, size_t{1} << 16> packed{};
  bool is_ended = false;
};

std::vector<std::string> zip_members(const std::string& archive) {
  const InputFile file(archive);
  std::vector<std::string> names;
  for (const ZipRecord& record : files_in(zip_bytes(archive, file))) names.push_back(record.name);
  return names;
}

ZipMember::ZipMember(const std::string& archive, const std::string& member)
    : file_(archive), bytes_(zip_bytes(archive, file_)), record_(chosen_file(bytes_, member)) {
  next_ = zip_data_begin(bytes_, record_);
  end_ = next_ + record_.packed;
  if (!record_.is_stored()) inflater_ = std::make_unique<Inflater>();
}

ZipMember::~ZipMember() = default;

size_t ZipMember::read(void* to, size_t count) {
  size_t bytes = 0;
  if (!inflater_) {
    bytes = read_packed(to, count);
  } else {
    z_stream& stream = inflater_->stream;
    stream.next_out = static_cast<Bytef*>(to);
    stream.avail_out = static_cast<uInt>(std::min<size_t>(count, 1U << 30));
    const uInt room = stream.avail_out;
    while (stream.avail_out == room && room > 0 && !inflater_->is_ended) {
      if (stream.avail_in == 0) {
        stream.next_in = inflater_->packed.data();
        stream.avail_in = static_cast<uInt>(read_packed(inflater_->packed.data(), inflater_->packed.size()));
      }
      const int code = inflate(&stream, Z_NO_FLUSH);
      inflater_->is_ended = code == Z_STREAM_END;
      if (code != Z_OK && code != Z_STREAM_END && stream.avail_out == room)
        damaged_archive(bytes_.name, fmt::format("'{}' cannot be unpacked", record_.name));
    }
    bytes = room - stream.avail_out;
  }
  checksum_ = crc32(checksum_, to, bytes);
  unpacked_ += bytes;
  if (bytes == 0 && count > 0) check_end();
  return bytes;
}

size_t ZipMember::read_packed(void* to, size_t count) {
  const size_t bytes = file_.read(next_, to, static_cast<size_t>(std::min<uint64_t>(count, end_ - next_)));
  next_ += bytes;
  return bytes;
}

void ZipMember::check_end() const {
  if (unpacked_ != record_.size || checksum_ != record_.crc)
    damaged_archive(bytes_.name, fmt::format("'{}' does not match its checksum", record_.name));
}

}  // namespace v0
}  // namespace transmute
