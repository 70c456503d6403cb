// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// A character reference of HTML, such as "&auml;".
struct CharacterReference {
  uint32_t character = 0;  ///< 0: there is none
  size_t length = 0;       ///< in the text, in bytes
};

/// The reference that begins with the '&' at `at`, as a browser reads it in text: a number, or a name of HTML 4,
/// "apos" or one in capitals such as "AMP". The semicolon may be missing where browsers do without it, as in "&copy
/// 2020".
CharacterReference reference_at(std::string_view text, size_t at);

}  // namespace v0
}  // namespace transmute
