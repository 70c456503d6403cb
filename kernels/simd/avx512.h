// SPDX-License-Identifier: Apache-2.0
#pragma once

// The intrinsics, and what the kernels in AVX-512 and beyond share.
#include <transmute/kernels/simd/simd.h>

#include <cstdint>

#if defined(__x86_64__)
// GCC 12 warns of its own intrinsics' undefined values (its bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#define TRANSMUTE_AVX512_INLINE __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) TRANSMUTE_INLINE

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The first `count` of 16 words.
TRANSMUTE_AVX512_INLINE __mmask16 first_lanes(int64_t count) {
  return count >= 16 ? __mmask16(0xffff) : count <= 0 ? __mmask16(0) : static_cast<__mmask16>((1U << count) - 1);
}

/// sums[i] += the two products of bfloat16 numbers that the words x[i] and w[i] hold.
__attribute__((target("avx512f,avx512bf16"))) TRANSMUTE_INLINE __m512 add_bfloat16_dots(__m512 sums, __m512i x,
                                                                                        __m512i w) {
#if defined(__clang__) && (__clang_major__ == 16 || __clang_major__ == 17)
  asm("" : "+v"(x));  // both crash if they know that a vector of bfloat16 repeats one number
#endif
  return _mm512_dpbf16_ps(sums, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(w));
}

/// Transposes a 16 by 16 matrix of words in registers: first single words change places, then pairs of them, then
/// quarters of rows.
TRANSMUTE_AVX512_INLINE void transpose_words(__m512i (&rows)[16]) {
  __m512i other[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    other[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    other[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(other[i], other[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(other[i], other[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(other[i + 1], other[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(other[i + 1], other[i + 3]);
  }
  constexpr int kEven = 0x88;  // quarters 0 and 2 of the one and of the other
  constexpr int kOdd = 0xdd;   // quarters 1 and 3
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    other[i] = _mm512_shuffle_i32x4(rows[i], rows[4 + i], kEven);
    other[4 + i] = _mm512_shuffle_i32x4(rows[i], rows[4 + i], kOdd);
    other[8 + i] = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], kEven);
    other[12 + i] = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], kOdd);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(other[i], other[8 + i], kEven);
    rows[4 + i] = _mm512_shuffle_i32x4(other[4 + i], other[12 + i], kEven);
    rows[8 + i] = _mm512_shuffle_i32x4(other[i], other[8 + i], kOdd);
    rows[12 + i] = _mm512_shuffle_i32x4(other[4 + i], other[12 + i], kOdd);
  }
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute

#endif
