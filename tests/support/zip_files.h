// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/hash.h>
#include <transmute/tests/support/files.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {

inline std::string little_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += i < 8 ? static_cast<char>(number >> (8 * i)) : '\0';
  return text;
}

/// The names and contents of an archive's records, in its order.
using ZipRecords = std::vector<std::pair<std::string, std::string>>;

/// A zip archive of uncompressed records, as torch.save and numpy.savez make them.
inline std::string zip_of(const ZipRecords& records) {
  std::string archive, directory;
  for (const auto& [name, content] : records) {
    const std::string sizes = little_endian(crc32(0, content.data(), content.size()), 4) +
                              little_endian(content.size(), 4) + little_endian(content.size(), 4) +
                              little_endian(name.size(), 2);
    const std::string flags = little_endian(20, 2) + little_endian(0, 8);
    directory += "PK\x01\x02" + little_endian(20, 2) + flags + sizes + little_endian(0, 12) +
                 little_endian(archive.size(), 4) + name;
    archive += "PK\x03\x04" + flags + sizes + little_endian(0, 2) + name + content;
  }
  const std::string count = little_endian(records.size(), 2);
  return archive + directory + "PK\x05\x06" + little_endian(0, 4) + count + count + little_endian(directory.size(), 4) +
         little_endian(archive.size(), 4) + little_endian(0, 2);
}

inline void write_zip(const std::string& path, const ZipRecords& records) {
  write_text(path, zip_of(records));
}

/// Reads such an archive without its directory and its checksums.
inline ZipRecords read_zip(const std::string& path) {
  const std::string content = read_text(path);
  ZipRecords records;
  for (size_t at = 0; content.compare(at, 4, "PK\x03\x04") == 0;) {
    const auto number = [&](size_t offset, size_t bytes) {
      size_t value = 0;
      for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(content[at + offset + i]);
      return value;
    };
    const size_t begin = at + 30 + number(26, 2) + number(28, 2);
    // NumPy writes the sizes after the ZIP64 mark where it streams.
    size_t size = number(18, 4);
    if (size == 0xffffffff) size = number(30 + number(26, 2) + 4, 8);
    records.emplace_back(content.substr(at + 30, number(26, 2)), content.substr(begin, size));
    at = begin + size;
  }
  return records;
}

}  // namespace transmute::testing
