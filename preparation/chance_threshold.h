// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The scores of pairs, and those of pairs of the same sides that chance has made; the higher, the better they fit.
struct ScoresAndChance {
  std::vector<double> found, chance;
};

/// The limit below which pairs score as pairs do that chance has made.
struct ChanceThreshold {
  std::optional<double> least;  ///< nothing if such pairs are too few, or cannot be told from others
  double mismatched = 0;        ///< share of the pairs that are as if by chance
};

/// Finds the highest score around which at least half of the pairs are as if by chance. Neither list is empty.
/// @param width how far around, on each side: the fewer the scores, the wider
ChanceThreshold find_threshold(ScoresAndChance scores, double width);

}  // namespace v0
}  // namespace transmute
