// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// What becomes of bytes that are not UTF-8.
enum class InvalidUtf8 {
  fail,     ///< std::runtime_error naming the line
  replace,  ///< U+FFFD takes the place of each ill-formed sequence
};

/// Reads a text file line by line; gzipped files are recognized by their content and unpacked on the way.
///
/// A line ends at '\n' or "\r\n", which is not part of it. A last line without an end counts as a line.
/// Every line is checked to be UTF-8, or made so.
/// @throws std::runtime_error naming the file (and the line) that cannot be opened, read or decoded.
class LineReader {
 public:
  explicit LineReader(const std::string& path, InvalidUtf8 invalid = InvalidUtf8::fail);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Puts the next line into `line`; false at the end of the file.
  bool next(std::string& line);

  /// Number of the line that `next` returned last; the first is 1.
  int64_t line_number() const { return line_number_; }

 private:
  struct File;
  bool fill();

  std::string path_;
  InvalidUtf8 invalid_;
  std::unique_ptr<File> file_;
  std::string buffer_;
  size_t position_ = 0;
  int64_t line_number_ = 0;
};

/// All lines of a plain or gzipped UTF-8 file. Errors as for LineReader.
std::vector<std::string> read_lines(const std::string& path);

/// Position of the first byte that is not part of well-formed UTF-8, or npos where all of `text` is.
size_t find_invalid_utf8(std::string_view text);

/// `text` with U+FFFD in the place of each ill-formed sequence.
std::string with_valid_utf8(std::string text);

/// @throws std::invalid_argument naming `what` and its first bad byte, where it is not well-formed UTF-8.
void check_utf8(std::string_view text, std::string_view what);

}  // namespace v0
}  // namespace transmute
