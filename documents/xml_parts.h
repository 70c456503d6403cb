// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/style_fonts.h>
#include <transmute/documents/xml_text.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

/// An attribute whose value people read, by the names of its element and its own, without prefixes.
struct XmlAttribute {
  std::string_view element, name;
  size_t most_characters = 0;  ///< as XmlRules::most_characters
};

/// The meaning of an XML format's elements for a translation: names without prefixes, separated by single spaces.
struct XmlRules {
  const char* paragraphs = "";  ///< hold text that is translated together
  const char* runs = "";        ///< stretches of a paragraph with one formatting; none: the text is there directly
  const char* wrappers = "";    ///< within a paragraph, go with the words that they hold: hyperlinks and the like
  const char* borders = "";     ///< end the text before them: tabs, line breaks
  const char* dropped = "";     ///< tell nothing to a reader: marks of a spelling checker
  const char* skipped = "";     ///< nothing that they hold is translated
  const char* headers = "";     ///< of printed sheets: hold texts between codes such as &P, and at most 255 characters
  std::vector<XmlAttribute> attributes{};  ///< have texts, too
  size_t most_characters = 0;  ///< of a paragraph, in units of UTF-16; one that would have more stays; 0: any number
  bool keeps_lines = false;    ///< a line end within text is one to the reader too, and so is _x000D_
  bool has_string_values = false;  ///< cells may have their text in an attribute, too
  /// True for further elements to skip.
  bool (*skips)(std::string_view name, std::string_view tag, std::string_view content) = nullptr;
  std::shared_ptr<const KeptTexts> kept_texts{};  ///< texts of paragraphs that stay; null: none
  std::shared_ptr<const StyleFonts> fonts{};      ///< those of the document, with which code is found; null: none
};

/// An inline tag of a text, or an element that is kept: `before`, the bytes from `begin` to before `end`, and
/// `after`.
struct XmlMark {
  std::string before, after;
  size_t begin = 0, end = 0;  ///< places in the document; paragraphs within are translated
  bool is_format = false;     ///< text within is between `before` and `after`
};

/// A stretch of a paragraph: a text to be translated, or bytes that stay.
struct XmlPart {
  XmlMark kept;
  size_t text = std::string::npos;  ///< its number
  std::vector<XmlMark> marks;       ///< the text's marks, by the numbers in its tags
  XmlMark format;                   ///< format of the text outside of marks that are formats
};

/// The content of a paragraph, between its tags, or the value of an attribute, between its quotation marks.
struct XmlParagraph {
  size_t begin = 0, end = 0;
  std::vector<XmlPart> parts{};
  size_t most_characters = 0;  ///< see XmlRules
};

}  // namespace v0
}  // namespace transmute
