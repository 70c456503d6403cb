// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/export.h>
#include <transmute/network/options.h>
#include <transmute/tokenizer/special_ids.h>

#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The cross-attention to return.
struct AttentionChoice {
  bool wanted = false;  ///< whether to return any
  int64_t layer = 0;    ///< decoder layer, counted from 1; 0: the last
  int64_t head = 0;     ///< from 1; 0: the mean over heads
};

/// @throws std::invalid_argument if a model with these options has no such layer or head.
TRANSMUTE_API void check(const AttentionChoice& choice, const TransformerOptions& options);

/// @throws std::invalid_argument if it contains an id outside a vocabulary of this size.
TRANSMUTE_API void check_shortlist(const Ids& shortlist, int64_t vocabulary);

/// A model's prediction of the next token of every hypothesis.
struct NextToken {
  /// Unnormalized log-probabilities [B,N,V], preferably float32 on the CPU. Search reads them before the next step and
  /// does not modify them. With shortlists, [B,N,L]: column c belongs to token c of the sentence's list, -inf past its
  /// end.
  torch::Tensor logits;
  torch::Tensor attention;  ///< float32 [B,N,S] on the CPU, if requested: over the source tokens and the end
};

/// A batch of sentences during decoding, with the same number N of hypotheses for each.
class TRANSMUTE_API DecodingBatch {
 public:
  virtual ~DecodingBatch() = default;

  /// Extends every hypothesis by one token. ids: int64 [B,N] on the CPU.
  virtual NextToken step(const torch::Tensor& ids) = 0;

  /// Extends the single hypothesis of each sentence (N = 1) by T known tokens, like T steps, but at once if the model
  /// can. ids: int64 [B,T] on the CPU. In the result, positions take the place of hypotheses.
  virtual NextToken extend(const torch::Tensor& ids);

  /// Continues with a new set of hypotheses, N' per sentence. `sentences`, int64 [B'], selects the sentences to keep;
  /// `parents`, int64 [B'·N'], is the old row (b·N + n) that each new one continues. Both are on the CPU.
  virtual void select(const torch::Tensor& sentences, const torch::Tensor& parents) = 0;
};

/// The model as search sees it: a Transformer, or anything else that predicts the next token.
class TRANSMUTE_API StepModel {
 public:
  virtual ~StepModel() = default;

  /// Starts decoding with one hypothesis (N = 1) per sentence. Sources are ids without begin and end. `shortlists`: for
  /// each sentence, the target tokens whose logits to compute, without duplicates; empty: all tokens.
  /// @throws std::invalid_argument if a layer, head or token does not exist.
  virtual std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                               const std::vector<Ids>& shortlists) const = 0;
};

}  // namespace v0
}  // namespace transmute
