// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Decodes percent-encoding: "a%20b" is "a b". A percent sign that begins no escape is kept.
inline std::string percent_decoded(std::string_view text) {
  constexpr size_t kDigits = 2;
  std::string decoded;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, kDigits);
    unsigned byte = 0;
    const bool is_escape =
        text[at] == '%' && digits.size() == kDigits &&
        std::from_chars(digits.data(), digits.data() + kDigits, byte, 16).ptr == digits.data() + kDigits;
    decoded += is_escape ? static_cast<char>(byte) : text[at];
    if (is_escape) at += kDigits;
  }
  return decoded;
}

}  // namespace v0
}  // namespace transmute
