// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/hypothesis.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace transmute {
inline namespace v0 {

double length_penalty(int64_t length, double alpha, LengthPenalty penalty) {
  if (penalty == LengthPenalty::power) return std::pow(static_cast<double>(length), alpha);
  return std::pow((5.0 + static_cast<double>(length)) / 6.0, alpha);
}

namespace search {

TokenNode::~TokenNode() {
  std::shared_ptr<const TokenNode> last = std::move(before);
  while (last != nullptr && last.use_count() == 1) last = std::move(last->before);
}

Ids ids_of(const TokenNode* last) {
  Ids ids;
  for (; last != nullptr; last = last->before.get()) ids.push_back(last->id);
  std::reverse(ids.begin(), ids.end());
  return ids;
}

double coverage_penalty(const TokenNode* last) {
  constexpr double kLeast = 1e-6;  // a token without attention must not give -inf
  std::vector<double> had(last->attention.size() - 1);
  for (; last != nullptr; last = last->before.get())
    for (size_t s = 0; s < had.size(); ++s) had[s] += static_cast<double>(last->attention[s]);
  double sum = 0;
  for (const double attention : had) sum += std::log(std::clamp(attention, kLeast, 1.0));
  return sum;
}

IdHypothesis hypothesis_of(const TokenNode* last, double log_probability, double score, bool with_alignment) {
  IdHypothesis hypothesis{ids_of(last->before.get()), log_probability, score};
  for (; last != nullptr; last = last->before.get()) {
    hypothesis.token_scores.push_back(last->score);
    if (with_alignment) hypothesis.alignment.push_back(last->attention);
  }
  std::reverse(hypothesis.token_scores.begin(), hypothesis.token_scores.end());
  std::reverse(hypothesis.alignment.begin(), hypothesis.alignment.end());
  return hypothesis;
}

}  // namespace search

}  // namespace v0
}  // namespace transmute
