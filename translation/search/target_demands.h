// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// What translations must have in them; each list has one entry for each sentence, or none at all.
struct TargetDemands {
  std::vector<Ids> prefixes{};  ///< how the translation begins
  /// So many tokens of each prefix say what is asked for, such as the language: their probabilities count as 1.
  std::vector<int64_t> given_tokens{};
  std::vector<std::vector<Ids>> terms{};  ///< what it contains, in any order; none is empty
  bool prefixes_are_complete = false;     ///< the end follows: nothing is left to search, and the scores are theirs
  /// The only tokens that it is made of, beside those of its prefix and its terms; probabilities are shares among them.
  std::vector<Ids> shortlists{};
  Ids excluded{};  ///< no translation has these tokens; one list for all sentences
};

namespace search {

/// @throws std::invalid_argument where a list has not one entry for each sentence, or a term cannot be met.
/// `is_search`: neither sampling nor alternatives.
TRANSMUTE_API void check(const TargetDemands& demands, size_t sentences, bool is_search);

/// For each sentence that has a shortlist, without what is excluded, what the columns of its logits are to be: the
/// reserved tokens, so that they stand where they stand in the vocabulary, the shortlist and what is demanded, in
/// ascending order.
TRANSMUTE_API std::vector<Ids> completed_shortlists(const TargetDemands& demands);

/// How far a hypothesis is with the terms that it must contain.
class TRANSMUTE_API TermsSoFar {
 public:
  TermsSoFar() = default;  ///< no terms are demanded
  /// A hypothesis without tokens. `terms` must outlive the object.
  explicit TermsSoFar(const std::vector<Ids>& terms) : terms_(&terms), has_(terms.size()) {}

  /// Tokens of the terms that it has.
  size_t tokens() const { return tokens_ + position_; }
  /// Whether it has all of them.
  bool complete() const { return terms_ == nullptr || std::find(has_.begin(), has_.end(), false) == has_.end(); }

  /// What would bring it further: the next token of the term that it is in the middle of, or the first of the others.
  std::vector<int64_t> wanted() const;

  /// Goes on with a token.
  void add(int64_t token);

 private:
  const std::vector<Ids>* terms_ = nullptr;  // null: none
  std::vector<bool> has_;
  size_t tokens_ = 0;    // of the terms that it has whole
  size_t term_ = 0;      // that it is in the middle of,
  size_t position_ = 0;  // tokens of it that have been met
};

}  // namespace search

}  // namespace v0
}  // namespace transmute
