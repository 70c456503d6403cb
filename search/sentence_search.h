// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/random.h>
#include <transmute/search/hypothesis.h>
#include <transmute/search/next_token_constraint.h>
#include <transmute/search/required_terms.h>
#include <transmute/search/search_request.h>
#include <transmute/search/top_candidates.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// The logarithm of no probability.
constexpr double kNever = -std::numeric_limits<double>::infinity();

struct LiveHypothesis {
  std::shared_ptr<const TokenNode> last;  // null: nothing but begin
  double log_probability = 0;
  int64_t row = 0;  // of this hypothesis' parent in the last step
  TermsSoFar terms{};
  std::shared_ptr<const NextTokenConstraint::State> constraint{};  // null: none
};

/// A column whose logit is divided by `penalty` where it is positive and multiplied where it is negative; infinity
/// suppresses it.
struct ChangedLogit {
  int64_t column;
  double penalty;
};

/// One sentence's part of the search.
class SentenceSearch {
 public:
  /// `request` and `context` must outlive the object.
  SentenceSearch(size_t index, const SearchRequest& request, const SearchOptions& options,
                 const SearchContext& context);

  size_t index() const { return index_; }
  /// The sentence's index in the batch, which changes when other sentences leave.
  int64_t place() const { return place_; }
  void move_to(int64_t place) { place_ = place; }
  /// The options of the search, with this sentence's beam size.
  const SearchOptions& options() const { return options_; }
  /// completed_shortlist() of the request; nothing if all tokens have columns.
  const std::optional<Ids>& shortlist() const { return shortlist_; }
  /// Number of columns of the sentence's logits: all tokens, or those of its shortlist.
  int64_t columns(int64_t vocabulary) const {
    return shortlist_ ? static_cast<int64_t>(shortlist_->size()) : vocabulary;
  }
  int64_t token_of(int64_t column) const { return shortlist_ ? (*shortlist_)[static_cast<size_t>(column)] : column; }
  /// The token's column; nothing if the token is not on the shortlist.
  std::optional<int64_t> column_of(int64_t token) const;
  /// Tokens that are never chosen, in addition to padding, unknown and begin; empty if the shortlist already leaves
  /// them out.
  const Ids& excluded() const;
  int64_t beam() const { return options_.beam_size; }
  /// Number of candidates that a step needs. For a beam of N, at most N of 2N candidates can be ends. Greedy search is
  /// done at the first end.
  size_t candidates() const { return static_cast<size_t>(beam() == 1 ? 1 : 2 * beam()); }
  bool has_terms() const { return term_tokens_ > 0; }
  const std::vector<LiveHypothesis>& live() const { return live_; }
  /// Number of tokens of each live hypothesis.
  int64_t length() const { return length_; }
  int64_t prefix_length() const { return static_cast<int64_t>(request_->prefix.size()); }
  /// True if nothing but the end follows the prefix.
  bool is_known() const { return max_length_ == prefix_length(); }
  int64_t prefix_token(int64_t position) const { return request_->prefix[static_cast<size_t>(position)]; }
  /// True if the next token is part of the request, such as the language, and not of the translation.
  bool is_forced() const { return length_ < request_->forced_tokens; }
  /// True if the probability of the next token counts as 1.
  bool is_certain() const { return is_forced() || (request_->prefix_is_certain && length_ < prefix_length()); }
  /// A uniform number in [0, 1) for the n-th draw of a token, of this sentence alone.
  double random(size_t n) const { return uniform(combine_keys(key_, static_cast<uint64_t>(length_), n)); }

  /// True if logits must be changed before they become probabilities.
  bool changes_logits() const { return options_.repetition_penalty != 1 || !context_->suppressed.empty(); }
  /// The logits that change after hypothesis n: each column once. The next tokens of prefix and terms are not
  /// suppressed.
  std::vector<ChangedLogit> changed_logits(size_t n) const;

  /// Called before each step: finds the tokens with which each hypothesis may not continue.
  void find_banned();
  size_t most_banned() const { return most_banned_; }
  const std::vector<int64_t>& banned(size_t n) const { return banned_[n]; }
  bool is_banned(const Candidate& candidate) const;
  /// True if hypothesis n may continue with the token: it is neither excluded nor banned, nor never chosen.
  bool is_free(size_t n, int64_t token) const;
  bool is_constrained() const { return options_.constraint != nullptr; }
  /// The tokens with which the constraint lets hypothesis n continue.
  /// @throws std::invalid_argument if one is not in a vocabulary of this size.
  Ids allowed(size_t n, size_t vocabulary) const;
  /// allowed() without the tokens that are never chosen, excluded or banned.
  Ids free_to_choose(size_t n, size_t vocabulary) const;

  /// True if the next token has to be the end.
  bool at_limit() const { return length_ >= max_length_; }

  /// `candidates` are those of find_candidates(), in its order. `hypotheses`: those of each sentence in the last step.
  /// `attention`: their weights, `source_width` numbers for each; null if there are none.
  void advance(const std::vector<Candidate>& candidates, int64_t hypotheses, const float* attention,
               int64_t source_width);

  /// The candidates, given in any order, with which a beam with terms continues, best first: the best of each bank in
  /// turn, banks with more of the terms' tokens first. A bank is what has the same number of those tokens.
  std::vector<Candidate> share_out(std::vector<Candidate> candidates) const;

  /// Returns true if there are more certain tokens than at the last call. All live hypotheses have the same length; of
  /// the finished ones, only the best can still win.
  bool update_certain();
  const Ids& certain() const { return certain_; }

  bool done() const;

  /// Ends the search with an empty hypothesis of probability 0, because nobody wants the result.
  void abandon();

  /// The finished hypotheses, best first, at most num_hypotheses.
  const std::vector<IdHypothesis>& best() const { return finished_; }

 private:
  void finish(const TokenNode& end, double log_probability);
  int64_t source_length() const { return static_cast<int64_t>(request_->source.size()); }
  // Makes room for a hypothesis with this text by removing a worse one; returns false if there is one as good.
  bool is_best_with(const std::string& text, double score);

  // An upper bound on the score of any continuation: log-probabilities only fall, the length penalty is largest at the
  // maximum length, and the coverage penalty is never positive.
  double best_possible() const;

  // The length penalty, which rewards no more tokens than a translation with the required terms is likely to have.
  double penalty(int64_t length) const;

  double worst_kept() const { return finished_.back().score; }

  // Bans the tokens that followed earlier occurrences of the last n - 1 tokens.
  void ban_repetition(const Ids& ids, std::vector<int64_t>& tokens) const;

  size_t index_;
  int64_t place_;
  const SearchRequest* request_;
  const SearchContext* context_;
  SearchOptions options_;
  std::optional<Ids> shortlist_;
  int64_t length_ = 0;
  int64_t max_length_ = 0;
  size_t term_tokens_ = 0;  // tokens that the required terms have together
  uint64_t key_ = 0;        // of this sentence's random numbers
  std::vector<std::vector<int64_t>> banned_;
  size_t most_banned_ = 0;
  std::vector<LiveHypothesis> live_;
  std::vector<IdHypothesis> finished_;  // best first
  std::vector<std::string> texts_;      // of `finished_`, if SearchContext::text_of tells them
  Ids certain_;
};

}  // namespace search
}  // namespace v0
}  // namespace transmute
