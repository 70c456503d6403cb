// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

class NextTokenConstraint;

/// What log P is divided by to rank hypotheses of different lengths; the end counts.
enum class LengthPenalty {
  paper,  ///< ((5 + length) / 6)^alpha (Wu et al., 2016, Eq. 14)
  power,  ///< length^alpha: with alpha 1 the mean log-probability of a token
};

/// Draws each next token from the model's distribution instead of looking for the best translation.
struct SamplingOptions {
  double temperature = 1;  ///< below 1 sharpens the distribution, 0 takes the best token, above 1 flattens it
  int64_t top_k = 0;       ///< only among the k best tokens; 0: all
  double top_p = 1;        ///< only among the fewest best tokens that have this probability together
  uint64_t seed = 1;       ///< the same seed and source give the same translations, whatever is translated beside it
};

/// How the best translation is looked for. Defaults: section 6.1 of the paper.
struct SearchOptions {
  int64_t beam_size = 4;       ///< hypotheses kept per sentence; 1 is greedy search
  int64_t num_hypotheses = 1;  ///< best ones returned, at most beam_size
  double length_alpha = 0.6;   ///< log P / penalty(length, alpha) ranks the hypotheses; 0 ranks by log P
  LengthPenalty length_penalty = LengthPenalty::paper;  ///< what log P is divided by
  double coverage_beta = 0;       ///< weight of the coverage penalty (Wu et al., 2016, Eq. 14); 0: none
  int64_t min_length = 0;         ///< tokens that a translation has at least, unless the maximum is less
  int64_t no_repeat_ngram = 0;    ///< no n tokens in a row come twice in a translation; 0: they may
  int64_t max_extra_length = 50;  ///< maximum target length minus source length
  bool alignments = false;        ///< also return where the cross-attention looked
  int64_t alignment_layer = 0;    ///< decoder layer, counted from 1; 0: the last
  int64_t alignment_head = 0;     ///< from 1; 0: the mean of all
  /// num_hypotheses draws instead of a search, best first; beam_size counts for nothing.
  std::optional<SamplingOptions> sampling{};
  /// num_hypotheses ways to go on from the prefix instead of a search: the best next tokens, all different, and each
  /// completed greedily. Best first; beam_size counts for nothing.
  bool alternatives = false;
  /// What translations may consist of; null: anything. At the maximum length a translation ends, allowed or not. Goes
  /// neither with alternatives nor with terms that a translation must contain.
  std::shared_ptr<const NextTokenConstraint> constraint{};
};

/// Thrown where a caller's hook asked for the work to stop.
class TRANSMUTE_API Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace v0
}  // namespace transmute
