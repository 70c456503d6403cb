#pragma once

#include <torch/types.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/translation/search_options.h>

#include <memory>
#include <vector>

namespace transmute {

/// A translation as ids, without begin and end.
struct IdHypothesis {
  Ids ids;
  double log_probability = 0;  ///< natural logarithm, the end included
  double score = 0;            ///< log_probability / length penalty: what ranks
};

/// A batch of sentences in the middle of being decoded, with the same number N of hypotheses for each.
class DecodingBatch {
 public:
  virtual ~DecodingBatch() = default;

  /// Extends every hypothesis by a token. ids: int64 [B,N] on the CPU; result: log-probabilities of the next
  /// token, float32 [B,N,V].
  virtual torch::Tensor step(const torch::Tensor& ids) = 0;

  /// Goes on with other hypotheses, N' per sentence: `sentences` int64 [B'] picks those that stay, `parents`
  /// int64 [B'·N'] says which old row (b·N + n) each new one continues. Both on the CPU.
  virtual void select(const torch::Tensor& sentences, const torch::Tensor& parents) = 0;
};

/// What search needs of a model; a hand-made table of probabilities serves as well as a Transformer.
class StepModel {
 public:
  virtual ~StepModel() = default;

  /// Begins with one hypothesis (N = 1) per sentence. Sources are ids without reserved ones at the ends.
  virtual std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources) const = 0;
};

/// ((5 + length) / 6)^alpha (Wu et al., 2016, Eq. 14); length counts the end.
double length_penalty(int64_t length, double alpha);

/// Beam search for a batch of sentences; beam_size 1 is greedy search. Returns, for each sentence in the
/// given order, its best hypotheses, best first.
///
/// A sentence is done when no live hypothesis can still rank among the best num_hypotheses, however long it becomes
/// (greedy search: at the first end). At the maximum length the end is forced. Padding, begin and unknown are never
/// chosen.
/// @throws std::invalid_argument where an option is out of range.
std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& options);

}  // namespace transmute
