// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/cross_entropy.h>

#include <transmute/common/text_file.h>
#include <transmute/preparation/chance_threshold.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

size_t class_of(const TextPair& pair) {
  const size_t length = characters_in(pair.source) + characters_in(pair.target);
  size_t found = 0;
  while (found + 1 < kCostClasses && length > kCostClassLengths[found]) ++found;
  return found;
}

bool is_long(const Tokenizer& tokenizer, const std::string& source, const std::string& target) {
  return std::max(tokenizer.source().encode(source).size(), tokenizer.target().encode(target).size()) > kMostCostTokens;
}

// The cross-entropy of each target given its source, in nats per token.
std::vector<double> cross_entropies(const Translator& model, const std::vector<std::string>& sources,
                                    const std::vector<std::string>& targets) {
  std::vector<double> found;
  for (const Hypothesis& scored : model.score_batch(sources, targets))
    found.push_back(-scored.log_probability / static_cast<double>(scored.tokens.size() + 1));
  return found;
}

}  // namespace

std::vector<double> dual_cross_entropies(const Translator& model, const Translator& reverse_model,
                                         const std::vector<TextPair>& pairs) {
  std::vector<double> costs(pairs.size(), kNone);
  std::vector<std::string> sources, targets;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (is_long(model.tokenizer(), pairs[i].source, pairs[i].target) ||
        is_long(reverse_model.tokenizer(), pairs[i].target, pairs[i].source))
      continue;
    sources.push_back(pairs[i].source);
    targets.push_back(pairs[i].target);
    numbers.push_back(i);
  }
  const std::vector<double> forward = cross_entropies(model, sources, targets),
                            backward = cross_entropies(reverse_model, targets, sources);
  for (size_t i = 0; i < numbers.size(); ++i)
    costs[numbers[i]] = std::abs(forward[i] - backward[i]) + (forward[i] + backward[i]) / 2;
  return costs;
}

std::optional<double> CostLimits::most_of(const TextPair& pair) const {
  return most[class_of(pair)];
}

CostLimits find_cost_limits(const PairCosts& costs, const std::vector<TextPair>& sample) {
  constexpr size_t kFewestPairs = 500;
  constexpr double kWidth = 0.5;
  std::array<std::vector<TextPair>, kCostClasses> classes;
  for (const TextPair& pair : sample) classes[class_of(pair)].push_back(pair);
  CostLimits limits;
  for (size_t i = 0; i < kCostClasses; ++i) {
    std::vector<TextPair>& pairs = classes[i];
    if (pairs.size() < kFewestPairs) continue;
    ScoresAndChance scores;
    const auto score = [&](std::vector<double>& into) {
      for (const double cost : costs(pairs))
        if (!std::isnan(cost)) into.push_back(-cost);
    };
    score(scores.found);
    std::string first = std::move(pairs.front().target);
    for (size_t k = 0; k + 1 < pairs.size(); ++k) pairs[k].target = std::move(pairs[k + 1].target);
    pairs.back().target = std::move(first);
    score(scores.chance);
    if (scores.found.size() < kFewestPairs || scores.chance.size() < kFewestPairs) continue;
    if (const std::optional<double> least = find_threshold(std::move(scores), kWidth).least) limits.most[i] = -*least;
  }
  return limits;
}

}  // namespace v0
}  // namespace transmute
