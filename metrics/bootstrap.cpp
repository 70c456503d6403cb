// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/bootstrap.h>

#include <transmute/metrics/numpy_random.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// One sample after the other: as many segments as there are, drawn with replacement.
class Samples {
 public:
  Samples(std::size_t segments, uint64_t seed) : random_(seed), drawn_(segments) {
    if (segments == 0 || segments > std::numeric_limits<uint32_t>::max())
      throw std::invalid_argument("a text to resample needs from 1 to 4,294,967,295 segments");
  }
  const std::vector<std::size_t>& next() {
    for (std::size_t& segment : drawn_) segment = random_.below(static_cast<uint32_t>(drawn_.size()));
    return drawn_;
  }

 private:
  NumpyRandom random_;
  std::vector<std::size_t> drawn_;
};

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

BootstrapInterval bootstrap(std::size_t segments, const ScoreOfSegments& score, const BootstrapOptions& options) {
  Samples samples(segments, options.seed);
  std::vector<double> scores;
  for (int64_t sample = 0; sample < options.samples; ++sample) scores.push_back(score(samples.next()));
  std::sort(scores.begin(), scores.end());
  const std::size_t lower = scores.size() / 40;  // 2.5% on either side
  return {mean_of(scores), (scores[scores.size() - lower - 1] - scores[lower]) / 2};
}

double paired_bootstrap_p(std::size_t segments, const ScoreOfSegments& baseline, const ScoreOfSegments& system,
                          const BootstrapOptions& options) {
  std::vector<std::size_t> all(segments);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const double found = std::abs(baseline(all) - system(all));
  Samples samples(segments, options.seed);
  std::vector<double> differences;
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    const auto& drawn = samples.next();
    differences.push_back(std::abs(baseline(drawn) - system(drawn)));
  }
  const double mean = mean_of(differences);
  const auto larger = std::count_if(differences.begin(), differences.end(),
                                    [&](double difference) { return difference - mean > found; });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

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
