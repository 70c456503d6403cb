// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/positional_encoding.h>

#include <transmute/model/initialization.h>
#include <transmute/model/libtorch.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace transmute {
inline namespace v0 {

// Sines and cosines are computed for the first position of each run and for the distances from it; the sum of two
// angles gives the others: a sixteenth of the work.
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

  std::vector<std::vector<Turn>> distances;
  for (int64_t distance = 0; distance < std::min(kRun, length); ++distance) distances.push_back(turns_at(distance));
  torch::Tensor vectors = torch::empty({length, d_model}, torch::kFloat);
  float* to = vectors.data_ptr<float>();
  const bool interleaved = sinusoids.layout == PositionLayout::interleaved;
  const size_t step = interleaved ? 2 : 1;
  const size_t cosines = interleaved ? 1 : pairs;
  for (int64_t run = 0; run < length; run += kRun) {
    const std::vector<Turn> begin = turns_at(sinusoids.first_position + first + run);
    for (int64_t row = 0; row < std::min(kRun, length - run); ++row) {
      const std::vector<Turn>& distance = distances[static_cast<size_t>(row)];
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
    : kind_(options.positional_encoding),
      d_model_(options.d_model),
      max_positions_(options.max_positions),
      sinusoids_(options.sinusoids) {
  if (kind_ == PositionalEncodingKind::learned) {
    table_ = register_parameter("weight", torch::empty({max_positions_, d_model_}));
    draw_normal(table_, 1.0 / std::sqrt(static_cast<double>(d_model_)));
  } else {
    table_ = register_buffer(
        "sinusoids", other != nullptr ? other->table_ : sinusoidal_positions(0, max_positions_, d_model_, sinusoids_));
  }
}

torch::Tensor PositionalEncodingImpl::forward(int64_t first, int64_t length) {
  const bool in_table = first + length <= max_positions_;
  if (kind_ == PositionalEncodingKind::sinusoidal && !in_table)
    return sinusoidal_positions(first, length, d_model_, sinusoids_).to(table_.options());
  TORCH_CHECK_VALUE(in_table, "position ", first + length - 1, " is beyond the ", max_positions_,
                    " learned positions (model.max_positions)");
  return table_.slice(0, first, first + length);
}

}  // namespace v0
}  // namespace transmute
