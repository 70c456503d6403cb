// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// A matrix of bfloat16 numbers (their bits), one of whose strides is 1.
struct Bfloat16Matrix {
  const uint16_t* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;  ///< in numbers
};

/// a b, on this thread alone, in AMX's tiles: for Simd::amx. Sums are float32 and rounded once, at the end; a row of
/// the result is a function of that row of `a` (and of b), bit for bit. `out`: [a.rows,b.columns], dense, not
/// overlapping `a` or `b`.
void tile_product(const Bfloat16Matrix& a, const Bfloat16Matrix& b, uint16_t* out);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
