// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A tag, a comment or a declaration of HTML. All that is between two tokens is text.
struct HtmlToken {
  size_t begin = 0;
  size_t end = 0;           ///< after it; if is_element is set, after the element
  std::string name;         ///< a tag's name in lower case; empty for a comment, a declaration and `is_rest`
  bool is_end_tag = false;  ///< "</p>"
  bool is_element = false;  ///< the element with all that it holds, which has no tags of HTML: script, style, svg, …
  bool in_select = false;   ///< in a select element, where some browsers drop tags
  bool is_rest = false;     ///< all that is left of the text
};

/// True if the name is one of the words, which are separated by single spaces.
bool lists(std::string_view words, const std::string& name);

/// True if markup begins at `at` to a browser: a '<' before a letter, '/', '!' or '?'.
bool begins_markup(std::string_view text, size_t at);

/// "div" of "<DIV class=…>" and "</div>"; empty for a comment, a declaration and what is no tag.
std::string element_name(std::string_view tag);

/// An attribute of a start tag.
struct HtmlAttribute {
  std::string name;   ///< in lower case
  std::string value;  ///< as it is written, without its quotation marks
  size_t begin = 0;   ///< place of the value in the tag
  char quote = 0;     ///< '"', '\'', or 0 for a value without quotation marks
};

/// The attributes of a start tag, in order. The first of a name is the one that counts.
std::vector<HtmlAttribute> attributes_of(std::string_view tag);

/// The tokens of a page or a part of one, in order, as a browser finds them (sections 13.2.5 and 13.2.6 of the HTML
/// standard). Code of PHP is a token. Some texts are read differently by different browsers, with and without scripts,
/// or in ways that only a tree of all elements tells, such as a style sheet with tags in a select element: from there
/// on, the text is one token with `is_rest` set. So is what is never closed. Takes linear time.
std::vector<HtmlToken> html_tokens(const std::string& html);

}  // namespace v0
}  // namespace transmute
