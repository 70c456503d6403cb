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

/// The length of the white space and the marks of quotation ("> ") that a line begins with.
size_t indentation_length(std::string_view line);

/// True for a line of plain text whose cells are between bars: "| one | two |", "One | Two | Three". Cells without a
/// capital need a neighbor: a line of as many bars, or the rule of a table, "---+---". A rule without bars may be
/// between two rows.
/// @param begin place of the line in the text
bool is_row_with_bars(std::string_view text, size_t begin);

/// The number of the spaces at `at`, at least four, that keep columns of plain text apart; 0 for fewer.
size_t gap_length(std::string_view text, size_t at);

}  // namespace v0
}  // namespace transmute
