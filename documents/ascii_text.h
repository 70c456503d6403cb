// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// True if all characters are ASCII.
bool is_ascii(std::string_view text);

/// UTF-8 with an escape such as \u00e4 in the place of each character that is not ASCII, or of both halves of one that
/// takes two in UTF-16.
std::string with_utf16_escapes(std::string_view text);

}  // namespace v0
}  // namespace transmute
