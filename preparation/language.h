// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Tells whether texts are in the language that they should be in, by how languages spell their words.
class LanguageCheck {
 public:
  /// Nothing is known of the language: no text is in another one.
  LanguageCheck() = default;
  /// @param language a code such as "de" or "de-AT". Of some languages nothing is known, see is_known().
  explicit LanguageCheck(const std::string& language);

  /// True if the words of the language are known.
  bool is_known() const { return !code_.empty(); }
  /// The code of the language in the list of known ones; empty if it is none of them.
  const std::string& code() const { return code_; }

  /// The language that a text is in, if that is certainly not the expected one; else empty. Names, abbreviations and
  /// texts of one or two words are not certain.
  std::string other_language(const std::string& text) const;

 private:
  std::string code_;
};

/// The language that most of these texts are in; empty if no known language has half of the texts of which it can be
/// told.
std::string language_of(const std::vector<std::string>& texts);

}  // namespace v0
}  // namespace transmute
