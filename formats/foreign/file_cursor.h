// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// @throws std::runtime_error: the file is no `kind`, or damaged in the way that `fault` says
[[noreturn]] void damaged_file(const std::string& path, const char* kind, const std::string& fault);

/// Reads a binary file, whose numbers are little-endian, from its beginning to its end. Nothing is read past the end,
/// and no memory is taken for what the file does not have.
class FileCursor {
 public:
  /// @param kind what the file should be, for messages: "model.bin of CTranslate2"
  FileCursor(const std::string& path, const char* kind) : path_(path), kind_(kind), file_(path) {}

  [[noreturn]] void damaged(const std::string& fault) const { damaged_file(path_, kind_, fault); }
  const std::string& path() const { return path_; }

  /// A number of at most 8 bytes.
  uint64_t number(size_t bytes);
  /// `what` names the bytes in messages.
  void read(void* to, uint64_t count, const std::string& what);
  std::string text(uint64_t length, const std::string& what);
  void skip(uint64_t count, const std::string& what);
  /// @throws std::runtime_error unless the file has so many bytes more
  void require(uint64_t count, const std::string& what) const;
  uint64_t bytes_left() const { return file_.size() - at_; }

 private:
  static constexpr uint64_t kBufferBytes = 1 << 16;

  std::string path_;
  const char* kind_;
  InputFile file_;
  uint64_t at_ = 0;
  std::string buffer_;
  uint64_t buffer_begin_ = 0;  // its place in the file
};

}  // namespace formats
}  // namespace v0
}  // namespace transmute
