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
torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model) {
  constexpr int64_t kRun = 32;
  const auto pairs = static_cast<size_t>(d_model / 2);
  std::vector<double> frequencies;
  for (size_t i = 0; i < pairs; ++i)
    frequencies.push_back(1 / std::pow(10000.0, 2 * static_cast<double>(i) / static_cast<double>(d_model)));
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
  for (int64_t run = 0; run < length; run += kRun) {
    const std::vector<Turn> begin = turns_at(first + run);
    for (int64_t row = 0; row < std::min(kRun, length - run); ++row) {
      const std::vector<Turn>& distance = distances[static_cast<size_t>(row)];
      for (size_t i = 0; i < pairs; ++i) {
        *to++ = static_cast<float>(begin[i].sine * distance[i].cosine + begin[i].cosine * distance[i].sine);
        *to++ = static_cast<float>(begin[i].cosine * distance[i].cosine - begin[i].sine * distance[i].sine);
      }
    }
  }
  return vectors;
}

PositionalEncodingImpl::PositionalEncodingImpl(PositionalEncodingKind kind, int64_t d_model, int64_t max_positions,
                                               const PositionalEncodingImpl* other)
    : kind_(kind), d_model_(d_model), max_positions_(max_positions) {
  if (kind == PositionalEncodingKind::learned) {
    table_ = register_parameter("weight", torch::empty({max_positions, d_model}));
    draw_normal(table_, 1.0 / std::sqrt(static_cast<double>(d_model)));
  } else {
    table_ = register_buffer("sinusoids",
                             other != nullptr ? other->table_ : sinusoidal_positions(0, max_positions, d_model));
  }
}

torch::Tensor PositionalEncodingImpl::forward(int64_t first, int64_t length) {
  const bool in_table = first + length <= max_positions_;
  if (kind_ == PositionalEncodingKind::sinusoidal && !in_table)
    return sinusoidal_positions(first, length, d_model_).to(table_.options());
  TORCH_CHECK_VALUE(in_table, "position ", first + length - 1, " is beyond the ", max_positions_,
                    " learned positions (model.max_positions)");
  return table_.slice(0, first, first + length);
}

}  // namespace v0
}  // namespace transmute
