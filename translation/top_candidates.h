#pragma once

#include <transmute/translation/inference/aligned_buffer.h>
#include <transmute/translation/inference/instructions.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A hypothesis that could be: hypothesis `parent` of a sentence followed by `token`.
struct Candidate {
  int64_t parent;
  int64_t token;
  double log_probability;  ///< of the whole, natural logarithm
};

/// A hypothesis to continue: what the model says of its next token, and its own log-probability.
struct CandidateRow {
  const float* logits;  ///< [V]
  double log_probability;
};

/// Turns unnormalised scores into the best continuations, reading them twice while they are in the cache and writing
/// nothing but the candidates. One per thread; keeps its memory.
class CandidateFinder {
 public:
  explicit CandidateFinder(int64_t vocabulary, inference::Instructions instructions = inference::best_instructions())
      : vocabulary_(vocabulary), instructions_(instructions) {}

  /// The `count` best continuations of a sentence's hypotheses, best first; of equals, those of the lower parent and
  /// token. Reserved tokens but the end are never among them, nor is what has no probability. Every token counts in
  /// the normalisation.
  std::vector<Candidate> best(const std::vector<CandidateRow>& rows, size_t count);

  /// Natural logarithm of the token's probability.
  double log_probability(const float* logits, int64_t token);

 private:
  double log_sum_exp(const float* logits);  // fills chunk_tops_ too

  int64_t vocabulary_;
  inference::Instructions instructions_;
  inference::AlignedBuffer<float> chunk_tops_;
};

}  // namespace v0
}  // namespace transmute
