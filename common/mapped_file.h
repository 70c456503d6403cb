// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

class InputFile;

/// A file's bytes in memory, which all processes that map it share; what one of them writes there is its own. A file
/// that is changed in place changes here too, and one that is cut short ends the process: files that may be mapped are
/// replaced by renaming, as AtomicFile does.
class MappedFile {
 public:
  /// @throws std::runtime_error naming the file if its file system cannot map it.
  MappedFile(const InputFile& file, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  /// `bytes` bytes from `offset` on, which must lie in the file. They keep the mapping; when the last copy goes, their
  /// pages leave this process's memory.
  static std::shared_ptr<void> part(const std::shared_ptr<MappedFile>& file, uint64_t offset, size_t bytes);

  /// Takes the whole pages of a part, as the file has them, out of this process's memory until they are touched again.
  /// What was written to them is lost.
  static void forget(char* begin, size_t bytes);

 private:
  char* begin_;
  size_t bytes_;
};

}  // namespace v0
}  // namespace transmute
