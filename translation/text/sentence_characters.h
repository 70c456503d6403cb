// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/umachine.h>
#include <unicode/utf8.h>

#include <cstddef>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Kinds of characters, as the ends of sentences depend on them.
namespace sentence_characters {

bool is_one_of(UChar32 c, std::u32string_view set);
bool is_line_end(UChar32 c);
bool is_space(UChar32 c);
/// Opening brackets and quotation marks. Some of these open in one language and close in another.
bool is_opener(UChar32 c);
bool is_closer(UChar32 c);
bool is_dash(UChar32 c);
bool is_bullet(UChar32 c);
/// Whether the character is of Chinese or Japanese, which have no spaces.
bool is_wide(UChar32 c);
/// Whether the character's script has capital letters.
bool is_cased(UChar32 c);

size_t count_characters(std::string_view text);

template <class Test>
bool all_characters(std::string_view text, const Test& test) {
  const auto size = static_cast<int32_t>(text.size());
  for (int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT(text.data(), at, size, c);
    if (!test(c)) return false;
  }
  return true;
}

}  // namespace sentence_characters
}  // namespace v0
}  // namespace transmute
