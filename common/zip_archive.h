// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>
#include <transmute/common/zip_directory.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The records of a zip archive, such as a TorchScript file. Everything is checked against the file's size before
/// memory is taken, so an archive from a stranger costs no more than its own size.
class ZipArchive {
 public:
  /// @throws std::runtime_error naming the file that is no zip archive, or a damaged one.
  explicit ZipArchive(const std::string& path);

  /// Records are named without the archive's top folder, which LibTorch calls as it likes.
  bool has(const std::string& name) const { return records_.count(name) > 0; }
  /// The names of all records, in no order.
  std::vector<std::string> names() const;
  /// Bytes of a record, all of which are in the file.
  /// @throws std::runtime_error if there is none, or if it is compressed.
  uint64_t size(const std::string& name) const;
  /// @throws std::runtime_error as size() does, and if the record does not match its checksum.
  std::string read(const std::string& name) const;
  /// The first `count` bytes, unchecked: for large records that have a checksum elsewhere.
  void read_into(const std::string& name, void* to, uint64_t count) const;

 private:
  const ZipRecord& record(const std::string& name) const;
  uint64_t data_begin(const std::string& name) const;

  InputFile file_;
  ZipBytes bytes_;  // the part of file_ that has the archive
  std::unordered_map<std::string, ZipRecord> records_;
};

}  // namespace v0
}  // namespace transmute
