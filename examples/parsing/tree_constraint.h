// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/next_token_constraint.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace transmute {
inline namespace v0 {

/// The symbols of tree_text: `(NP` and `)NP` for phrases, `NN` for words.
struct TreeLabels {
  std::set<std::string> phrases, parts_of_speech;
  /// Number of times that each word had each part of speech; empty: any word may have any.
  std::map<std::string, std::map<std::string, int64_t>> lexicon{};

  /// Adds those of a line of tree_text.
  void add(const std::string& line);
  /// And to the lexicon the words of that tree, separated by spaces.
  /// @throws std::invalid_argument if there are not as many words as parts of speech.
  void add(const std::string& line, const std::string& words);
};

/// Lets a search find nothing but lines of tree_text that are trees over exactly the source's words: one phrase, of
/// which all others are parts, closed in the right order, none of them empty.
///
/// Words are what split_words() finds in the source's text, whatever the tokenizer makes of them. With a lexicon, a
/// word has a part of speech that it had there; a word that is there less than five times may also have one of the
/// open classes, which 50 different words have.
class TreeConstraint : public NextTokenConstraint {
 public:
  /// @throws std::invalid_argument if there are no labels, or one that the vocabulary cannot spell.
  TreeConstraint(const Tokenizer& tokenizer, const TreeLabels& labels);

  std::shared_ptr<const State> begin(const Ids& source, const std::string& text) const override;

 private:
  struct Grammar;
  class Progress;

  std::string comparable(const std::string& word) const;
  void make_lexicon(const TreeLabels& labels);

  Tokenizer tokenizer_;
  std::shared_ptr<Grammar> grammar_;
};

}  // namespace v0
}  // namespace transmute
