// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/hash.h>
#include <transmute/common/zip_writer.h>

#include <limits>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

std::string little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::string_view content) {
  const std::string header = little(offset_, 4);
  // From the version that unpacks it to the length of extra fields, which both descriptions of a record have. The date
  // is 1980-01-01, so that equal content makes equal archives.
  constexpr uint64_t kVersion = 20, kDate = 0x21;
  const std::string fields = little(kVersion, 2) + little(0, 6) + little(kDate, 2) +
                             little(crc32(0, content.data(), content.size()), 4) + little(content.size(), 4) +
                             little(content.size(), 4) + little(name.size(), 2) + little(0, 2);
  write("PK\3\4" + fields + name);
  write(content);
  directory_ += "PK\1\2" + little(kVersion, 2) + fields + little(0, 10) + header + name;
  ++records_;
}

void ZipWriter::commit() {
  const std::string count = little(records_, 2), place = little(directory_.size(), 4) + little(offset_, 4);
  write(directory_);
  write("PK\5\6" + little(0, 4) + count + count + place + little(0, 2));
  file_.commit();
}

void ZipWriter::write(std::string_view bytes) {
  offset_ += bytes.size();
  if (offset_ > std::numeric_limits<uint32_t>::max() || records_ > std::numeric_limits<uint16_t>::max())
    throw std::runtime_error(path_ + ": a zip archive has at most 4 GiB and 65,535 files");
  file_.write(bytes.data(), bytes.size());
}

}  // namespace v0
}  // namespace transmute
