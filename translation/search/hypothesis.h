// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/translation/search_options.h>

#include <cstdint>
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

/// See LengthPenalty; length counts the end.
TRANSMUTE_API double length_penalty(int64_t length, double alpha, LengthPenalty penalty = LengthPenalty::paper);

namespace search {

/// The last token of a hypothesis and, shared with its siblings, those before it.
struct TokenNode {
  int64_t id;                               ///< id of the token
  double score;                             ///< natural log-probability of the token
  std::vector<float> attention;             ///< from where this token was predicted; empty where not asked for
  std::shared_ptr<const TokenNode> before;  ///< the token before it; null at the first
};

/// The tokens up to `last`; none where it is null.
TRANSMUTE_API Ids ids_of(const TokenNode* last);

/// Wu et al. (2016), Eq. 14: the logarithms of how much attention each source token has had, where that is less than 1.
/// `last` is the end, whose attention counts too; the source's end does not.
TRANSMUTE_API double coverage_penalty(const TokenNode* last);

/// The hypothesis whose end is `last`.
TRANSMUTE_API IdHypothesis hypothesis_of(const TokenNode* last, double log_probability, double score,
                                         bool with_alignment);

}  // namespace search

}  // namespace v0
}  // namespace transmute
