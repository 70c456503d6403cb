// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/ascii_text.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace transmute {
inline namespace v0 {

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string with_utf16_escapes(std::string_view text) {
  std::string result;
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (c < 0x80) {
      result += static_cast<char>(c);
    } else if (c > 0xFFFF) {
      result += fmt::format("\\u{:04x}\\u{:04x}", static_cast<int>(U16_LEAD(c)), static_cast<int>(U16_TRAIL(c)));
    } else {
      result += fmt::format("\\u{:04x}", c);
    }
  }
  return result;
}

std::optional<uint32_t> utf16_unit(std::string_view digits) {
  constexpr size_t kDigits = 4;
  uint32_t unit = 0;
  const char* const end = digits.data() + kDigits;
  if (digits.size() < kDigits || std::from_chars(digits.data(), end, unit, 16).ptr != end) return {};
  return unit;
}

bool Utf16Units::add(uint32_t unit, std::string& text) {
  const bool is_second = unit >= 0xDC00 && unit <= 0xDFFF;
  const uint32_t first = std::exchange(half_, 0);
  if (is_second != (first > 0) || unit == 0) return false;
  if (unit >= 0xD800 && unit < 0xDC00) {
    half_ = unit;
  } else {
    append_utf8(text, is_second ? 0x10000 + ((first - 0xD800) << 10) + (unit - 0xDC00) : unit);
  }
  return true;
}

std::string doubled(std::string_view text, char sign) {
  std::string result;
  for (const char c : text) result.append(c == sign ? 2 : 1, c);
  return result;
}

std::string undoubled(std::string_view text, char sign) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    if (text[at] == sign && at + 1 < text.size() && text[at + 1] == sign) ++at;
  }
  return result;
}

std::string in_double_quotes(std::string_view text, std::string_view characters, std::string_view letters,
                             const std::function<std::string(char)>& write) {
  std::string result = "\"";
  for (const char c : text) {
    const size_t letter = characters.find(c);
    if (letter != std::string_view::npos) {
      result += '\\';
      result += letters[letter];
    } else {
      result += write(c);
    }
  }
  return result + '"';
}

}  // namespace v0
}  // namespace transmute
