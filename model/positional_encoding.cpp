// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/positional_encoding.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/initialization.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Rows of the table of sinusoids, which is no larger than most texts need: a config may name any number of positions.
constexpr int64_t kMostTableRows = 4096;

}  // namespace

// Sines and cosines are computed for the first position of each run and for the distances from it; the sum of two
// angles gives the others: a sixteenth of the work. Runs begin at multiples of their length, so that a position's
// vector is the same bit for bit wherever the rows begin.
torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model, const Sinusoids& sinusoids) {
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
  torch::Tensor vectors = torch::empty({length, d_model}, torch::kFloat);
  float* to = vectors.data_ptr<float>();
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

PositionalEncodingImpl::PositionalEncodingImpl(const TransformerOptions& options, const PositionalEncodingImpl* other)
    : kind_(options.positional_encoding), d_model_(options.d_model), sinusoids_(options.sinusoids) {
  if (kind_ == PositionalEncodingKind::learned) {
    table_ = register_parameter("weight", torch::empty({options.max_positions, d_model_}, torch::kFloat));
    draw_normal(table_, 1.0 / std::sqrt(static_cast<double>(d_model_)));
  } else {
    const int64_t rows = std::min(options.max_positions, kMostTableRows);
    table_ = register_buffer("sinusoids",
                             other != nullptr ? other->table_ : sinusoidal_positions(0, rows, d_model_, sinusoids_));
  }
}

torch::Tensor PositionalEncodingImpl::forward(int64_t first, int64_t length) {
  const int64_t rows = table_.size(0);
  const bool in_table = first + length <= rows;
  if (kind_ == PositionalEncodingKind::sinusoidal && !in_table)
    return sinusoidal_positions(first, length, d_model_, sinusoids_).to(table_.options());
  TORCH_CHECK_VALUE(in_table, "position ", first + length - 1, " is beyond the ", rows,
                    " learned positions (model.max_positions)");
  return table_.slice(0, first, first + length);
}

}  // namespace v0
}  // namespace transmute
