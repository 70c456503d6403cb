// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/xml_tokens.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// True for a text, which may be a CDATA section.
bool is_xml_text(const XmlToken& token);

/// The characters that a text stands for.
std::string xml_text(std::string_view xml, const XmlToken& token);

/// The text without the control characters that XML has no way to write.
std::string without_forbidden(std::string_view text);

/// Bytes of an escape of Excel, such as _x000D_ (ISO/IEC 29500-1, section 22.9.2.19).
constexpr size_t kExcelEscapeBytes = 7;
/// The unit of UTF-16 of the escape at `at`; nothing if there is none.
std::optional<uint32_t> excel_escape_at(std::string_view text, size_t at);
/// The text with the characters that its escapes mean.
std::string with_excel_escapes_decoded(std::string_view text);
/// The text as Excel writes it, if what looks like an escape is none: _x005F_x000D_ for _x000D_.
std::string excel_escaped(std::string_view text);

/// Texts that stay because other places refer to them. White space, capitals and the operator of a criterion such as
/// "<>Monday" make no difference, as in formulas.
class KeptTexts {
 public:
  void add(std::string_view text);
  /// Adds all short texts of a pattern in which * stands for any characters, unless so little is given that most texts
  /// would be among them.
  void add_pattern(std::string_view pattern);
  bool contain(const std::string& text) const;

 private:
  static constexpr size_t kMostCharacters = 40;  // of a short text; a longer one is prose
  std::set<std::string> texts_, patterns_;
};

/// True for the description of a picture or a chart that programs make: what is no language, the name of a picture's
/// file, which may have spaces, or the address of a file or of cells.
bool is_made_description(std::string_view text);

/// True if the text has at least `fewest` words, and most are several small letters, before a comma or the like.
bool has_small_words(std::string_view text, size_t fewest);

/// The text as XML writes it between tags.
std::string xml_escaped(std::string_view text);

/// The text as a CDATA section.
std::string xml_cdata(std::string_view text);

}  // namespace v0
}  // namespace transmute
