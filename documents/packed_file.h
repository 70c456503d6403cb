// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/zip_directory.h>
#include <transmute/documents/document_parts.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A zip archive in memory, of which some members are replaced as it is written. All others are copied as they are
/// packed.
class PackedFile {
 public:
  /// New content of a member; none: it stays as it is.
  using ContentOf = std::function<std::optional<std::string>(size_t member)>;

  /// @param name of the file, for messages
  /// @throws std::runtime_error naming the file, if it is damaged, encrypted, or no zip archive
  PackedFile(std::string name, std::string content);

  /// The members, in the order in which the archive has them.
  const std::vector<ZipRecord>& members() const { return members_; }
  /// The number of the first member with that name.
  std::optional<size_t> find(const std::string& name) const;
  /// The unpacked bytes of a member.
  /// @throws std::runtime_error naming the file and the member, if the member is damaged, or packed in another way than
  /// by deflate
  std::string read(size_t member) const;
  /// Writes the archive. Asks for the content of each member once, in order, when the members before are written.
  /// @throws std::runtime_error naming the file, if the archive grows over 4 GiB
  void write(const ContentOf& content_of, const ByteSink& sink) const;

 private:
  ZipBytes bytes() const;
  void write_directory(const std::vector<std::string>& entries, uint64_t offset, const ByteSink& sink) const;

  std::string name_, content_;
  std::vector<ZipRecord> members_;
  std::vector<size_t> directory_order_;  // numbers of members
  uint64_t directory_offset_ = 0;
};

}  // namespace v0
}  // namespace transmute
