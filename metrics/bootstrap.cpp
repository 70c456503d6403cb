// SPDX-License-Identifier: Apache-2.0
#include <transmute/metrics/bootstrap.h>

#include <transmute/common/random.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace transmute {
inline namespace v0 {
namespace {

// Sample number `sample`: as many segments as there are, drawn with replacement.
std::vector<std::size_t> draw(std::size_t segments, int64_t sample, uint64_t seed) {
  std::vector<std::size_t> drawn(segments);
  for (std::size_t i = 0; i < segments; ++i) drawn[i] = combine_keys(seed, sample, i) % segments;
  return drawn;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

BootstrapInterval bootstrap(std::size_t segments, const ScoreOfSegments& score, const BootstrapOptions& options) {
  std::vector<double> scores;
  for (int64_t sample = 0; sample < options.samples; ++sample)
    scores.push_back(score(draw(segments, sample, options.seed)));
  std::sort(scores.begin(), scores.end());
  const std::size_t lower = scores.size() / 40;  // 2.5% on either side
  return {mean_of(scores), (scores[scores.size() - lower - 1] - scores[lower]) / 2};
}

double paired_bootstrap_p(std::size_t segments, const ScoreOfSegments& baseline, const ScoreOfSegments& system,
                          const BootstrapOptions& options) {
  std::vector<std::size_t> all(segments);
  std::iota(all.begin(), all.end(), std::size_t{0});
  const double found = std::abs(baseline(all) - system(all));
  std::vector<double> differences;
  for (int64_t sample = 0; sample < options.samples; ++sample) {
    const auto drawn = draw(segments, sample, options.seed);
    differences.push_back(std::abs(baseline(drawn) - system(drawn)));
  }
  const double mean = mean_of(differences);
  const auto larger = std::count_if(differences.begin(), differences.end(),
                                    [&](double difference) { return difference - mean > found; });
  return static_cast<double>(larger + 1) / static_cast<double>(differences.size() + 1);
}

}  // namespace v0
}  // namespace transmute
