// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Passes between float32 arrays and bfloat16 ones (`void*`: LibTorch has a type of its own for the 16 bits).
void add_bfloat16_to(float* total, const void* addend, int64_t count);
void widen_bfloat16(float* to, const void* from, int64_t count);

/// To nearest, ties to even.
void round_to_bfloat16(void* to, const float* from, int64_t count);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
