// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The bytes of a zip archive, wherever they are.
struct ZipBytes {
  std::string name;   ///< the archive's name, for messages
  uint64_t size = 0;  ///< bytes of the archive
  /// Reads up to `count` bytes from `offset` and returns their number.
  std::function<size_t(uint64_t offset, void* to, size_t count)> read;
};

/// The bytes of a file, which must outlive them.
ZipBytes zip_bytes(const std::string& path, const InputFile& file);

/// A record as the archive's central directory describes it.
struct ZipRecord {
  std::string name;              ///< name with folders
  uint64_t header = 0;           ///< where its local header begins
  uint64_t packed = 0;           ///< bytes in the archive
  uint64_t size = 0;             ///< bytes when unpacked
  uint32_t crc = 0;              ///< checksum of the unpacked bytes
  uint16_t method = 0;           ///< 0: stored; 8: deflate
  uint16_t flags = 0;            ///< bit 0: encrypted
  std::string directory_fields;  ///< its whole entry in the central directory

  /// True if the bytes in the archive are those of the record.
  bool is_stored() const { return method == 0 && packed == size; }
  /// True if deflate has packed the bytes.
  bool is_deflated() const { return method == 8; }
  /// True if a password has encrypted the bytes.
  bool is_encrypted() const { return (flags & 1U) != 0; }
};

/// The central directory of an archive.
struct ZipDirectory {
  std::vector<ZipRecord> records;  ///< entries in the order of the directory
  uint64_t offset = 0;             ///< where the directory begins
};

/// Reads the central directory. Sizes are checked against the archive's before memory is taken; records cannot share
/// bytes.
/// @throws std::runtime_error naming the archive, if it is damaged or no zip archive
ZipDirectory read_zip_directory(const ZipBytes& archive);

/// The place of a record's first packed byte; all of them are in the archive.
/// @throws std::runtime_error as read_zip_directory() does
uint64_t zip_data_begin(const ZipBytes& archive, const ZipRecord& record);

/// Reports damage.
[[noreturn]] void damaged_archive(const std::string& name, const std::string& what);

}  // namespace v0
}  // namespace transmute
