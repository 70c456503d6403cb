// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/file_cursor.h>

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

void damaged_file(const std::string& path, const char* kind, const std::string& fault) {
  throw std::runtime_error(fmt::format("{}: no {}, or damaged ({}); restore it", path, kind, fault));
}

uint64_t FileCursor::number(size_t bytes) {
  uint64_t value = 0;
  read(&value, bytes, "a number");
  return value;
}

void FileCursor::read(void* to, uint64_t count, const std::string& what) {
  require(count, what);
  const bool is_large = count > kBufferBytes;
  if (!is_large && (at_ < buffer_begin_ || at_ + count > buffer_begin_ + buffer_.size())) {
    buffer_begin_ = at_;
    buffer_.resize(kBufferBytes);
    buffer_.resize(file_.read(at_, buffer_.data(), kBufferBytes));
  }
  const uint64_t found = is_large ? file_.read(at_, to, count) : buffer_.size() - (at_ - buffer_begin_);
  if (found < count) damaged(what + " is cut short");
  if (!is_large && count > 0) std::memcpy(to, buffer_.data() + (at_ - buffer_begin_), count);
  at_ += count;
}

std::string FileCursor::text(uint64_t length, const std::string& what) {
  require(length, what);
  std::string value(length, '\0');
  read(value.data(), length, what);
  return value;
}

void FileCursor::skip(uint64_t count, const std::string& what) {
  require(count, what);
  at_ += count;
}

void FileCursor::require(uint64_t count, const std::string& what) const {
  if (count > bytes_left()) damaged(what + " is cut short");
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
