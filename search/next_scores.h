// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/sentence_search.h>
#include <transmute/search/step_model.h>
#include <transmute/search/top_candidates.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// The scores of the sentences' next tokens after a step, made of its logits.
class NextScores {
 public:
  virtual ~NextScores() = default;
  /// The `count` best continuations of a sentence, best first.
  virtual std::vector<Candidate> best(const SentenceSearch& sentence, size_t count) = 0;
  /// The `count` best continuations of hypothesis n alone.
  virtual std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t n, size_t count) = 0;
  /// Natural logarithm of the probability of `token` after hypothesis n.
  virtual double log_probability(const SentenceSearch& sentence, int64_t n, int64_t token) = 0;
  /// Log-probabilities up to a constant after hypothesis n, of every column.
  virtual std::vector<float> all(const SentenceSearch& sentence, int64_t n) = 0;
};

/// The scores of one position of a call whose result has `rows_per_sentence` rows for each sentence: hypotheses, or
/// positions of the only one. Logits in memory are read in a fused pass over each hypothesis by `finder`. `count`: the
/// most candidates that best() will be asked for.
std::unique_ptr<NextScores> make_next_scores(const NextToken& next, int64_t position, int64_t rows_per_sentence,
                                             const std::vector<SentenceSearch>& sentences, size_t count,
                                             CandidateFinder& finder);

}  // namespace search
}  // namespace v0
}  // namespace transmute
