// SPDX-License-Identifier: Apache-2.0
#include <transmute/preparation/chance_threshold.h>

#include <algorithm>

namespace transmute {
inline namespace v0 {

namespace {

double share_up_to(const std::vector<double>& ascending, double value) {
  return static_cast<double>(std::upper_bound(ascending.begin(), ascending.end(), value) - ascending.begin()) /
         static_cast<double>(ascending.size());
}

// The share of pairs that are as if by chance: of those, half score less than the median of chance, and few others do.
double mismatched_share(const ScoresAndChance& scores) {
  double least = 1;
  for (const double quantile : {0.25, 0.5, 0.75}) {
    const double value = scores.chance[static_cast<size_t>(quantile * static_cast<double>(scores.chance.size() - 1))];
    least = std::min(least, share_up_to(scores.found, value) / share_up_to(scores.chance, value));
  }
  return least;
}

// The highest score around which at least half of the pairs are as if by chance.
std::optional<double> threshold_of(const ScoresAndChance& scores, double mismatched, double width) {
  constexpr double kFewestMismatched = 0.0005;
  if (mismatched < kFewestMismatched) return {};
  const auto around = [width](const std::vector<double>& values, double value) {
    return share_up_to(values, value + width) - share_up_to(values, value - width);
  };
  std::optional<double> threshold;
  for (double value = scores.chance.front(); value < scores.chance.back(); value += width / 4) {
    const double by_chance = mismatched * around(scores.chance, value);
    if (by_chance > 0 && 2 * by_chance >= around(scores.found, value)) threshold = value;
  }
  return threshold;
}

}  // namespace

ChanceThreshold find_threshold(ScoresAndChance scores, double width) {
  std::sort(scores.found.begin(), scores.found.end());
  std::sort(scores.chance.begin(), scores.chance.end());
  const double mismatched = mismatched_share(scores);
  return {threshold_of(scores, mismatched, width), mismatched};
}

}  // namespace v0
}  // namespace transmute
