// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_directory.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A zip archive in memory of which some members are replaced. All others are copied as they are packed.
class PackedFile {
 public:
  /// @param name of the file, for messages
  /// @param most_bytes what read() may unpack in all
  /// @throws std::runtime_error naming the file, if it is damaged, encrypted, or no zip archive
  PackedFile(std::string name, std::string content, uint64_t most_bytes);

  /// The members, in the order of the archive's directory.
  std::vector<std::string> names() const;
  /// The unpacked bytes of a member.
  /// @throws std::runtime_error naming the file and the member, if the member is damaged, or packed in another way than
  /// by deflate, or if too much was unpacked
  std::string read(const std::string& member);
  /// The archive with new content of some members.
  std::string with(const std::map<std::string, std::string>& members) const;

 private:
  ZipBytes bytes() const;

  std::string name_, content_;
  ZipDirectory directory_;
  uint64_t most_bytes_, unpacked_ = 0;
};

}  // namespace v0
}  // namespace transmute
