// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/ascii_text.h>

#include <spdlog/fmt/fmt.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

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

}  // namespace v0
}  // namespace transmute
