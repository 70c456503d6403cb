#pragma once

#include <torch/types.h>
#include <transmute/model/options.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/translation/search_options.h>

#include <functional>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A translation as ids, without begin and end.
struct IdHypothesis {
  Ids ids;                             ///< T tokens
  double log_probability = 0;          ///< natural logarithm, the end included
  double score = 0;                    ///< log_probability / length penalty + coverage penalty: what ranks
  std::vector<double> token_scores{};  ///< T+1 natural log-probabilities, one for each token and the end
  /// Where asked for, T+1 rows, one for each token and the end, of S+1 weights, one for each source token and the end:
  /// the cross-attention of the last layer, averaged over the heads, or as chosen. Rows sum to 1.
  std::vector<std::vector<float>> alignment{};
};

/// Whose cross-attention to return.
struct AttentionChoice {
  bool wanted = false;
  int64_t layer = 0;  ///< of the decoder, from 1; 0: the last
  int64_t head = 0;   ///< from 1; 0: the mean of all
};

/// @throws std::invalid_argument where a model of these options has no such layer or head.
void check(const AttentionChoice& choice, const TransformerOptions& options);

/// @throws std::invalid_argument where it holds what is no token of a vocabulary of that size.
void check_shortlist(const Ids& shortlist, int64_t vocabulary);

/// What a model says of the next token of every hypothesis.
struct NextToken {
  /// Unnormalised log-probabilities [B,N,V], on the CPU best float32; read before the next step, not written. With
  /// shortlists [B,N,L]: column c of sentence b is that of its list's token c, and -inf beyond the end of the list.
  torch::Tensor logits;
  torch::Tensor attention;  ///< float32 [B,N,S] on the CPU, where asked for: over each source and its end
};

/// A batch of sentences in the middle of being decoded, with the same number N of hypotheses for each.
class DecodingBatch {
 public:
  virtual ~DecodingBatch() = default;

  /// Extends every hypothesis by a token. ids: int64 [B,N] on the CPU.
  virtual NextToken step(const torch::Tensor& ids) = 0;

  /// Extends the one hypothesis of each sentence (N = 1) by T tokens that are known beforehand: as T steps, but all at
  /// once where the model can. ids: int64 [B,T] on the CPU. In the result the positions stand where hypotheses do.
  virtual NextToken extend(const torch::Tensor& ids);

  /// Goes on with other hypotheses, N' per sentence: `sentences` int64 [B'] picks those that stay, `parents`
  /// int64 [B'·N'] says which old row (b·N + n) each new one continues. Both on the CPU.
  virtual void select(const torch::Tensor& sentences, const torch::Tensor& parents) = 0;
};

/// What search needs of a model; a hand-made table of probabilities serves as well as a Transformer.
class StepModel {
 public:
  virtual ~StepModel() = default;

  /// Begins with one hypothesis (N = 1) per sentence. Sources are ids without reserved ones at the ends. `shortlists`:
  /// for each sentence the target tokens whose logits are wanted, each once; or no list at all: those of every token.
  /// @throws std::invalid_argument where there is no such layer or head, or no such token.
  virtual std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                               const std::vector<Ids>& shortlists) const = 0;
};

/// What a caller can watch and stop while a search goes on; both are called after every step, from its thread.
struct SearchHooks {
  /// The first tokens of a sentence's best translation, as far as they are certain: what all hypotheses share that can
  /// still win. Grows only; called where it grew.
  std::function<void(size_t sentence, const Ids& certain)> on_tokens{};
  /// True ends the search with Cancelled.
  std::function<bool()> should_stop{};
};

/// What translations must have in them; each list has one entry for each sentence, or none at all.
struct TargetDemands {
  std::vector<Ids> prefixes{};            ///< how the translation begins
  std::vector<std::vector<Ids>> terms{};  ///< what it contains, in any order; none is empty
  bool prefixes_are_complete = false;     ///< the end follows: nothing is left to search, and the scores are theirs
  /// The only tokens that it is made of, beside those of its prefix and its terms; probabilities are shares among them.
  std::vector<Ids> shortlists{};
};

/// See LengthPenalty; length counts the end.
double length_penalty(int64_t length, double alpha, LengthPenalty penalty = LengthPenalty::paper);

/// Beam search for a batch of sentences; beam_size 1 is greedy search. Returns, for each sentence in the
/// given order, its best hypotheses, best first.
///
/// A sentence is done when no live hypothesis can still rank among the best num_hypotheses, however long it becomes
/// (greedy search: at the first end). At the maximum length the end is forced. Padding, begin and unknown are never
/// chosen, but taken where a prefix has them. SearchOptions::sampling and ::alternatives do something
/// else than search.
///
/// Where terms are demanded, the beam is wider by their tokens, is shared out evenly among hypotheses that have as many
/// of those tokens (Post and Vilar, 2018), and only what has all of them may end.
/// @throws std::invalid_argument where an option is out of range; Cancelled.
std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model, const std::vector<Ids>& sources,
                                                   const SearchOptions& options, const SearchHooks& hooks = {},
                                                   const TargetDemands& demands = {});

}  // namespace v0
}  // namespace transmute
