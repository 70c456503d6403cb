// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>

#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// A number of the source that its translation lacks, or a number of the translation that the source lacks.
struct NumberFault {
  ByteSpan source;  ///< empty if the source has no such number
  ByteSpan target;  ///< the number in its place; empty if there is none
};

/// Compares the numbers written in digits, of any script, by value. The separators of thousands and decimals may
/// differ (1,000.5 and 1.000,5; 1.250 counts as thousands), as may the order of dates and the clock (5 p.m. and 17
/// Uhr). A month of Chinese, Japanese, Korean or Vietnamese (12月) may be a name. A number that one side spells out is
/// accepted if ICU spells it so in one of many languages, but for the last letters in languages that inflect numbers. A
/// whole number that is said twice may be said once. The 2 of m² is a number only where the other side has it.
/// @param ignored_source spans whose digits are no numbers, such as those of addresses; likewise `ignored_target`
std::vector<NumberFault> compare_numbers(std::string_view source, std::string_view target,
                                         const std::vector<ByteSpan>& ignored_source = {},
                                         const std::vector<ByteSpan>& ignored_target = {});

}  // namespace checks
}  // namespace v0
}  // namespace transmute
