// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The table of kernels for `simd`. A table's members baseline, avx2, avx512 and avx512_bf16 are defined by one source
/// file, which is compiled for each of these instruction sets (see kernels/cpu/CMakeLists.txt).
template <class Table>
const Table& kernels_for([[maybe_unused]] Simd simd) {
#if defined(__x86_64__)
  if (simd >= Simd::avx512_bf16) return Table::avx512_bf16;
  if (simd >= Simd::avx512) return Table::avx512;
  if (simd >= Simd::avx2) return Table::avx2;
#endif
  return Table::baseline;
}

template <class Table>
const Table& active_kernels() {
  return kernels_for<Table>(active_simd());
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
