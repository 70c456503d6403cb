// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/umachine.h>

#include <cstddef>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// The columns that a character takes on a screen: two in Chinese, Japanese and Korean, and none for marks on letters.
size_t columns_of(UChar32 c);

/// The sum of the columns of a text's characters.
size_t columns_in(std::string_view text);

}  // namespace v0
}  // namespace transmute
