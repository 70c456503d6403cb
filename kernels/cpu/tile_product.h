// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// A matrix, one of whose strides is 1. T: float, or uint16_t for bfloat16's bits.
template <class T>
struct MatrixView {
  const T* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;  ///< in numbers
};

/// True if tile_product multiplies T on this machine: float32 from Simd::avx512 on, bfloat16 from Simd::avx512_bf16 on.
template <class T>
bool has_tile_product();

/// out = a b, or out += a b if `adds`; on this thread alone. Sums are float32; bfloat16 is rounded once, at the end,
/// and once more when it is added. A row of the result is a function of that row of `a` (and of b), bit for bit. `out`:
/// [a.rows,b.columns], dense, not overlapping `a` or `b`.
template <class T>
void tile_product(const MatrixView<T>& a, const MatrixView<T>& b, T* out, bool adds = false);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
