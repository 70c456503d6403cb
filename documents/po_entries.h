// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A keyword of a catalog and its string.
struct PoField {
  size_t begin = 0, end = 0;  ///< bytes of the file: its lines, without the last line end
  std::string text;           ///< decoded
};

/// A message of a catalog.
struct PoEntry {
  size_t begin = std::string::npos;         ///< where it begins after comments and flags: at "#| …", msgctxt or msgid
  size_t flags = 0;                         ///< where the flags of a line "#, …" begin; 0 without one
  bool is_fuzzy = false;                    ///< whether the translation waits for a review
  bool has_id = false, has_plural = false;  ///< whether msgid and msgid_plural are there
  std::string context, id, plural;          ///< msgctxt, msgid and msgid_plural
  std::vector<PoField> translations;        ///< msgstr, or msgstr[0], msgstr[1], …
};

/// The entries of a catalog of GNU gettext, the header among them, whose id is empty. Obsolete ones are left out.
/// @param name of the file, for messages
/// @throws std::runtime_error naming the file and the line that is not one of a catalog
std::vector<PoEntry> po_entries(const std::string& name, const std::string& content);

}  // namespace v0
}  // namespace transmute
