#include <transmute/model/positional_encoding.h>

#include <transmute/model/initialization.h>
#include <transmute/model/libtorch.h>

#include <cmath>

namespace transmute {
inline namespace v0 {

torch::Tensor sinusoidal_positions(int64_t first, int64_t length, int64_t d_model) {
  const auto exact = torch::TensorOptions().dtype(torch::kDouble);
  const torch::Tensor position = torch::arange(first, first + length, exact).unsqueeze(1);  // [L,1]
  const torch::Tensor exponent = torch::arange(0, d_model, 2, exact) / static_cast<double>(d_model);
  const torch::Tensor angle = position * torch::pow(10000.0, exponent).reciprocal();  // [L,D/2]
  return torch::stack({angle.sin(), angle.cos()}, -1).flatten(1).to(torch::kFloat);   // sine, cosine, sine …
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
