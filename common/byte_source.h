// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

class ZipMember;

/// Bytes from a beginning to an end.
class ByteReader {
 public:
  virtual ~ByteReader() = default;

  /// Returns how many of `count` bytes there were; 0 at the end and after a failure. What comes before a damaged part
  /// is handed out first.
  virtual size_t read(void* to, size_t count) = 0;

  /// The fault; empty while there is none.
  const std::string& error() const { return error_; }

 protected:
  std::string error_;
};

/// The bytes of a file from its beginning to its end. Packed files are recognized by their content, whatever their
/// names, and unpacked on the way: gzip and the only file of a zip archive by zlib; xz, zstd and bzip2 by the programs
/// of these names. A path such as "corpus.zip/a.en" is that of a file within an archive.
class ByteSource : public ByteReader {
 public:
  /// @throws std::runtime_error naming the file, if it is a folder, cannot be opened, or is packed by something else
  /// or by a program that is not installed.
  explicit ByteSource(const std::string& path);
  ~ByteSource() override;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  size_t read(void* to, size_t count) override;

 private:
  struct File;
  struct Unpacker;
  size_t read_member(void* to, size_t count);

  std::string path_;
  std::unique_ptr<ZipMember> member_;
  std::unique_ptr<Unpacker> unpacker_;
  std::unique_ptr<File> file_;  // closed before the unpacker is waited for
  bool is_begun_ = false;
};

}  // namespace v0
}  // namespace transmute
