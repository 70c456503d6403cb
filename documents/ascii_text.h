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

/// Joins the units of UTF-16 of such escapes, one after the other.
class Utf16Units {
 public:
  /// Appends the character that a unit completes. Returns false for zero, and for half of a character without the
  /// other.
  bool add(uint32_t unit, std::string& text);
  /// True after the first half of a character.
  bool is_within_character() const { return half_ > 0; }

 private:
  uint32_t half_ = 0;
};

/// Doubles each `sign` of the text.
std::string doubled(std::string_view text, char sign);

/// Replaces each double sign of the text by a single one.
std::string undoubled(std::string_view text, char sign);

/// Writes the text in double quotes. Each of `characters` becomes a backslash and the letter at the same position;
/// `write` writes each other character.
std::string in_double_quotes(std::string_view text, std::string_view characters, std::string_view letters,
                             const std::function<std::string(char)>& write);

}  // namespace v0
}  // namespace transmute
