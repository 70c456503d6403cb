// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/search/sentence_search.h>
#include <transmute/search/top_candidates.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// What a step's logits say of the sentences' next tokens.
class NextScores {
 public:
  virtual ~NextScores() = default;
  /// The `count` best continuations of sentence b, best first.
  virtual std::vector<Candidate> best(const SentenceSearch& sentence, int64_t b, size_t count) = 0;
  /// The `count` best continuations of hypothesis n alone.
  virtual std::vector<Candidate> best_of(const SentenceSearch& sentence, int64_t b, int64_t n, size_t count) = 0;
  /// Natural logarithm of the probability of `token` after hypothesis n of sentence b.
  virtual double log_probability(const SentenceSearch& sentence, int64_t b, int64_t n, int64_t token) = 0;
  /// Log-probabilities up to a constant after hypothesis n of sentence b, of every column.
  virtual std::vector<float> all(const SentenceSearch& sentence, int64_t b, int64_t n) = 0;
};

/// Reads logits that are float32 in memory with a fused pass over each hypothesis, by `finder`, which is made where it
/// is needed; any others with LibTorch's operations. `count`: candidates that best() will be asked for at most.
std::unique_ptr<NextScores> make_next_scores(const torch::Tensor& logits, const std::vector<SentenceSearch>& sentences,
                                             size_t count, std::optional<CandidateFinder>& finder);

}  // namespace search
}  // namespace v0
}  // namespace transmute
