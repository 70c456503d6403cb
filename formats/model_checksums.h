// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

constexpr const char* kChecksumsFile = "checksums.txt";  ///< the checksums in a model folder

/// The CRC-32 of every file of a model folder, so that a folder is what was saved, whole: a line "0123abcd config.yaml"
/// each in `checksums.txt`. Folders of transmute 0.1 have none. Against damage and mistakes; whoever forges a file can
/// forge its checksum.
class TRANSMUTE_API ModelChecksums {
 public:
  ModelChecksums() = default;
  /// The checksums of a folder; none if it has no such file.
  /// @throws std::runtime_error naming the line that is not a checksum.
  explicit ModelChecksums(const std::string& folder);

  void set(const std::string& file, uint32_t checksum) { checksums_[file] = checksum; }
  /// Writes them into a folder.
  void save(const std::string& folder) const;

  bool has(const std::string& file) const { return checksums_.count(file) > 0; }
  /// The checksum that the file must have; nothing if the folder has no checksums.
  /// @throws std::runtime_error if the folder has checksums, but none of this file.
  std::optional<uint32_t> of(const std::string& file) const;
  /// True if the folder has the file. @throws std::runtime_error if it has not, though the checksums name it.
  bool file_exists(const std::string& file) const;
  /// @throws std::runtime_error if `content` is not what was saved in the file.
  void check(const std::string& file, std::string_view content) const;

 private:
  std::string folder_;
  std::map<std::string, uint32_t> checksums_;
};

/// CRC-32 of a text.
TRANSMUTE_API uint32_t checksum_of(std::string_view content);

}  // namespace v0
}  // namespace transmute
