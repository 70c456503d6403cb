// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// True if all characters are ASCII.
bool is_ascii(std::string_view text);

/// UTF-8 with an escape such as \u00e4 in the place of each character that is not ASCII, or of both halves of one that
/// takes two in UTF-16.
std::string with_utf16_escapes(std::string_view text);

/// The number that the first four characters are in hexadecimal, as in \u00e4; nothing if they are none.
std::optional<uint32_t> utf16_unit(std::string_view digits);

/// Joins the units of UTF-16 that such escapes are, one after the other.
class Utf16Units {
 public:
  /// Appends the character that a unit completes. False for zero, and for half of a character without the other.
  bool add(uint32_t unit, std::string& text);
  /// True after the first half of a character.
  bool is_within_character() const { return half_ > 0; }

 private:
  uint32_t half_ = 0;
};

/// The text with each `sign` twice.
std::string doubled(std::string_view text, char sign);

/// A text with one sign for each two.
std::string undoubled(std::string_view text, char sign);

/// The text in double quotes, where each of `characters` is a backslash and the letter of the same number, and each
/// other one is what `write` makes of it.
std::string in_double_quotes(std::string_view text, std::string_view characters, std::string_view letters,
                             const std::function<std::string(char)>& write);

}  // namespace v0
}  // namespace transmute
