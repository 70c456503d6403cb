// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace transmute {
inline namespace v0 {

// Truecasing: the first word of a sentence gets the case that it has within sentences, so that "The" and "the" are one
// word to the model; a translation gets its capital back. All changes here keep the number of bytes: a letter whose
// other case takes more or fewer stays as it is.

/// True if normalizations of this name truecase: nmt_nfkc_tc.
bool is_truecasing(std::string_view normalization);

/// The text with the first letter in lower case if that begins a word such as "The", which `is_lower(capital, lower)`
/// would have begin in lower case; marks and spaces may precede it. Words such as "NASA" and "2nd" stay as they are.
std::string truecased(std::string_view text,
                      const std::function<bool(const std::string& capital, const std::string& lower)>& is_lower);

/// The text with its first letter as a capital, if nothing but marks and spaces precedes it. In Turkish, i stays; in
/// Dutch, the capital is the next word's after one such as "'s": "'s Avonds".
std::string with_capital(std::string text, bool is_turkish);

/// True if the text begins with a letter in lower case that could be a capital there, or with marks or spaces and then
/// one. Georgian has no such letters.
bool begins_in_lower_case(std::string_view text);

/// True if the text begins with a capital, or with marks or spaces and then one.
bool begins_in_upper_case(std::string_view text);

/// The text in lower case, which is the same for a translation before and after with_capital().
std::string without_capitals(std::string text);

/// Truecases the lines that a vocabulary is learned from.
class Truecaser {
 public:
  /// The line with its first word in the case that is more frequent within the lines so far, their beginnings aside.
  std::string next(const std::string& line);

 private:
  std::unordered_map<std::string, int64_t> counts_;
};

}  // namespace v0
}  // namespace transmute
