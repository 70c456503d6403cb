// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The words of two texts that belong together: pairs (source word, target word), counted from 0, ascending.
using WordLinks = std::vector<std::pair<size_t, size_t>>;

/// Probabilities that a word of one text explains a word of the other, before their places are considered:
/// at [j * explaining + i] for the explained word j and the explaining word i.
struct LinkProbabilities {
  size_t explaining = 0;       ///< words of one text
  size_t explained = 0;        ///< words of the other
  std::vector<double> values;  ///< explained * explaining
  std::vector<double> empty;   ///< for each explained word, the probability that nothing explains it
};

/// For each explained word j, the word i that explains it best, by probability and by the prior of Dyer et al., 2013,
/// which favors the diagonal: exp(-4 |i / I - j / J|). A word that the empty word explains better has no link.
/// @returns pairs (i, j)
WordLinks best_links(const LinkProbabilities& probabilities);

/// Both directions in one, "grow-diag-final-and" (Koehn et al., 2003): their intersection, grown by neighboring links
/// of either direction that link a new word, and at last by links of two words that are both without one.
/// @param forward and `backward`: pairs (source, target)
WordLinks symmetrized(const WordLinks& forward, const WordLinks& backward);

}  // namespace v0
}  // namespace transmute
