// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/text_file.h>
#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <array>
#include <string>

namespace transmute {
inline namespace v0 {
namespace sentence_characters {

namespace {

// True for letters and their signs, as in कि.मी.
bool is_of_letter(UChar32 c) {
  return u_isalpha(c) != 0 || (U_GET_GC_MASK(c) & U_GC_M_MASK) != 0;
}

bool is_vowel(UChar32 c) {
  return is_one_of(c, U"aeiouyаеёиоуыэюяіїєўαεηιουω");
}

}  // namespace

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

bool takes_two_columns(UChar32 c) {
  const int32_t width = u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH;
}

bool is_wide(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  return takes_two_columns(c) && uscript_getScript(c, &error) != USCRIPT_HANGUL;
}

bool is_written_without_spaces(UChar32 c) {
  constexpr UChar32 kThai = 0xE00;  // the first of them
  UErrorCode error = U_ZERO_ERROR;
  return c >= kThai && uscript_breaksBetweenLetters(uscript_getScript(c, &error)) != 0;
}

bool is_cased(UChar32 c) {
  return u_hasBinaryProperty(c, UCHAR_CASED) != 0;
}

bool is_lower(UChar32 c) {
  return u_islower(c) != 0 && u_totitle(c) != c;
}

bool has_vowel_signs(UChar32 c) {
  constexpr UChar32 kDevanagari = 0x900, kTibetan = 0xF00;
  return c >= kDevanagari && c < kTibetan;
}

bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_day_and_month(std::string_view word) {
  const size_t dot = word.find('.');
  if (dot > 2 || dot + 3 < word.size()) return false;
  const std::string day(word.substr(0, dot)), month(word.substr(dot + 1));
  constexpr int kMostDays = 31, kMostMonths = 12;
  return is_number(day) && is_number(month) && std::stoi(day) <= kMostDays && std::stoi(month) <= kMostMonths;
}

bool is_roman_number(std::string_view word) {
  return word.size() >= 2 && word.find_first_not_of("IVXLCDM") == std::string_view::npos;
}

size_t outline_number_length(std::string_view text) {
  const auto run = [&](size_t at, std::string_view characters, size_t most) {
    const size_t length = std::min(text.find_first_not_of(characters, at), text.size()) - at;
    return length <= most ? length : 0;
  };
  constexpr size_t kMostDigits = 3, kMostRomanDigits = 5;
  const bool has_letter = !text.empty() && u_isalpha(static_cast<unsigned char>(text[0])) != 0;
  size_t part = has_letter ? std::max<size_t>(run(0, "IVXLC", kMostRomanDigits), 1) : 0, end = 0, parts = 0;
  if (!has_letter) part = run(0, "0123456789", kMostDigits);
  for (; part > 0 && end + part < text.size() && text[end + part] == '.'; ++parts) {
    end += part + 1;
    part = run(end, "0123456789", kMostDigits);
  }
  const bool is_apart = end == text.size() || is_space(characters::at(text, end));
  return parts > 1 && is_apart ? end : 0;
}

bool is_dotted(std::string_view word) {
  constexpr size_t kMostLetters = 4;
  if (!word.empty() && word.front() == '.') return is_dotted("x" + std::string(word));
  size_t parts = 0;
  for (size_t begin = 0; begin <= word.size(); ++parts) {
    const size_t end = std::min(word.find('.', begin), word.size());
    if (begin > 0 && word[std::min(begin, word.size() - 1)] == '-') ++begin;
    const std::string_view part = word.substr(begin, end - begin);
    if (part.empty() || characters_in(part) > kMostLetters) return false;
    if (!all_characters(part, is_of_letter)) return false;
    begin = end + 1;
  }
  return parts > 1;
}

bool has_letter_or_digit(std::string_view text) {
  return !all_characters(text, [](UChar32 c) { return u_isalnum(c) == 0; });
}

bool has_no_vowel(std::string_view word) {
  constexpr size_t kMostLetters = 4;
  const size_t letters = characters_in(word);
  if (letters < 2 || letters > kMostLetters) return false;
  bool has_lower = false;
  const bool fits = all_characters(word, [&](UChar32 c) {
    UErrorCode error = U_ZERO_ERROR;
    const UScriptCode script = uscript_getScript(c, &error);
    if (script != USCRIPT_LATIN && script != USCRIPT_CYRILLIC && script != USCRIPT_GREEK) return false;
    has_lower = has_lower || u_islower(c) != 0;
    std::array<UChar, 8> parts{};
    const UChar32 lower = u_tolower(c);
    const int32_t length = unorm2_getDecomposition(unorm2_getNFDInstance(&error), lower, parts.data(),
                                                   static_cast<int32_t>(parts.size()), &error);
    return !is_vowel(U_SUCCESS(error) && length > 0 ? parts[0] : lower);
  });
  return fits && has_lower;
}

}  // namespace sentence_characters
}  // namespace v0
}  // namespace transmute
