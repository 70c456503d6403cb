// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/utf8.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {
namespace characters {

/// The character that begins at a byte; negative if there is none.
inline UChar32 at(std::string_view text, size_t byte) {
  return byte < text.size() ? character_at(text, byte).code : U_SENTINEL;
}

/// The byte after the character that begins at this one.
inline size_t end(std::string_view text, size_t byte) {
  auto next = static_cast<int32_t>(byte);
  U8_FWD_1(text.data(), next, static_cast<int32_t>(text.size()));
  return static_cast<size_t>(next);
}

/// The first byte of the character that ends at this one, which is not 0.
inline size_t begin(std::string_view text, size_t byte) {
  auto before = static_cast<int32_t>(byte);
  U8_BACK_1(reinterpret_cast<const uint8_t*>(text.data()), 0, before);
  return static_cast<size_t>(before);
}

/// The character that ends at a byte; negative if there is none.
inline UChar32 before(std::string_view text, size_t byte) {
  return byte == 0 || byte > text.size() ? U_SENTINEL : at(text, begin(text, byte));
}

/// The byte at or after this one at which a character begins, or the text's end.
inline size_t next_boundary(std::string_view text, size_t byte) {
  while (byte < text.size() && U8_IS_TRAIL(text[byte])) ++byte;
  return byte;
}

/// The text in the normal form of `form`, such as icu::Normalizer2::getNFKCInstance; as it is if ICU fails.
inline std::string normalized(const std::string& text, const icu::Normalizer2* (*form)(UErrorCode& error)) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const normalizer = form(error);
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  if (U_SUCCESS(error)) normalizer->normalizeUTF8(0, text, sink, nullptr, error);
  return U_SUCCESS(error) ? result : text;
}

/// The number of times that the text has the part; of those that overlap, the first counts.
inline size_t occurrences(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

inline bool is_digit(UChar32 c) {
  return c >= 0 && u_isdigit(c) != 0;
}

inline bool is_letter_or_digit(UChar32 c) {
  return c >= 0 && u_isalnum(c) != 0;
}

}  // namespace characters
}  // namespace v0
}  // namespace transmute
