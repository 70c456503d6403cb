// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace transmute {
inline namespace v0 {

/// A script as Word and OpenDocument see it.
struct OfficeScript {
  /// The kinds of scripts with fonts, languages and formats of their own.
  enum Kind : size_t { western, asian, complex };
  Kind kind = western;
  bool is_right_to_left = false;
};

/// The script with a name of ISO 15924, such as "Arab".
OfficeScript office_script(const std::string& name);

/// A part of an Office file, or the package of a book, whose texts have got another script. Bold, italic and size that
/// the file has for the old script are those of the new one, if it has none for that.
///
/// If the direction of writing changes, paragraphs, tables, sections, sheets and pages get the new one, and alignments
/// that do not follow it change sides. In Word and in slides, paragraphs with no letters of the new direction stay, but
/// for those without any letters; in OpenDocument, styles for code stay. Shapes keep their places.
/// @param name of the file, for messages
/// @throws std::runtime_error naming the file, if its XML is not well-formed
std::string xml_in_script(const std::string& name, std::string xml, const OfficeScript& from, const OfficeScript& to);

}  // namespace v0
}  // namespace transmute
