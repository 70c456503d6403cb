// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>
#include <transmute/common/zip_directory.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The names of the files in a zip archive, in its order.
/// @throws std::runtime_error naming the archive that cannot be read
std::vector<std::string> zip_members(const std::string& archive);

/// One file of a zip archive, unpacked as it is read, so that it may be larger than memory.
class ZipMember {
 public:
  /// @param member its name; empty: the only file in the archive
  /// @throws std::runtime_error naming the archive that is damaged, encrypted, or packed by something else than
  /// deflate; or that has no such file, with the names of those that it has
  ZipMember(const std::string& archive, const std::string& member);
  ~ZipMember();
  ZipMember(const ZipMember&) = delete;
  ZipMember& operator=(const ZipMember&) = delete;

  /// Returns how many of `count` bytes there were; 0 at the end. Damage is told only after the bytes before it.
  /// @throws std::runtime_error naming the damaged archive
  size_t read(void* to, size_t count);

 private:
  struct Inflater;

  size_t read_packed(void* to, size_t count);
  void check_end() const;

  InputFile file_;
  ZipBytes bytes_;  // the part of file_ that has the archive
  ZipRecord record_;
  uint64_t next_ = 0, end_ = 0;         // the packed bytes that are left
  std::unique_ptr<Inflater> inflater_;  // null if the bytes are stored
  uint64_t unpacked_ = 0;               // bytes that were handed out
  uint32_t checksum_ = 0;               // of them
};

}  // namespace v0
}  // namespace transmute
