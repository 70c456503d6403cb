// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// Bytes [first, second) of a text.
using Span = std::pair<size_t, size_t>;

/// A character of a text: its code point and its bytes.
struct Character {
  UChar32 code;
  size_t begin;
  size_t end;
};

/// The character that begins at `at`, which lies within the text. A byte that is not UTF-8 has a negative code.
inline Character character_at(std::string_view text, size_t at) {
  auto next = static_cast<int32_t>(at);
  UChar32 code = 0;
  U8_NEXT(text.data(), next, static_cast<int32_t>(text.size()), code);
  return {code, at, static_cast<size_t>(next)};
}

/// Calls `visit` with each character.
template <class Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    visit(character);
    at = character.end;
  }
}

inline bool is_inside(size_t at, const std::vector<Span>& spans) {
  for (const Span& span : spans)
    if (span.first <= at && at < span.second) return true;
  return false;
}

}  // namespace checks
}  // namespace v0
}  // namespace transmute
