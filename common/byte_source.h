// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// The bytes of a file from its beginning to its end. Packed files are recognized by their content, whatever their
/// names, and unpacked on the way: gzip by zlib; xz, zstd and bzip2 by the programs of these names.
class ByteSource {
 public:
  /// @throws std::runtime_error naming the file, where it is a folder, cannot be opened, or is packed by something else
  /// or by a program that is not installed.
  explicit ByteSource(const std::string& path);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Returns how many of `count` bytes there were; 0 at the end and after a failure. What comes before a damaged part
  /// is handed out first.
  size_t read(void* to, size_t count);

  /// The fault; empty while there is none.
  const std::string& error() const { return error_; }

 private:
  struct File;
  struct Unpacker;

  std::string path_;
  std::unique_ptr<Unpacker> unpacker_;
  std::unique_ptr<File> file_;  // closed before the unpacker is waited for
  bool is_begun_ = false;
  std::string error_;
};

}  // namespace v0
}  // namespace transmute
