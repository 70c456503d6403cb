// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/segment_scores.h>

namespace transmute {
inline namespace v0 {

ScoreOfSegments bleu_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references, const BleuOptions& options) {
  return [options, counts = bleu_segment_counts(hypotheses, references, options)](const auto& segments) {
    BleuCounts sum;
    for (const std::size_t segment : segments) sum += counts[segment];
    return bleu_from_counts(sum, options).score;
  };
}

ScoreOfSegments chrf_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references, const ChrfOptions& options) {
  return [options, counts = chrf_segment_counts(hypotheses, references, options)](const auto& segments) {
    std::vector<ChrfCounts> sum(counts.front().size());
    for (const std::size_t segment : segments) add_counts(sum, counts[segment]);
    return chrf_from_counts(sum, options);
  };
}

ScoreOfSegments ter_of_segments(const std::vector<std::string>& hypotheses,
                                const std::vector<std::vector<std::string>>& references, const TerOptions& options) {
  return [counts = ter_segment_counts(hypotheses, references, options)](const auto& segments) {
    TerCounts sum;
    for (const std::size_t segment : segments) sum += counts[segment];
    return ter_from_counts(sum);
  };
}

}  // namespace v0
}  // namespace transmute
