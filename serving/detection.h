// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A language that a text may be in.
struct DetectedLanguage {
  std::string code;
  double confidence = 0;  ///< 0 to 100; 0 if the text tells nothing
};

/// Finds the language of a text by the spelling of its words and by the Compact Language Detector 2 (Debian's libcld2);
/// languages without a list of words are recognized by the latter alone. Returns the best first, and at least one.
/// `confidence` is the probability, in percent, that the text is in this language rather than in another one of the
/// choice or in none.
/// @param text valid UTF-8
/// @param is_html whether the text's tags are left out and its references decoded
std::vector<DetectedLanguage> detect_language(const std::string& text, const std::vector<std::string>& languages,
                                              bool is_html = false);

}  // namespace v0
}  // namespace transmute
