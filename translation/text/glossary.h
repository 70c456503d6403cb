// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/types.h>

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Which terms a translation must contain, by the words of its source.
class Glossary {
 public:
  /// @throws std::invalid_argument for a term without content or that is not UTF-8, and where a source term has two
  /// translations.
  explicit Glossary(const std::vector<GlossaryEntry>& entries);

  /// The target terms of those source terms that stand in the text as whole words, each once, in the order of the text.
  /// In scripts without spaces between words (Chinese, Japanese, Thai) they may stand anywhere. Of those that begin at
  /// the same place the longest counts, and nothing inside it.
  std::vector<std::string> terms_for(const std::string& text) const;

 private:
  std::unordered_map<std::string, std::string> targets_;  // by source term
  std::set<size_t, std::greater<>> lengths_;              // of the source terms
};

/// Reads "source term<tab>target term" lines, plain or gzipped; empty lines and lines that begin with # and have no
/// tab are passed over.
/// @param target a vocabulary that must be able to write the target terms; null: any term will do
/// @throws std::runtime_error naming file and line.
std::vector<GlossaryEntry> read_glossary(const std::string& path, const SubwordModel* target = nullptr);

/// Whether each character of the text is in the vocabulary.
bool can_write(const SubwordModel& vocabulary, const std::string& text);

}  // namespace v0
}  // namespace transmute
