// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/ter.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Samples are those that sacreBLEU draws with this seed (NumpyRandom), so that intervals and p are equal to its own.
/// 12345 is its seed where $SACREBLEU_SEED does not name another.
struct BootstrapOptions {
  int64_t samples = 1000;
  uint64_t seed = 12345;
};

/// The score of a corpus that has these segments, any of them several times.
using ScoreOfSegments = std::function<double(const std::vector<std::size_t>& segments)>;

/// Mean of the score over resampled corpora, and half the width of its 95% interval.
struct BootstrapInterval {
  double mean = 0;
  double half_width = 0;
};
BootstrapInterval bootstrap(std::size_t segments, const ScoreOfSegments& score, const BootstrapOptions& options = {});

/// Paired bootstrap resampling (Koehn, 2004): how likely a difference as large as the one found comes of chance, p, two
/// sided, by the formula that sacreBLEU uses.
double paired_bootstrap_p(std::size_t segments, const ScoreOfSegments& baseline, const ScoreOfSegments& system,
                          const BootstrapOptions& options = {});

ScoreOfSegments bleu_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references,
                                 const BleuOptions& options = {});
ScoreOfSegments chrf_of_segments(const std::vector<std::string>& hypotheses,
                                 const std::vector<std::vector<std::string>>& references,
                                 const ChrfOptions& options = {});
ScoreOfSegments ter_of_segments(const std::vector<std::string>& hypotheses,
                                const std::vector<std::vector<std::string>>& references,
                                const TerOptions& options = {});

}  // namespace v0
}  // namespace transmute
