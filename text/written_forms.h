// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/rewriting.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// True for superscripts, subscripts, fractions and square units: ², ₂, ⁻, ½, ™, ㎡, º. Most raised letters are for
/// phonetics, and none.
bool is_raised(int32_t character);

/// The words of a text that have such characters, and its ellipses. Most vocabularies read them in the compatible form
/// (NFKC): 10⁶ as 106, "CO₂" as "CO2", … as three full stops, and write them so.
class WrittenForms {
 public:
  explicit WrittenForms(const std::string& source);

  bool exist() const { return !forms_.empty(); }

  /// Writes the words as the source has them: in its order if there are as many, and otherwise if all of the source are
  /// alike and the translation has no more. Of a word that was translated, as one before the mark of a note (word¹),
  /// the end alone is found.
  void restore(Rewriting& translation) const;

 private:
  struct Form {
    std::vector<std::string> compatible;                    // with either decimal separator
    size_t tail;                                            // bytes of it, at its end, that are written in another way
    bool is_end;                                            // of a word: what is before it counts for nothing
    std::vector<std::pair<size_t, std::string>> written{};  // by place in the source; empty for the compatible form
  };

  // The tails of the form in a text.
  static std::vector<ByteSpan> places_of(const std::string& text, const Form& form);
  void add(size_t place, const std::string& head, const std::string& written, bool is_end);

  std::vector<Form> forms_;
};

}  // namespace v0
}  // namespace transmute
