// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// A character reference of HTML, such as "&auml;".
struct CharacterReference {
  std::u32string characters;  ///< one character; for some names two
  size_t length = 0;          ///< bytes of the reference in the text; 0: there is none
};

/// The reference that begins with the '&' at `at`, as a browser reads it in text (section 13.2.5.72 of the HTML
/// standard): a number, or the longest name that fits. The semicolon may be missing where browsers do without it, as in
/// "&copy 2020" and "&notit;".
CharacterReference reference_at(std::string_view text, size_t at);

/// The place of the next reference to a line end, such as "&#10;" in the value of an attribute; the text's size if
/// there is none.
size_t find_line_end(std::string_view text, size_t at);

/// Text without markup, with the characters that its references stand for.
std::string with_references_decoded(std::string_view text);

/// The value of an attribute with references for the quotation marks that it is between.
std::string with_marks_escaped(const std::string& value, char mark);

/// True if text without markup has a letter once its references are decoded.
bool has_letters(std::string_view text);

/// Words of the form "name=C1" or "*name=3E+338", in the order of the alphabet; see html_reference_names.cpp.
extern const char* const kHtmlReferenceNames;

}  // namespace v0
}  // namespace transmute
