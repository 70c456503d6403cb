// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/documents/document_file.h>
#include <transmute/documents/xml_parts.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

struct XmlSource;

/// An XML document whose text is translated. Everything else keeps its bytes: paragraphs that do not change, all
/// markup between them, and all elements within them, which move with the words around them. Formatting, as runs and
/// wrappers have it, becomes inline tags.
class XmlTexts : public DocumentFile {
 public:
  /// @param name of the file, for messages
  /// @param on_warning see DocumentFileOptions
  /// @throws std::runtime_error as xml_tokens() does
  XmlTexts(std::string xml, const XmlRules& rules, const std::string& name,
           std::function<void(const std::string& message)> on_warning = {});

  TextFormat text_format() const override { return TextFormat::html; }
  std::string with(const std::vector<std::string>& translations) const override;

 private:
  void add_attributes(const XmlSource& source, size_t tag);
  void add_value(std::string_view value, size_t most_characters, bool is_header = false);
  std::string rendered(const std::vector<std::string>& translations, size_t begin, size_t end) const;
  std::string rendered(const std::vector<std::string>& translations, const XmlParagraph& paragraph) const;
  std::string rendered(const std::vector<std::string>& translations, const XmlMark& mark) const;
  bool is_too_long(const std::string& xml, const XmlParagraph& paragraph) const;
  std::string text_of(const std::vector<std::string>& translations, const XmlPart& part) const;

  std::string xml_, name_;
  std::function<void(const std::string& message)> on_warning_;
  bool has_escapes_;                      // the texts have Excel's escapes
  std::vector<XmlParagraph> paragraphs_;  // in the order of the document; those within another follow it
};

}  // namespace v0
}  // namespace transmute
