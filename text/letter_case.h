// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The case of a text's letters.
enum class TextCase {
  mixed,     ///< as sentences usually are, or without upper case and lower case
  capitals,  ///< ALL IN CAPITALS, but for one letter in ten at most
  title,     ///< Every Word Begins With a Capital, articles and short prepositions of English headlines excepted
  label,     ///< CAPITALS: as sentences usually are after the label in capitals; case_of() calls it mixed
};

/// Fewer words may be names or acronyms.
constexpr size_t kLeastWords = 3;

/// True for an article, conjunction or short preposition of English, in small letters.
bool is_small_word(std::string_view word);

/// The case of a text. Letters that have no capital of their own, such as ß, count as neither, but those of scripts
/// without case, such as Hebrew and Chinese, count as small. A title has three words at least, as names have fewer.
TextCase case_of(const std::string& text);

/// The number of words that have letters.
size_t number_of_words(const std::string& text);

/// True for a word that has a capital after a small letter: GitHub, MacKenzie.
bool has_capital_within(std::string_view word);

/// The length of what labels a text: the words before its first colon, with the colon, or those in the brackets that it
/// begins with, such as "[DOOR OPENS]". 0: nothing does.
size_t label_length(const std::string& text);

/// True for a label in capitals that may have more than acronyms: of five words at most, one of them of four letters.
bool is_label_in_capitals(const std::string& label);

/// A text after a change of case, which may change the length of letters: ß becomes SS; or of some of its words.
struct RecasedText {
  std::string text;
  /// The place in `text` of each byte of the original, and of its end.
  std::vector<size_t> places{0};

  /// The place in `text` of a range of bytes of the original.
  std::pair<size_t, size_t> now(const std::pair<size_t, size_t>& before) const;
  /// The bytes of the original that these bytes of `text` come from.
  std::pair<size_t, size_t> before(const std::pair<size_t, size_t>& now) const;
  /// Appends what follows in the original.
  void append(const RecasedText& next);
  /// Appends what follows in the original and stays as it is.
  void append_unchanged(const std::string& next);
  /// Appends what takes the place of the next `length` bytes of the original.
  void append_instead(size_t length, const std::string& replacement);
};

/// The locale whose rules change the case of a text.
/// @param language as ICU or a model names it: "tr", "tur", "tur_Latn", "ell"; empty: unknown
std::string case_locale(const std::string& text, const std::string& language);

/// The text in lower case.
/// @param locale see case_locale
RecasedText in_lower_case(const std::string& text, const std::string& locale);
/// The text in capitals.
RecasedText in_capitals(const std::string& text, const std::string& locale);
/// The first letter of each word as a capital, the others in lower case.
RecasedText in_title_case(const std::string& text, const std::string& locale);
/// The first letter of each word as a capital, the others as they are.
RecasedText with_capital_words(const std::string& text, const std::string& locale);

}  // namespace v0
}  // namespace transmute
