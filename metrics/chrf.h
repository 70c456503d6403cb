// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The kind of chrF to compute. The defaults are sacreBLEU's chrF2; with word_order 2 it is chrF2++.
struct ChrfOptions {
  int64_t char_order = 6;  ///< longest character n-gram
  int64_t word_order = 0;  ///< longest word n-gram (Popović, 2017)
  int64_t beta = 2;        ///< recall counts beta times as much as precision
  bool lowercase = false;
};

/// N-grams of one length.
struct ChrfCounts {
  int64_t hypothesis = 0;  ///< n-grams of the hypothesis, where the reference has any
  int64_t reference = 0;
  int64_t matches = 0;  ///< n-grams of both
};

/// Character n-gram F-score (Popović, 2015), equal to sacreBLEU 2.x: whitespace is taken out for characters, marks at
/// the ends of words stand apart for words, orders that a side lacks do not count, and of several references each
/// segment takes the one that scores best. 0 to 100.
/// @throws std::invalid_argument as corpus_bleu does.
double corpus_chrf(const std::vector<std::string>& hypotheses, const std::vector<std::vector<std::string>>& references,
                   const ChrfOptions& options = {});

/// The same in two steps: the counts of each segment, an element for each order, and the score of a sum of them.
std::vector<std::vector<ChrfCounts>> chrf_segment_counts(const std::vector<std::string>& hypotheses,
                                                         const std::vector<std::vector<std::string>>& references,
                                                         const ChrfOptions& options = {});
void add_counts(std::vector<ChrfCounts>& sum, const std::vector<ChrfCounts>& counts);
double chrf_from_counts(const std::vector<ChrfCounts>& counts, const ChrfOptions& options = {});

/// The score of each segment against each: element [h][r] has segment h as hypothesis and r as reference.
std::vector<std::vector<double>> pairwise_chrf(const std::vector<std::string>& segments,
                                               const ChrfOptions& options = {});

/// "chrF2" or "chrF2++".
std::string chrf_name(const ChrfOptions& options);

/// In sacreBLEU's notation: `nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:transmute-1`.
std::string chrf_signature(const ChrfOptions& options, std::size_t num_references);

}  // namespace v0
}  // namespace transmute
