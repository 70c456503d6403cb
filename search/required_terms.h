// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// The number of hypotheses by which a sentence's beam grows for the terms that its translation must contain.
TRANSMUTE_API int64_t hypotheses_for_terms(const std::vector<Ids>& terms);

/// A hypothesis's progress with the terms that it must contain.
class TRANSMUTE_API TermsSoFar {
 public:
  TermsSoFar() = default;  ///< no terms are required
  /// A hypothesis without tokens. `terms` and `is_inside_word` (SearchContext, may be null) must outlive the object.
  explicit TermsSoFar(const std::vector<Ids>& terms,
                      const std::function<bool(int64_t before, int64_t after)>* is_inside_word = nullptr)
      : terms_(&terms), is_inside_word_(is_inside_word), has_(terms.size()) {}

  /// Number of tokens of the terms generated so far.
  size_t tokens() const { return tokens_ + open_.size(); }
  /// True if all terms have been generated.
  bool complete() const { return terms_ == nullptr || std::find(has_.begin(), has_.end(), false) == has_.end(); }

  /// The tokens that would make progress: the next ones of the terms that have begun, or the first ones of those that
  /// remain.
  std::vector<int64_t> wanted() const;

  /// True if the last tokens are a term, which counts unless the next token continues its word.
  bool at_end_of_term() const { return ended_ != kNone || (!open_.empty() && find(open_) < has_.size()); }
  /// True if the token continues the word that the last token ends with.
  bool is_inside_word(int64_t token) const { return is_glued(open_.empty() ? last_ : open_.back(), token); }

  /// Adds a token to the hypothesis.
  void add(int64_t token);

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  bool is_glued(int64_t before, int64_t after) const {
    return before >= 0 && is_inside_word_ != nullptr && *is_inside_word_ && (*is_inside_word_)(before, after);
  }
  // True if a term that remains begins with these tokens and has at least so many more.
  bool is_begun(const Ids& tokens, size_t more) const;
  // The first term that remains and has just these tokens; terms_->size() where there is none.
  size_t find(const Ids& tokens) const;
  // Counts the first open tokens as a term; returns false if they are not one, or if the next token continues their
  // word.
  bool finish(size_t count);
  // Makes the first open tokens part of what precedes.
  void leave_behind(size_t count);

  const std::vector<Ids>* terms_ = nullptr;  // null: none
  const std::function<bool(int64_t, int64_t)>* is_inside_word_ = nullptr;
  std::vector<bool> has_;
  size_t tokens_ = 0;  // in finished terms
  Ids open_;           // the last tokens, with which terms that remain begin
  int64_t last_ = -1;  // the token before the open ones; -1: none
  // The index of the term that the last tokens form, and the token before it. A next token that continues its word
  // revokes it.
  size_t ended_ = kNone;
  int64_t before_ended_ = -1;
};

}  // namespace search
}  // namespace v0
}  // namespace transmute
