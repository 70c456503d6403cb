// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/glossary.h>
#include <transmute/text/sentence_language.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Cuts UTF-8 text where sentences end. A full stop after an abbreviation, an initial, a number or within an address is
/// no end where the language and what follows say so; docs/translating.md lists the rules. Line ends end sentences.
class SentenceSplitter {
 public:
  /// `language`: any usual name of the language of the texts, such as "de", "deu" or "deu_Latn"; empty or unknown:
  /// found out from the words of each text. `words`: further words that a full stop follows within sentences, in lower
  /// case.
  explicit SentenceSplitter(const std::string& language = {}, const std::vector<std::string>& words = {});

  /// A splitter with the same words for another language.
  SentenceSplitter with_language(const std::string& language) const;

  /// The first byte of each sentence and the one after its last. White space around sentences belongs to none. No
  /// sentence ends within a source term of the glossary.
  /// @param line_ends bytes at which a sentence ends in any case, in ascending order
  std::vector<std::pair<size_t, size_t>> spans(const std::string& text, const Glossary& glossary = {},
                                               const std::vector<size_t>& line_ends = {}) const;

  /// The sentences themselves.
  std::vector<std::string> split(const std::string& text, const Glossary& glossary = {}) const;

 private:
  LanguageSet languages_;  // 0: to be guessed
  std::shared_ptr<const std::unordered_set<std::string>> words_;
};

/// The text between two sentences of a translation: `gap`, but no space where either is empty or in Chinese or
/// Japanese. Line ends stay.
std::string space_between(const std::string& sentence, const std::string& next, std::string_view gap = " ");

}  // namespace v0
}  // namespace transmute
