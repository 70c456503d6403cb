// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/search_options.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A translation as ids, without begin and end.
struct IdHypothesis {
  Ids ids;                             ///< T tokens
  double log_probability = 0;          ///< natural logarithm, including the end token
  double score = 0;                    ///< log P / length penalty + coverage_beta * coverage penalty; ranks hypotheses
  std::vector<double> token_scores{};  ///< T+1 natural log-probabilities, one for each token and the end
  /// If requested, the cross-attention [T+1,S+1] of the chosen layer and head: a row for each token and the end, a
  /// column for each source token and the end. Rows sum to 1, less the attention to a begin token of the source.
  std::vector<std::vector<float>> alignment{};
};

/// The value of the length penalty; `length` includes the end token.
TRANSMUTE_API double length_penalty(int64_t length, double alpha, LengthPenalty penalty);

namespace search {

/// The last token of a hypothesis, linked to the tokens before it, which hypotheses share.
struct TRANSMUTE_API TokenNode {
  /// A token after `previous`, which is null at the first; the rest as in the members.
  TokenNode(int64_t token, double token_score, std::vector<float> weights, std::shared_ptr<const TokenNode> previous)
      : id(token), score(token_score), attention(std::move(weights)), before(std::move(previous)) {}
  /// Frees the tokens before it in a loop: a recursion as deep as the hypothesis is long would overflow the stack.
  ~TokenNode();
  TokenNode(const TokenNode&) = delete;
  TokenNode& operator=(const TokenNode&) = delete;

  int64_t id;                    ///< id of the token
  double score;                  ///< natural log-probability of the token
  std::vector<float> attention;  ///< of the position that predicted this token; empty unless requested
  /// The token before it; null at the first. Mutable for the destructor of a later one.
  mutable std::shared_ptr<const TokenNode> before;
};

/// The tokens up to `last`; empty if it is null.
TRANSMUTE_API Ids ids_of(const TokenNode* last);

/// The coverage penalty of Wu et al. (2016), Eq. 14: the sum over source tokens of log(min(attention received, 1)).
/// `last` is the end token, whose attention counts; the source's end token is left out.
TRANSMUTE_API double coverage_penalty(const TokenNode* last);

/// The hypothesis that ends with `last`.
TRANSMUTE_API IdHypothesis hypothesis_of(const TokenNode* last, double log_probability, double score,
                                         bool with_alignment);

}  // namespace search

}  // namespace v0
}  // namespace transmute
