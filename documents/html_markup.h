// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/html_tokens.h>

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The meaning of a piece of HTML for a translation.
enum class HtmlKind {
  text,        ///< to be translated
  inline_tag,  ///< goes with the words around it
  kept,        ///< stays as it is, with all that it holds, among the words around it
  border,      ///< ends the text before it; with all that it holds, where that is not to be translated
};

/// The value of an attribute that people read or hear, such as that of alt: bytes from `begin` to before `end`.
struct HtmlValue {
  size_t begin = 0, end = 0;
  char quote = 0;  ///< as HtmlAttribute::quote
};

/// A piece of HTML: bytes from `begin` to before `end`.
struct HtmlPiece {
  HtmlKind kind = HtmlKind::text;
  size_t begin = 0, end = 0;
  std::vector<HtmlValue> values{};  ///< texts within it that are to be translated, in order; none if kind is kept
};

/// All pieces of a page or a part of one, in order. An element that is not to be translated (script, style, code, …,
/// translate="no", class="notranslate", a link of class "mention" or with one language in lang and hreflang, a
/// declaration in documentation of code) is one piece, to its end tag or, where that may be left out (li, p, td, …), to
/// where a browser ends it. A head's title is text between two pieces. Tags and a head's descriptions of its page have
/// values to be translated. What is never closed goes to the end of the text. Commands of templates, such as
/// {% if user %} and <%= price %>, are pieces of their own.
std::vector<HtmlPiece> html_pieces(const std::string& html);

}  // namespace v0
}  // namespace transmute
