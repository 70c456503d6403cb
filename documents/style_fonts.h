// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Tells which fonts are monospaced: those of the styles of Word and OpenDocument, by the names of the styles, and
/// those that tags name.
class StyleFonts {
 public:
  /// Adds the fonts and styles that an XML file declares. They replace those of the same names.
  void add(std::string_view xml);

  /// True if the font that a style has or inherits is monospaced; nothing if it has none.
  std::optional<bool> of_style(std::string_view style) const;
  /// True if the font that a tag names is monospaced; nothing if it names none.
  std::optional<bool> of_tag(std::string_view tag) const;
  /// True if text without a style has a monospaced font.
  bool is_monospaced_by_default() const;

 private:
  struct Style {
    std::string parent;
    std::optional<bool> is_monospaced{};
  };
  std::map<std::string, Style, std::less<>> styles_;  // that without a name has the defaults of the document
  std::string default_style_ = "Standard";            // of OpenDocument; Word marks its own
  std::set<std::string, std::less<>> fonts_;          // names that a document gives to monospaced fonts
};

}  // namespace v0
}  // namespace transmute
