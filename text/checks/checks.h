// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/expectations.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace checks {

/// Compares the two texts: numbers, kept text, repetition, a copy, a foreign script, and brackets.
std::vector<TranslationWarning> check_texts(std::string_view source, std::string_view target,
                                            const Expectations& expected);

/// Adds a warning to those of a text. Of each kind only the first 100 are kept, and the last of these says that there
/// are more.
void add_warning(TranslationWarning warning, std::vector<TranslationWarning>& all);

/// True if a translation of several words has hardly a word that its source lacks.
bool is_copy(std::string_view source, std::string_view target);

/// True if at least half of a translation's words are words of its source.
bool is_half_copied(std::string_view source, std::string_view target);

/// The number of standard deviations by which the length of a translation, in characters, is above the expected one;
/// negative below it.
double length_deviation(std::string_view source, std::string_view target, const Expectations& expected);

}  // namespace checks
}  // namespace v0
}  // namespace transmute
