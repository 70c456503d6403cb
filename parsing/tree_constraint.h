// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/search/next_token_constraint.h>

#include <memory>
#include <set>
#include <string>

namespace transmute {
inline namespace v0 {

/// The symbols of tree_text: `(NP` and `)NP` for phrases, `NN` for words.
struct TreeLabels {
  std::set<std::string> phrases, parts_of_speech;

  /// Those of a text of tree_text's lines.
  void add(const std::string& line);
};

/// Lets a search find nothing but lines of tree_text that are trees over exactly the source's words: one phrase, of
/// which all others are parts, closed in the right order, none of them empty.
///
/// Words are what white space separates in the source.
class TreeConstraint : public NextTokenConstraint {
 public:
  /// @throws std::invalid_argument where there are no labels, or one that the vocabulary cannot spell.
  TreeConstraint(const Tokenizer& tokenizer, const TreeLabels& labels);

  std::shared_ptr<const State> begin(const Ids& source) const override;

 private:
  struct Grammar;
  class Progress;

  std::shared_ptr<const Grammar> grammar_;
};

}  // namespace v0
}  // namespace transmute
