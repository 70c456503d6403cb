// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/metrics/metric_text.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Upper and lower case count as different, or not.
enum class BleuCase {
  mixed,  ///< compare as written
  lower,  ///< lower-case hypotheses and references first (Unicode's rules, independent of the locale)
};

/// The count of an order without a match (Chen and Cherry, 2014).
enum class BleuSmoothing {
  exponential,  ///< "exp", their method 3: the k-th such order counts as 1 / 2^k matches
  floor,        ///< "floor", method 1: smoothing_value matches
  add_k,        ///< "add-k", method 2: smoothing_value is added to matches and totals of all orders but the first
  none,         ///< "none": nothing, and the score is 0
};

/// The kind of BLEU to compute. The defaults are sacreBLEU's.
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  BleuCase letter_case = BleuCase::mixed;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smoothing_value{};  ///< default: 0.1 for floor, 1 for add_k
  bool effective_order = false;             ///< only the orders that the hypotheses have: for single sentences
};

/// Longest n-gram that BLEU counts (Papineni et al., 2002, section 2.3: N = 4).
constexpr std::size_t kBleuMaxOrder = 4;

/// The counts that BLEU is computed from; sums over segments are a corpus's. Index n - 1 of an array belongs to n-grams
/// of length n.
struct BleuCounts {
  std::array<int64_t, kBleuMaxOrder> matches{};  ///< n-grams that a reference confirms, clipped
  std::array<int64_t, kBleuMaxOrder> totals{};   ///< n-grams in the hypotheses
  int64_t hypothesis_length = 0;                 ///< tokens
  int64_t reference_length = 0;                  ///< tokens of each segment's closest reference, summed

  BleuCounts& operator+=(const BleuCounts& other);
};

/// A BLEU score and what it was computed from.
struct BleuScore : BleuCounts {
  double score = 0.0;                              ///< 0 to 100
  std::array<double, kBleuMaxOrder> precisions{};  ///< percent, after smoothing
  double brevity_penalty = 0.0;                    ///< 0 to 1
};

/// Corpus BLEU (Papineni et al., 2002), equal to sacreBLEU 2.x.
///
/// `hypotheses` has one UTF-8 segment per element. `references[r]` is the r-th whole reference set, parallel
/// to `hypotheses`; at least one is needed.
///
/// @throws std::invalid_argument if there are no hypotheses, no reference sets, or a set of another size.
BleuScore corpus_bleu(const std::vector<std::string>& hypotheses,
                      const std::vector<std::vector<std::string>>& references, const BleuOptions& options = {});

/// The same in two steps, for sums over other segments than all: the counts of each segment, and the score of a sum.
std::vector<BleuCounts> bleu_segment_counts(const std::vector<std::string>& hypotheses,
                                            const std::vector<std::vector<std::string>>& references,
                                            const BleuOptions& options = {});
BleuScore bleu_from_counts(const BleuCounts& counts, const BleuOptions& options = {});

/// The score of each segment against each: element [h][r] has segment h as hypothesis and r as reference. Give
/// `effective_order`, as for all single sentences.
std::vector<std::vector<double>> pairwise_bleu(const std::vector<std::string>& segments, const BleuOptions& options);

/// The settings to report with a score, for others to compare with it, in sacreBLEU's notation:
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:transmute-1`. The version says who counted: the
/// number after "transmute-" changes whenever a change here could move a score.
std::string bleu_signature(const BleuOptions& options, std::size_t num_references);

/// The result as sacreBLEU prints it: `BLEU = 38.12 70.1/45.0/31.0/21.0 (BP = 1.000 ratio = 1.012 hyp_len =
/// 12345 ref_len = 12200)` on one line. With a signature the line starts with `BLEU|<signature> = `.
std::string format_bleu(const BleuScore& score, const std::string& signature = "");

/// The inverse of the names in BleuSmoothing.
/// @throws std::invalid_argument that lists the known names.
BleuSmoothing bleu_smoothing_from_name(const std::string& name);

}  // namespace v0
}  // namespace transmute
