// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/term_finder.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A source term in a text.
struct TermMatch {
  size_t begin, end;         ///< bytes of the text, from `begin` to before `end`
  std::string target;        ///< the target term
  bool has_capital = false;  ///< the text has a capital where the term has none
};

/// The terms that a translation must contain, by the words of its source.
class Glossary {
 public:
  /// Without terms.
  Glossary() = default;
  /// @throws std::invalid_argument for a term without content or that is not UTF-8, and if a source term has two
  /// translations.
  explicit Glossary(const std::vector<GlossaryEntry>& entries);

  /// The source terms that are in the text as whole words, in its order. In scripts without spaces between words
  /// (Chinese, Japanese, Thai) they may be anywhere. White space matches any white space, however long. A letter
  /// with an accent matches the letter and its combining accent. Of those that begin at the same place the longest
  /// counts, and nothing inside it. The first word of the text may begin with a capital that its term lacks.
  std::vector<TermMatch> matches_in(const std::string& text) const;

 private:
  struct Term {
    size_t length;  // bytes of the source term, in NFC and with single spaces
    std::string target;
  };

  std::vector<Term> terms_;
  TermFinder finder_;  // finds the source terms
};

/// Reads "source term<tab>target term" lines, plain or gzipped; empty lines and lines that begin with # and have no
/// tab are passed over.
/// @param target a vocabulary that must be able to write the target terms; null: any term will do
/// @throws std::runtime_error naming file and line.
std::vector<GlossaryEntry> read_glossary(const std::string& path, const SubwordModel* target = nullptr);

/// True if token `after` continues the word that token `before` ends with. In scripts without spaces between words none
/// does. A byte of a character that has no piece of its own counts as a part of a word.
bool continues_word(const SubwordModel& vocabulary, int64_t before, int64_t after);

/// True if each character of the text is in the vocabulary.
bool can_write(const SubwordModel& vocabulary, const std::string& text);

}  // namespace v0
}  // namespace transmute
