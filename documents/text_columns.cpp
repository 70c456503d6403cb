// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/text_columns.h>

#include <transmute/common/utf8.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

namespace transmute {
inline namespace v0 {

size_t columns_of(UChar32 c) {
  constexpr UChar32 kFirstMark = 0x300;
  if (c < kFirstMark) return 1;
  if ((U_GET_GC_MASK(c) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0) return 0;
  return sentence_characters::takes_two_columns(c) ? 2 : 1;
}

size_t columns_in(std::string_view text) {
  size_t columns = 0;
  for (const Character& c : Characters(text)) columns += columns_of(c.code);
  return columns;
}

}  // namespace v0
}  // namespace transmute
