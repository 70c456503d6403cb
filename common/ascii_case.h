// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>

namespace transmute {
inline namespace v0 {

inline bool is_ascii_digit(char c) {
  return c >= '0' && c <= '9';
}

inline bool is_ascii_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

inline bool is_ascii_small(char c) {
  return c >= 'a' && c <= 'z';
}

inline bool is_ascii_letter(char c) {
  return is_ascii_small(c) || is_ascii_capital(c);
}

inline bool is_ascii_alphanumeric(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c);
}

/// True for what names in programs consist of.
inline bool is_of_ascii_name(char c) {
  return is_ascii_alphanumeric(c) || c == '_';
}

/// For names of HTML and HTTP, which are compared without regard to the case of their letters, A to Z.
inline std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace v0
}  // namespace transmute
