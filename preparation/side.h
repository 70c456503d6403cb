// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/uscript.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The characters of a text, by kind.
struct CharacterCounts {
  size_t all = 0;      ///< without spaces
  size_t letters = 0;  ///< with their marks
  size_t digits = 0;   ///< digits of any script
  size_t foreign = 0;  ///< letters of other scripts than expected
};

/// True if nothing of a text can be seen: it has only white space and characters that are shown as nothing.
bool is_blank(std::string_view text);

/// Counts characters. Without `scripts` no letter is foreign.
CharacterCounts count_characters(std::string_view text, const std::vector<UScriptCode>& scripts);

/// The letters of the text's words in ASCII that the other text has too, such as names of products and commands.
size_t letters_in_common(std::string_view text, std::string_view other);

/// The letters of a text by their scripts.
void count_scripts(std::string_view text, std::map<UScriptCode, size_t>& letters);

/// The scripts that a language is written in; none if ICU does not know it.
std::vector<UScriptCode> scripts_of_language(const std::string& language);

/// The common part of near duplicates: letters in lower case, digits, and the marks that change a meaning. Spaces,
/// quotation marks, dashes, and the marks that end or divide sentences are left out, but for question marks.
std::string near_duplicate_key(std::string_view text);

/// The words of a text for the alignment, in lower case: runs of letters and digits, of which the first six count, so
/// that most forms of a word are one; in scripts without spaces, each character.
std::vector<std::string> stems_of(std::string_view text);

/// The same words, and between them every other character but white space.
std::vector<std::string> stems_and_marks_of(std::string_view text);

/// The tags and the character references of HTML in a text, such as "b", "/b" and "&nbsp;", sorted.
std::vector<std::string> markup_in(std::string_view text);

}  // namespace v0
}  // namespace transmute
