// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/aligned_buffer.h>
#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>

#include <array>
#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Tokens that no search, draw or constraint chooses, though a model may give it a probability.
constexpr std::array<int64_t, 3> kNeverChosen{special_ids::kPad, special_ids::kUnknown, special_ids::kBegin};

inline bool is_never_chosen(int64_t token) {
  return token == kNeverChosen[0] || token == kNeverChosen[1] || token == kNeverChosen[2];
}

/// A possible continuation: hypothesis `parent` of a sentence followed by `token`.
struct Candidate {
  int64_t parent;
  int64_t token;
  double log_probability;  ///< of the whole, natural logarithm
};

/// The order of candidates: by probability and, of equals, by parent and token.
inline bool is_better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return a.parent != b.parent ? a.parent < b.parent : a.token < b.token;
}

/// The model's logits for a hypothesis' next token.
struct LogitsRow {
  const float* values;  ///< [count]
  int64_t count;        ///< the vocabulary, or a part of it that begins with the reserved tokens
};

/// A hypothesis to continue, and its own log-probability.
struct CandidateRow {
  LogitsRow logits;
  double log_probability;
};

/// Detects what damaged weights lead to.
/// @throws std::runtime_error if one of the scores is not a number or is plus infinity.
TRANSMUTE_API void check_scores(const float* values, int64_t count);

/// Turns unnormalized scores into the best continuations, reading them twice while they are in the cache and writing
/// nothing but the candidates. One per thread; keeps its memory.
class CandidateFinder {
 public:
  /// The `count` best continuations of a sentence's hypotheses, best first; of equals, those of the lower parent and
  /// token. None has a higher log-probability than its parent. Reserved tokens but the end are never among them, nor is
  /// what has no probability. Every token counts in the normalization. `excluded`: tokens that are never among them
  /// either.
  /// @throws std::runtime_error if a score is not a number or infinite, as log_probability does.
  std::vector<Candidate> best(const std::vector<CandidateRow>& rows, size_t count, const Ids& excluded = {});

  /// Natural logarithm of the token's probability, at most 0.
  double log_probability(const LogitsRow& logits, int64_t token);

  /// log Σ e^logit, which turns logits into log-probabilities; minus infinity if no token has a probability.
  double log_sum_exp(const LogitsRow& logits);

 private:
  AlignedBuffer<float> chunk_tops_;  // filled by log_sum_exp
};

}  // namespace v0
}  // namespace transmute
