// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/rounding.h>

#include <transmute/kernels/cpu/rows.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

void add_bfloat16_to(float* total, const void* addend, int64_t count) {
  active_kernels<RowKernels<uint16_t>>().add_to(total, static_cast<const uint16_t*>(addend), count);
}

void widen_bfloat16(float* to, const void* from, int64_t count) {
  active_kernels<RowKernels<uint16_t>>().widen(to, static_cast<const uint16_t*>(from), count);
}

void round_to_bfloat16(void* to, const float* from, int64_t count) {
  active_kernels<RowKernels<uint16_t>>().copy_rounded(static_cast<uint16_t*>(to), from, count);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
