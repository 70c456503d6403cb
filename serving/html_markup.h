// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// What markup means for a translation.
enum class MarkupKind {
  inline_tag,  ///< goes with the words around it
  kept,        ///< stays as it is, with all that it holds, among the words around it
  border,      ///< ends the text before it; with all that it holds, where that is not to be translated
};

/// Markup of HTML, as a browser reads it.
struct Markup {
  MarkupKind kind;
  size_t end;  ///< behind it
};

/// Whether markup begins at `at` to a browser: a '<' with a letter, '/', '!' or '?' behind it.
bool begins_markup(std::string_view text, size_t at);

/// The markup that begins at `at`, where begins_markup holds. What is never closed goes to the end of the
/// text. An element that is not to be translated (script, style, code, …, translate="no", class="notranslate") goes to
/// its end tag or, where that may be left out (li, p, td, …), to where a browser ends it.
Markup markup_at(const std::string& html, size_t at);

/// "div" of "<DIV class=…>" and "</div>"; empty for a comment, a declaration and what is no tag.
std::string element_name(std::string_view tag);

/// Hands out the text between markup, and the markup, in order: on_text(std::string), on_markup(std::string, kind).
template <class OnText, class OnMarkup>
void walk_html(const std::string& html, const OnText& on_text, const OnMarkup& on_markup) {
  size_t text = 0;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    if (!begins_markup(html, at)) {
      ++at;
      continue;
    }
    const Markup markup = markup_at(html, at);
    on_text(html.substr(text, at - text));
    on_markup(html.substr(at, markup.end - at), markup.kind);
    text = at = markup.end;
  }
  on_text(html.substr(text));
}

}  // namespace v0
}  // namespace transmute
