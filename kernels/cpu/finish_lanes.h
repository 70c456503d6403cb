// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/avx512.h>

#if defined(__x86_64__)

namespace transmute {
inline namespace v0 {
namespace inference {

/// Writes 16 sums of row `row` from output `column` on.
TRANSMUTE_TARGET_AVX512 TRANSMUTE_INLINE void finish_lanes(__m512 sum, int64_t row, int64_t column,
                                                           const ProductOutput& out) {
  const __mmask16 lanes = kernels::first_lanes(out.outputs - column);
  const int64_t at = row * out.outputs + column;
  if (out.bias != nullptr) sum = _mm512_add_ps(sum, _mm512_loadu_ps(out.bias + column));
  if (out.residual != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, out.residual + at));
  if (out.relu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
  _mm512_mask_storeu_ps(out.y + at, lanes, sum);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

#endif
