// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/export.h>
#include <transmute/model/options.h>
#include <transmute/tokenizer/special_ids.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Whose cross-attention to return.
struct AttentionChoice {
  bool wanted = false;  ///< whether to return any
  int64_t layer = 0;    ///< decoder layer, counted from 1; 0: the last
  int64_t head = 0;     ///< from 1; 0: the mean of all
};

/// @throws std::invalid_argument where a model of these options has no such layer or head.
TRANSMUTE_API void check(const AttentionChoice& choice, const TransformerOptions& options);

/// @throws std::invalid_argument where it holds what is no token of a vocabulary of that size.
TRANSMUTE_API void check_shortlist(const Ids& shortlist, int64_t vocabulary);

/// What a model says of the next token of every hypothesis.
struct NextToken {
  /// Unnormalized log-probabilities [B,N,V], on the CPU best float32; read before the next step, not written. With
  /// shortlists [B,N,L]: column c of sentence b is that of its list's token c, and -inf beyond the end of the list.
  torch::Tensor logits;
  torch::Tensor attention;  ///< float32 [B,N,S] on the CPU, where asked for: over each source and its end
};

/// A batch of sentences in the middle of being decoded, with the same number N of hypotheses for each.
class TRANSMUTE_API DecodingBatch {
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
class TRANSMUTE_API StepModel {
 public:
  virtual ~StepModel() = default;

  /// Begins with one hypothesis (N = 1) per sentence. Sources are ids without reserved ones at the ends. `shortlists`:
  /// for each sentence the target tokens whose logits are wanted, each once; or no list at all: those of every token.
  /// @throws std::invalid_argument where there is no such layer or head, or no such token.
  virtual std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                               const std::vector<Ids>& shortlists) const = 0;
};

}  // namespace v0
}  // namespace transmute
