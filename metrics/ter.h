// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The kind of TER to compute. The defaults are sacreBLEU's.
struct TerOptions {
  bool normalized = false;      ///< words are cut from punctuation first, as Tercom does
  bool no_punctuation = false;  ///< punctuation does not count
  /// With the first, each Chinese or Japanese character is a word; with the second, East Asian punctuation does not
  /// count either.
  bool asian_support = false;
  bool case_sensitive = false;  ///< upper and lower case differ
};

/// The counts that TER is computed from; sums over segments are a corpus's.
struct TerCounts {
  double edits = 0;             ///< edits to the reference that needs the fewest
  double reference_length = 0;  ///< words, the mean over a segment's references

  TerCounts& operator+=(const TerCounts& other);
};

/// Translation edit rate (Snover et al., 2006), equal to sacreBLEU 2.x: insertions, deletions, substitutions and shifts
/// of words in a row that turn a translation into its reference, for 100 words of the reference. The shifts are looked
/// for as Tercom does, greedily. 0 is best; there is no upper bound.
/// @throws std::invalid_argument as corpus_bleu does.
double corpus_ter(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
                  const TerOptions& options = {});

/// The same in two steps: the counts of each segment, and the score of a sum of them.
std::vector<TerCounts> ter_segment_counts(const std::vector<std::string>& hypotheses,
                                          const std::vector<std::vector<std::string>>& references,
                                          const TerOptions& options = {});
double ter_from_counts(const TerCounts& counts);

/// In sacreBLEU's notation: `nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:transmute-1`.
std::string ter_signature(const TerOptions& options, std::size_t num_references);

/// The words that TER compares.
std::vector<std::string> words_for_ter(const TerOptions& options, const std::string& segment);

}  // namespace v0
}  // namespace transmute
