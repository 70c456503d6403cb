// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/sinusoids.h>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {

// Sines and cosines are computed for the first position of each run and for the distances from it; the sum of two
// angles gives the others: a sixteenth of the work. Runs begin at multiples of their length, so that a position's
// vector is the same bit for bit wherever the rows begin.
std::vector<float> sinusoids_at(int64_t first, int64_t length, int64_t d_model, const Sinusoids& sinusoids) {
  constexpr int64_t kRun = 32;
  const auto pairs = static_cast<size_t>(d_model / 2);
  const bool reaches_last = sinusoids.frequencies == PositionFrequencies::tensor2tensor;
  const auto span = static_cast<double>(reaches_last ? pairs - 1 : pairs);
  std::vector<double> frequencies;
  for (size_t i = 0; i < pairs; ++i) frequencies.push_back(1 / std::pow(10000.0, static_cast<double>(i) / span));
  struct Turn {
    double sine, cosine;
  };
  const auto turns_at = [&](int64_t position) {
    std::vector<Turn> turns;
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      turns.push_back({std::sin(angle), std::cos(angle)});
    }
    return turns;
  };

  std::vector<std::vector<Turn>> distances(kRun);  // those that occur
  for (int64_t row = 0; row < std::min(kRun, length); ++row) {
    const int64_t distance = (first + row) % kRun;
    distances[static_cast<size_t>(distance)] = turns_at(distance);
  }
  std::vector<float> vectors(static_cast<size_t>(length * d_model));
  float* to = vectors.data();
  const bool interleaved = sinusoids.layout == PositionLayout::interleaved;
  const size_t step = interleaved ? 2 : 1;
  const size_t cosines = interleaved ? 1 : pairs;
  for (int64_t run = first / kRun * kRun; run < first + length; run += kRun) {
    const std::vector<Turn> begin = turns_at(sinusoids.first_position + run);
    for (int64_t position = std::max(run, first); position < std::min(run + kRun, first + length); ++position) {
      const std::vector<Turn>& distance = distances[static_cast<size_t>(position - run)];
      for (size_t i = 0; i < pairs; ++i) {
        float* sine = to + i * step;
        sine[0] = static_cast<float>(begin[i].sine * distance[i].cosine + begin[i].cosine * distance[i].sine);
        sine[cosines] = static_cast<float>(begin[i].cosine * distance[i].cosine - begin[i].sine * distance[i].sine);
      }
      to += d_model;
    }
  }
  return vectors;
}

int64_t sinusoid_rows(const TransformerOptions& options) {
  constexpr int64_t kMostRows = 4096;
  return std::min(options.max_positions, kMostRows);
}

}  // namespace v0
}  // namespace transmute
