// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/xml_parts.h>
#include <transmute/documents/xml_tokens.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The styles that an OpenDocument file defines.
struct XmlStyles {
  std::set<std::string> for_code;            ///< the names of those derived from styles for program code
  std::map<std::string, std::string> looks;  ///< the formatting that a reader sees of each automatic style
};

/// The document that paragraphs are read from.
struct XmlSource {
  std::string_view xml;                 ///< all of it
  const std::vector<XmlToken>& tokens;  ///< the document's tokens
  const XmlRules& rules;                ///< the format's rules
  const XmlStyles& styles;              ///< the document's styles
  std::set<size_t> code{};              ///< see monospaced_code()

  /// The bytes of a token.
  std::string_view bytes(size_t token) const { return between(tokens[token].begin, tokens[token].end); }
  /// The bytes from `begin` to before `end`.
  std::string_view between(size_t begin, size_t end) const { return xml.substr(begin, end - begin); }
  /// True if the local name of a tag is one of the words, which are separated by single spaces.
  bool is_one_of(size_t token, const char* words) const;
  /// True if a style is for program code.
  bool is_for_code(std::string_view style) const;
};

/// Reads the styles that a document defines.
XmlStyles read_styles(std::string_view xml, const std::vector<XmlToken>& tokens, const XmlRules& rules);

/// Cuts a paragraph into texts and what stays.
/// @param start the token of its start tag
/// @param texts gets the paragraph's texts
XmlParagraph read_paragraph(const XmlSource& source, size_t start, std::vector<std::string>& texts);

}  // namespace v0
}  // namespace transmute
