// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Kinds of text that a translation must contain as the source has it.
enum class ProtectedKind {
  placeholder,  ///< %1$s, %(name)s, %NAME, {0}, ${x}, {% if %}, <%= x %>, [X1X], messages of ICU, &nbsp;, \n, blanks
  argument,     ///< %s, %-5.2f, {}: stands for the next argument of a program, so that its order counts
  accelerator,  ///< the & of &File, the _ of _File
  address,      ///< a web or mail address, @name, #topic
  path,         ///< /usr/lib, C:\Temp, src/main.cpp
  identifier,   ///< hashes, UUIDs, keys and the like, see IdentifierFinder; names of program code, `code`, YYYY-MM-DD
  emoji,        ///< with what modifies it, :smile:, the raised number of a note (.¹), lines of dashes, Open"...",
                ///< the keys that a program asks for: [y,n,q,?]
  marker,       ///< at the start of a text: the "- " of a list's item or of speech, "# ", "> ", "2) ", "(a) "
  emphasis,     ///< the marks of *emphasized* and _emphasized words_, which protected_spans() does not tell
  mnemonic,     ///< likewise a word with a key in brackets, such as E[x]tract
  unknown,      ///< words and characters that the vocabulary lacks
  invisible,    ///< soft hyphens and the like that the vocabulary lacks: no translation needs them
  ascii,        ///< marks that the vocabulary lacks, but can read in ASCII (ascii_of), as translations have them
};

/// Bytes of a text that a translation must contain as they are.
struct ProtectedSpan {
  size_t begin = 0, length = 0;
  ProtectedKind kind = ProtectedKind::placeholder;
};

/// Tells whether the vocabulary lacks a character.
using IsUnknown = std::function<bool(int32_t character)>;

/// The protected spans of a text, in order; no two overlap. Takes linear time. Without `is_unknown` all characters are
/// known. A capital counts as known if the vocabulary has the small letter, which is read in its place.
/// @param may_have_marker whether the text is at the start of a line, where a marker may be
std::vector<ProtectedSpan> protected_spans(const std::string& text, const IsUnknown& is_unknown = {},
                                           bool may_have_marker = true);

}  // namespace v0
}  // namespace transmute
