#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace transmute {

/// How a segment is cut into tokens before n-grams are counted. Each value is spelled on the command line and
/// in the signature as `bleu_tokenizer_name` says, which is sacreBLEU's spelling.
enum class BleuTokenizer {
  mteval_13a,  ///< "13a": the tokenisation of WMT's mteval-v13a.pl, for text that has not been tokenised
  none,        ///< "none": split at whitespace only, for text that has been tokenised already
};

/// Whether upper and lower case count as different.
enum class BleuCase {
  mixed,  ///< compare as written
  lower,  ///< lower-case hypotheses and references first (Unicode's rules, independent of the locale)
};

/// What BLEU to compute. The defaults are sacreBLEU's.
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::mteval_13a;
  BleuCase letter_case = BleuCase::mixed;
};

/// Longest n-gram that BLEU counts (Papineni et al., 2002, section 2.3: N = 4).
constexpr std::size_t kBleuMaxOrder = 4;

/// A corpus BLEU score and what it was computed from. Index n - 1 of an array belongs to n-grams of length n.
struct BleuScore {
  double score = 0.0;                              ///< 0 to 100
  std::array<double, kBleuMaxOrder> precisions{};  ///< percent, after smoothing
  std::array<int64_t, kBleuMaxOrder> matches{};    ///< n-grams that a reference confirms, clipped
  std::array<int64_t, kBleuMaxOrder> totals{};     ///< n-grams in the hypotheses
  double brevity_penalty = 0.0;                    ///< 0 to 1
  int64_t hypothesis_length = 0;                   ///< tokens
  int64_t reference_length = 0;                    ///< tokens of each segment's closest reference, summed
};

/// Corpus BLEU (Papineni et al., 2002) with the smoothing that sacreBLEU calls "exp" (Chen and Cherry, 2014,
/// method 3): the k-th order without a match counts as 1 / 2^k matches. Equal to sacreBLEU 2.x, whose
/// `eff:no` also holds here: a corpus too short to have 4-grams scores 0.
///
/// `hypotheses` has one UTF-8 segment per element. `references[r]` is the r-th whole reference set, parallel
/// to `hypotheses`; at least one is needed.
///
/// @throws std::invalid_argument if there are no hypotheses, no reference sets, or a set of another size.
BleuScore corpus_bleu(const std::vector<std::string>& hypotheses,
                      const std::vector<std::vector<std::string>>& references, const BleuOptions& options = {});

/// What must be reported with a score for others to compare with it, in sacreBLEU's notation:
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:transmute-1`. The version says who counted: the
/// number after "transmute-" changes whenever a change here could move a score.
std::string bleu_signature(const BleuOptions& options, std::size_t num_references);

/// The result as sacreBLEU prints it: `BLEU = 38.12 70.1/45.0/31.0/21.0 (BP = 1.000 ratio = 1.012 hyp_len =
/// 12345 ref_len = 12200)` on one line. With a signature the line starts with `BLEU|<signature> = `.
std::string format_bleu(const BleuScore& score, const std::string& signature = "");

/// Only the number, with two decimals as in `format_bleu`.
std::string format_bleu_score_only(const BleuScore& score);

/// "13a" or "none".
std::string bleu_tokenizer_name(BleuTokenizer tokenizer);

/// The inverse of `bleu_tokenizer_name`.
/// @throws std::invalid_argument that lists the known names.
BleuTokenizer bleu_tokenizer_from_name(const std::string& name);

}  // namespace transmute
