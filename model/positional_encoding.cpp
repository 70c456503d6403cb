// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/positional_encoding.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/initialization.h>
#include <transmute/network/sinusoids.h>

#include <cmath>

namespace transmute {
inline namespace v0 {

torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model, const Sinusoids& sinusoids) {
  return torch::tensor(sinusoids_at(first, length, d_model, sinusoids), torch::kFloat).view({length, d_model});
}

PositionalEncodingImpl::PositionalEncodingImpl(const TransformerOptions& options, const PositionalEncodingImpl* other)
    : kind_(options.positional_encoding), d_model_(options.d_model), sinusoids_(options.sinusoids) {
  if (kind_ == PositionalEncodingKind::learned) {
    table_ = register_parameter("weight", torch::empty({options.max_positions, d_model_}, torch::kFloat));
    draw_normal(table_, 1.0 / std::sqrt(static_cast<double>(d_model_)));
  } else {
    const int64_t rows = sinusoid_rows(options);
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
