// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/options.h>
#include <transmute/tokenizer/special_ids.h>

#include <functional>
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

namespace search {
class NextScores;
class SentenceSearch;

/// Logits that are not in the process's memory, such as a GPU's, or that are not float32. Whoever has them chooses the
/// candidates there.
class DeviceLogits {
 public:
  virtual ~DeviceLogits() = default;
  /// The scores of the sentences' next tokens at one position of the call; see make_next_scores().
  virtual std::unique_ptr<NextScores> scores(int64_t position, const std::vector<SentenceSearch>& sentences,
                                             size_t count) const = 0;
};
}  // namespace search

/// A model's prediction of the next token of every hypothesis: rows for sentence 0 and its hypotheses (or positions),
/// then for sentence 1, and so on.
struct NextToken {
  /// Unnormalized log-probabilities of a row, float32 [columns]. Columns are the vocabulary's tokens. With shortlists,
  /// column c belongs to token c of the sentence's list, -inf past its end. A batch may compute those of neighboring
  /// sentences when one is asked for: they are valid until another sentence's are, or until the next step.
  std::function<const float*(int64_t row)> logits{};
  int64_t columns = 0;             ///< V, or the length of the longest shortlist
  std::vector<float> attention{};  ///< [rows,S], if requested: over the source tokens and the end
  int64_t source_width = 0;        ///< S of the attention
  std::shared_ptr<const search::DeviceLogits> on_device{};  ///< in place of `logits`; null: they are in memory
};

/// A batch of B sentences during decoding, with the same number N of hypotheses for each.
class TRANSMUTE_API DecodingBatch {
 public:
  virtual ~DecodingBatch() = default;

  /// Extends every hypothesis by T tokens; by more than one only if each sentence has a single hypothesis (N = 1).
  /// ids: [B,N·T]. In the result, positions then take the place of hypotheses.
  virtual NextToken step(const Ids& ids, int64_t positions) = 0;

  /// Continues with a new set of hypotheses, N' per sentence. `sentences`, [B'], selects the sentences to keep;
  /// `parents`, [B',N'], is the old row (b·N + n) that each new one continues.
  virtual void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) = 0;
};

/// The model as search sees it: a Transformer, or anything else that predicts the next token.
class TRANSMUTE_API StepModel {
 public:
  virtual ~StepModel() = default;

  /// @throws std::invalid_argument if the model cannot return this attention.
  virtual void check(AttentionChoice) const {}

  /// Starts decoding with one hypothesis (N = 1) per sentence. Sources are ids without begin and end. `shortlists`: for
  /// each sentence, the target tokens whose logits to compute, without duplicates; empty: all tokens.
  /// @throws std::invalid_argument if a layer, head or token does not exist.
  virtual std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice attention,
                                               const std::vector<Ids>& shortlists) const = 0;
};

}  // namespace v0
}  // namespace transmute
