// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/sentence_characters.h>

#include <unicode/uchar.h>
#include <unicode/uscript.h>

namespace transmute {
inline namespace v0 {
namespace sentence_characters {

bool is_one_of(UChar32 c, std::u32string_view set) {
  return set.find(static_cast<char32_t>(c)) != std::u32string_view::npos;
}

bool is_line_end(UChar32 c) {
  return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

bool is_space(UChar32 c) {
  return c > 0 && u_isUWhiteSpace(c) != 0;
}

bool is_opener(UChar32 c) {
  return is_one_of(c, U"([{«„“\"'‘‚‹「『《（【»¿¡");
}

bool is_closer(UChar32 c) {
  return is_one_of(c, U")]}»”“\"'’›」』》）】«");
}

bool is_dash(UChar32 c) {
  return is_one_of(c, U"-–—―");
}

bool is_bullet(UChar32 c) {
  return is_one_of(c, U"•⁃▪◦‣");
}

bool is_wide(UChar32 c) {
  const int32_t width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  UErrorCode error = U_ZERO_ERROR;
  return (width == U_EA_WIDE || width == U_EA_FULLWIDTH) && uscript_getScript(c, &error) != USCRIPT_HANGUL;
}

bool is_cased(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_CASED) != 0;
}

size_t count_characters(std::string_view text) {
  size_t count = 0;
  all_characters(text, [&](UChar32) { return ++count > 0; });
  return count;
}

}  // namespace sentence_characters
}  // namespace v0
}  // namespace transmute
