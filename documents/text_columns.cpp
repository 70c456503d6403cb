// SPDX-License-Identifier: Apache-2.0
#include <transmute/documents/text_columns.h>

#include <transmute/common/utf8.h>
#include <transmute/text/sentence_characters.h>
#include <unicode/uchar.h>

#include <algorithm>

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

size_t indentation_length(std::string_view line) {
  return std::min(line.find_first_not_of(" \t>"), line.size());
}

bool is_row_with_bars(std::string_view line) {
  constexpr std::string_view kBar = " | ";
  line = line.substr(indentation_length(line));
  if (line.substr(0, 1) == "|") return line.find('|', 1) != std::string_view::npos;
  const size_t bar = line.find(kBar);
  return bar != std::string_view::npos && line.find(kBar, bar + kBar.size()) != std::string_view::npos;
}

size_t gap_length(std::string_view text, size_t at) {
  constexpr size_t kFewest = 4;
  const size_t spaces = std::min(text.find_first_not_of(' ', at), text.size()) - at;
  return spaces < kFewest ? 0 : spaces;
}

}  // namespace v0
}  // namespace transmute
