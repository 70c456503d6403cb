// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/utf8.h>

#include <cstddef>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Kinds of characters and of words before a full stop, as the ends of sentences depend on them.
namespace sentence_characters {

bool is_one_of(UChar32 c, std::u32string_view set);
bool is_line_end(UChar32 c);
bool is_space(UChar32 c);
/// Opening brackets and quotation marks. Some of these open in one language and close in another.
bool is_opener(UChar32 c);
bool is_closer(UChar32 c);
bool is_dash(UChar32 c);
bool is_bullet(UChar32 c);
/// True for characters twice as wide as Latin letters, such as those of Chinese, Japanese and Korean.
bool takes_two_columns(UChar32 c);
/// True for characters of Chinese and Japanese, which have no spaces.
bool is_wide(UChar32 c);
/// True for the scripts in which no space says where a word ends, such as those of Chinese, Japanese and Thai.
bool is_written_without_spaces(UChar32 c);
/// True if the character's script has capital letters.
bool is_cased(UChar32 c);
/// True for a small letter that would be a capital at the beginning of a sentence. Georgian has none.
bool is_lower(UChar32 c);
/// True for the scripts of India, Thailand and Laos, in which most vowels are signs beside a letter.
bool has_vowel_signs(UChar32 c);

bool is_number(std::string_view word);
/// True for a day and a month: "27.10".
bool is_day_and_month(std::string_view word);
bool is_roman_number(std::string_view word);
/// The length of the number of an outline that begins there, with a full stop after each part: "1.2.", "B.2.3.",
/// "II.2.1."; 0 if there is none.
size_t outline_number_length(std::string_view text);
/// True if the word has parts of a few letters each: "U.S", "z.B", "Ph.D", "S.p.A", "J.-P", "куб.м", ".NET".
bool is_dotted(std::string_view word);
bool has_letter_or_digit(std::string_view text);
/// True for an abbreviation without a vowel, such as "Nr", "Str" and "пгт". Letters with marks count as those without.
bool has_no_vowel(std::string_view word);

template <class Test>
bool all_characters(std::string_view text, const Test& test) {
  for (const Character& character : Characters(text))
    if (!test(character.code)) return false;
  return true;
}

}  // namespace sentence_characters
}  // namespace v0
}  // namespace transmute
