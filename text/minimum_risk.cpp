// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/minimum_risk.h>

#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <unordered_set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

std::vector<std::vector<double>> utilities_of(const std::vector<Hypothesis>& candidates, MbrUtility utility) {
  std::vector<std::string> texts;
  for (const Hypothesis& candidate : candidates) texts.push_back(candidate.text);
  if (utility == MbrUtility::chrf) return pairwise_chrf(texts);
  BleuOptions options;
  options.effective_order = true;
  options.tokenizer = bleu_tokenizer_for(texts);
  return pairwise_bleu(texts, options);
}

// Up to a factor.
std::vector<double> weights_of(const std::vector<Hypothesis>& candidates, bool are_samples) {
  double best = -std::numeric_limits<double>::infinity();
  for (const Hypothesis& candidate : candidates) best = std::max(best, candidate.log_probability);
  std::vector<double> weights;
  for (const Hypothesis& candidate : candidates)
    weights.push_back(are_samples ? 1 : std::exp(candidate.log_probability - best));
  return weights;
}

}  // namespace

void choose_by_risk(std::vector<Hypothesis>& candidates, MbrUtility utility, bool are_samples, size_t kept) {
  const auto utilities = utilities_of(candidates, utility);
  const std::vector<double> weights = weights_of(candidates, are_samples);
  std::vector<double> expected;
  for (const auto& of_candidate : utilities)
    expected.push_back(std::inner_product(weights.begin(), weights.end(), of_candidate.begin(), 0.0));
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return expected[a] > expected[b]; });
  std::vector<Hypothesis> chosen;
  std::unordered_set<std::string> texts;
  for (size_t i = 0; i < order.size() && chosen.size() < kept; ++i)
    if (texts.insert(candidates[order[i]].text).second) chosen.push_back(std::move(candidates[order[i]]));
  candidates = std::move(chosen);
}

}  // namespace v0
}  // namespace transmute
