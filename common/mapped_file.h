// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

/// A file's content as memory, read where it is touched. The file must not become shorter meanwhile.
class MappedFile {
 public:
  /// @throws std::runtime_error naming the file that cannot be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

  /// Begins to read what will be touched soon. Elsewhere the system reads no further ahead than the page touched.
  void will_need(size_t offset, size_t count) const;
  /// Takes the pages out of this process' memory; the system may keep them in its cache.
  void release() const;

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace v0
}  // namespace transmute
