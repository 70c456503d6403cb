// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/source_parts.h>
#include <transmute/tokenizer/tokenizer.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Gives translations the case of their sources, where these were read in another one.
class SourceCase {
 public:
  /// @param sources,tokenizer must live as long
  /// @param target_language TranslationOptions::target_language
  SourceCase(const SourceTexts& sources, const Tokenizer& tokenizer, std::string target_language);

  /// The text as the model read it; null if that is the text as it was written.
  const RecasedText* read(size_t text) const;

  /// The translation of a text for which read() is not null. The caller's prefix and terms stay as they are, as do the
  /// source's spans of fixed case.
  /// @param ends where the translation of each part of the text ends
  RecasedText restore(size_t text, const std::vector<size_t>& ends, const std::string& translation) const;
  /// The translation of a part in the source's case.
  RecasedText restore(const SourcePart& part, const std::string& translation) const;

 private:
  std::string language_of(const SourcePart& part) const;
  std::vector<std::pair<size_t, size_t>> demanded_in(const SourcePart& part, const std::string& translation) const;

  const SourceTexts& sources_;
  const Tokenizer& tokenizer_;
  std::string target_language_;
  bool writes_turkish_ = false;  // the vocabulary, as far as it shows
};

}  // namespace v0
}  // namespace transmute
