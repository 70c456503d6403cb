// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace inference {

constexpr int64_t kLanes = 16;

/// Sums in 16 lanes: compilers make vectors of them, and the order is the same in all instruction sets.
TRANSMUTE_INLINE float sum_of_lanes(const float* lanes) {
  float half[8];
  for (int i = 0; i < 8; ++i) half[i] = lanes[i] + lanes[i + 8];
  for (int i = 0; i < 4; ++i) half[i] += half[i + 4];
  return (half[0] + half[2]) + (half[1] + half[3]);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
