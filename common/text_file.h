// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/byte_source.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// No line of text is longer, so that a file of one endless line (a zipped one may be tiny) takes no memory without
/// end.
constexpr size_t kMaxLineBytes = size_t{2} << 20;

/// The fate of bytes that are not UTF-8.
enum class InvalidUtf8 {
  fail,     ///< std::runtime_error naming the line
  replace,  ///< U+FFFD takes the place of each ill-formed sequence
};

/// Limits of a line of text.
struct LineRules {
  InvalidUtf8 invalid = InvalidUtf8::fail;
  size_t max_bytes = kMaxLineBytes;  ///< a longer line is an error
};

/// True if a line that has zero bytes is UTF-16, as far as that can be told: they are in one of each two bytes.
bool is_utf_16(std::string_view line);

/// The message for a line that is UTF-16. `where`: file and line.
std::string utf_16_message(const std::string& where, std::string_view line, bool is_first);

/// The remedy where a line has zero bytes: it is UTF-16, no text, or damaged. `is_first`: of the file.
std::string remedy_of_zero_bytes(std::string_view line, bool is_first);

/// The message for a line that is not UTF-8, from its byte `bad` on. `where`: file and line.
std::string invalid_utf8_message(const std::string& where, std::string_view line, size_t bad, bool is_first);

/// The message for a line that has more than `most` bytes. `where`: file and line.
std::string long_line_message(const std::string& where, size_t most);

/// " after line 7", for a message; empty before the first line.
std::string after_line(int64_t line_number);

/// Without the mark that some programs write at the beginning of a UTF-8 text.
void remove_byte_order_mark(std::string& first_line);

/// The length of the UTF-8 byte order mark that a text begins with; 0 if there is none.
size_t byte_order_mark_length(std::string_view text);

/// A text file's name without the ending of a packer: "a.en" for "a.en.gz".
std::string without_packer_ending(const std::string& path);

/// The ending of a text file's name, apart from that of a packer: "en" for "a.en.gz"; empty if there is none.
std::string text_file_ending(const std::string& path);

/// Reads a text line by line; that of a file, plain or packed, as a ByteSource does.
///
/// A line ends at '\n' or "\r\n", which is not part of it. A last line without an end counts as a line. A byte order
/// mark at the beginning is passed over. Every line is checked to be UTF-8, or made so; UTF-16 is an error.
/// @throws std::runtime_error naming the file (and the line) that cannot be opened, read or decoded, or is too long.
class LineReader {
 public:
  explicit LineReader(const std::string& path, const LineRules& rules = {});
  /// @param name what messages call the text
  LineReader(std::unique_ptr<ByteReader> bytes, std::string name, const LineRules& rules);

  /// Puts the next line into `line`; false at the end of the text.
  bool next(std::string& line);

  /// Number of the line that `next` returned last; the first is 1.
  int64_t line_number() const { return line_number_; }

  /// True if `next` returns without reading more bytes.
  bool is_ready();

  /// Reads more bytes, once; waits for the first of them.
  void fill();

 private:
  std::string name_;
  LineRules rules_;
  std::unique_ptr<ByteReader> bytes_;
  std::string buffer_;
  size_t position_ = 0;  // of the next line
  size_t searched_ = 0;  // no line end lies between that and here
  bool ended_ = false;
  int64_t line_number_ = 0;
};

/// Position of the first byte that is not part of well-formed UTF-8, or npos where all of `text` is.
size_t find_invalid_utf8(std::string_view text);

/// `text` with U+FFFD in the place of each ill-formed sequence.
std::string with_valid_utf8(std::string text);

/// Number of characters of UTF-8 (code points).
size_t characters_in(std::string_view text);

/// Appends the character of this code point.
void append_utf8(std::string& to, uint32_t code);

/// @throws std::invalid_argument naming `what` and its first bad byte, if it is not well-formed UTF-8.
void check_utf8(std::string_view text, std::string_view what);
/// The same for the text of a list that has this number, counted from 1: @throws naming it, such as "text 3".
void check_utf8(std::string_view text, std::string_view what, size_t number);

}  // namespace v0
}  // namespace transmute
