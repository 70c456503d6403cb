// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace inference {

/// Functions that bring weights and activations into the layouts of product_kernels.h, in one instruction set. Rows of
/// bfloat16 and int8 go to their place in a block of tiles: `steps` steps, one tile apart, filled up with zeros.
struct RowConverters {
  /// to[column][row] = from[row][column].
  void (*transpose)(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                    int64_t to_stride);
  /// To int8, plus `offset`. Returns the scale, which is NaN if the row contains NaN, and infinite if it contains
  /// infinity.
  float (*quantize_row)(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to);
  /// To bfloat16.
  void (*round_row)(const float* x, int64_t inputs, int64_t steps, uint16_t* to);
  /// The sum of a row of int8 that lies in its tiles.
  int32_t (*sum_of_row)(const int8_t* row, int64_t steps);

  static const RowConverters baseline, avx2, avx512;
  static constexpr const RowConverters& avx512_bf16 = avx512;
};

}  // namespace inference
}  // namespace v0
}  // namespace transmute
