// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/letter_case.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// True for superscripts, subscripts and fractions that are no letters: ², ₂, ⁻, ½, ™.
bool is_raised(int32_t character);

/// The words of a text that have such characters. Most vocabularies read them in the compatible form (NFKC): 10⁶ as
/// 106, "CO₂" as "CO2", and write them so.
class WrittenForms {
 public:
  WrittenForms() = default;
  explicit WrittenForms(const std::string& source);

  bool exist() const { return !words_.empty(); }

  /// The translation with the words as the source has them. One stays that the translation has more often, or whose
  /// compatible form the source has, too. Of a word that was translated, as one before the mark of a note (word¹), the
  /// end alone is found.
  RecasedText restore(const std::string& translation) const;
  /// Leaves what the caller demands of the translation as it is.
  void leave(const std::string& demanded);

 private:
  struct Word {
    std::string written, compatible;
    size_t count = 1;
  };

  std::vector<Word> words_, ends_;
};

}  // namespace v0
}  // namespace transmute
