// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/preparation/pair_reader.h>
#include <transmute/translation/translator.h>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The costs of pairs; that of a pair which has none is not a number.
using PairCosts = std::function<std::vector<double>(const std::vector<TextPair>&)>;

/// A side with more tokens is not scored: fewer models take it, and it takes memory.
constexpr size_t kMostCostTokens = 250;

/// The dual conditional cross-entropy of pairs (Junczys-Dowmunt, 2018, Eq. 2), in nats per token: the mean of the two
/// sides' cross-entropies, each given the other side, plus the difference between them. Pairs with more than
/// kMostCostTokens on a side have no cost.
/// @param model from the source to the target, @param reverse_model from the target to the source
std::vector<double> dual_cross_entropies(const Translator& model, const Translator& reverse_model,
                                         const std::vector<TextPair>& pairs);

/// Number of lengths that the limits tell apart.
constexpr size_t kCostClasses = 4;

/// The highest number of characters of both sides together in each class but the last, which has the longer pairs.
constexpr std::array<size_t, kCostClasses - 1> kCostClassLengths{60, 120, 240};

/// The limits that find_cost_limits() found in a sample.
struct CostLimits {
  /// The highest cost that pairs of each length may have; nothing if the sample has too few, or no wrong ones.
  std::array<std::optional<double>, kCostClasses> most{};

  /// The limit for a pair.
  std::optional<double> most_of(const TextPair& pair) const;
};

/// Finds the costs above which at least half of a sample's pairs cost as if their sides were paired by chance. Chance
/// is shown by the sides of the sample's own pairs, paired anew.
CostLimits find_cost_limits(const PairCosts& costs, const std::vector<TextPair>& sample);

}  // namespace v0
}  // namespace transmute
