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

/// Length penalty, by which log P is divided to rank hypotheses of different lengths. The end token counts, and so
/// does the language's if the model is given one as the first target token.
enum class LengthPenalty {
  paper,  ///< ((5 + length) / 6)^alpha (Wu et al., 2016, Eq. 14)
  power,  ///< length^alpha; with alpha 1, the mean log-probability per token that counts
};

/// Samples each token from the model's distribution instead of searching for the best translation.
struct SamplingOptions {
  double temperature = 1;  ///< below 1 sharpens the distribution, above 1 flattens it; 0 takes the best token
  int64_t top_k = 0;       ///< sample only from the k most probable tokens; 0: from all
  double top_p = 1;        ///< sample only from the smallest set of tokens with at least this total probability
  uint64_t seed = 1;       ///< the same seed and source give the same samples, whatever else the call translates
};

/// Largest beam_size and num_hypotheses.
constexpr int64_t kMaxHypotheses = 10'000;

/// Largest length_alpha; far larger ones would make all scores 0 or infinite.
constexpr double kMostLengthAlpha = 10;
/// Largest coverage_beta.
constexpr double kMostCoverageBeta = 10;

/// Smallest repetition_penalty.
constexpr double kLeastRepetitionPenalty = 0.01;
/// Largest repetition_penalty.
constexpr double kMostRepetitionPenalty = 1000;

/// Options of beam search. Defaults: section 6.1 of the paper.
struct SearchOptions {
  int64_t beam_size = 4;  ///< hypotheses kept per sentence; 1 is greedy search
  /// Number of hypotheses to return, at most beam_size. There may be fewer, because their texts differ, except those of
  /// samples.
  int64_t num_hypotheses = 1;
  /// The score log P / penalty(length, alpha) + coverage_beta * coverage penalty ranks the hypotheses; 0: no penalty.
  double length_alpha = 0.6;
  LengthPenalty length_penalty = LengthPenalty::paper;  ///< form of the penalty
  double coverage_beta = 0;     ///< weight of the coverage penalty (Wu et al., 2016, Eq. 14); 0: none
  int64_t min_length = 0;       ///< minimum number of target tokens, unless the maximum is less
  int64_t no_repeat_ngram = 0;  ///< forbid repeating any n tokens in a row; 0: allow it
  /// Above 1, the tokens that a translation has become less probable in it: before the softmax, their positive logits
  /// are divided by this, and negative ones multiplied (Keskar et al., 2019, section 4.1). Scores are those of the
  /// distribution that results. Tokens of a prefix count, the language does not.
  double repetition_penalty = 1;
  int64_t max_extra_length = 50;  ///< maximum target length minus source length
  bool alignments = false;        ///< also return the cross-attention weights
  int64_t alignment_layer = 0;    ///< decoder layer of the alignments, from 1; 0: the last
  /// Head of the alignments, from 1; 0: the mean over heads. If this and alignment_layer are 0 and
  /// training.guided_alignment has trained a head, the alignments are those of that head.
  int64_t alignment_head = 0;
  /// Instead of searching, draw num_hypotheses samples, returned best first. beam_size is ignored.
  std::optional<SamplingOptions> sampling{};
  /// Instead of searching, take the num_hypotheses most probable next tokens after the prefix and complete each
  /// greedily. Returned best first. beam_size is ignored.
  bool alternatives = false;
  /// Restricts the tokens of translations; null: no restriction. A translation ends at its maximum length, and if no
  /// hypothesis of the beam has an allowed token, even if the constraint does not allow the end. Cannot be combined
  /// with `alternatives`, required terms, a shortlist, TranslationOptions::split_sentences or
  /// TranslationOptions::inline_tags, and over-long texts are refused: it is about the output as a whole.
  std::shared_ptr<const NextTokenConstraint> constraint{};
};

/// Thrown when a callback asked to stop the call.
class TRANSMUTE_API Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

}  // namespace v0
}  // namespace transmute
