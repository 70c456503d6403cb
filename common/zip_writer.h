// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Writes a zip archive whose records are not compressed. It appears under its name when it is committed.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : path_(path), file_(path) {}

  /// @param name with folders, separated by '/'
  /// @throws std::runtime_error naming the archive that grows over 4 GiB or cannot be written
  void add(const std::string& name, std::string_view content);
  void commit();

 private:
  void write(std::string_view bytes);

  std::string path_;
  AtomicFile file_;
  std::string directory_;
  uint64_t offset_ = 0, records_ = 0;
};

}  // namespace v0
}  // namespace transmute
