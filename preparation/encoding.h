// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Mends what wrong conversions have done to a text, where that can be undone for certain: UTF-8 that was read as
/// Windows-1252 or Latin-1, once or several times ("fÃ¼r"), and characters of Windows-1252 that became control
/// characters. Tabs, vertical tabs, form feeds and separators become spaces. Removes other control characters and the
/// spaces at both ends.
/// @param text valid UTF-8
/// @returns whether characters other than spaces have changed
bool mend_encoding(std::string& text);

/// True if a mended text still shows that characters were lost: U+FFFD, "fÃr", or a question mark within a word, or
/// before one where `other`, the other side of the pair, asks nothing.
bool has_lost_characters(std::string_view text, std::string_view other);

}  // namespace v0
}  // namespace transmute
