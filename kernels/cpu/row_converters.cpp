// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/row_converters.h>

#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/avx512.h>
#include <transmute/kernels/simd/vector_math.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

constexpr int64_t kBlock = 16;

// to[column][row] = from[row][column], 16 x 16 at a time: 32 lines fit the first-level cache, whatever the stride.
TRANSMUTE_INLINE void transpose(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                                int64_t to_stride) {
  const auto turn = [&](int64_t first_row, int64_t row_count, int64_t first_column, int64_t column_count) {
    const float* source = from + first_row * from_stride + first_column;
    float* target = to + first_column * to_stride + first_row;
    for (int64_t c = 0; c < column_count; ++c)
      for (int64_t r = 0; r < row_count; ++r) target[c * to_stride + r] = source[r * from_stride + c];
  };
  for (int64_t column = 0; column < columns; column += kBlock)
    for (int64_t row = 0; row < rows; row += kBlock) {
      if (row + kBlock <= rows && column + kBlock <= columns) {
        turn(row, kBlock, column, kBlock);
      } else {
        turn(row, std::min(kBlock, rows - row), column, std::min(kBlock, columns - column));
      }
    }
}

// The bits of a magnitude. They have the order of what they stand for, and those of NaN come last.
constexpr int32_t kMagnitudeBits = 0x7fffffff;

TRANSMUTE_INLINE float from_bits(int32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The largest magnitude, or NaN where there is one: in lanes, for the compiler to make vectors of.
TRANSMUTE_INLINE float largest_magnitude(const float* x, int64_t count) {
  constexpr int64_t kLanes = 32;
  int32_t lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  const auto take = [&](int64_t lane, int64_t i) {
    int32_t bits;
    std::memcpy(&bits, x + i, sizeof(bits));
    const int32_t magnitude = bits & kMagnitudeBits;
    lanes[lane] = magnitude > lanes[lane] ? magnitude : lanes[lane];
  };
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) take(lane, i + lane);
  for (int64_t i = whole; i < count; ++i) take(0, i);
  return from_bits(*std::max_element(lanes, lanes + kLanes));
}

// Rounds |x| <= 2^22 to the nearest integer, ties to even: adding 1.5 · 2^23 leaves it in the low bits.
TRANSMUTE_INLINE int32_t round_to_int(float x) {
  const float shifted = x + 12582912.0F;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  return bits - 0x4b400000;
}

// One row into its tiles, 64 numbers each 1 KB apart. Returns the scale.
TRANSMUTE_INLINE float quantize_row(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
  const float largest = largest_magnitude(x, inputs);
  const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
  const int64_t whole = inputs / kStepBytes;
  for (int64_t step = 0; step < whole; ++step)
    for (int64_t i = 0; i < kStepBytes; ++i)
      to[step * kTileBytes + i] = static_cast<int8_t>(round_to_int(x[step * kStepBytes + i] * inverse) + offset);
  if (whole < steps) {
    std::memset(to + whole * kTileBytes, 0, kStepBytes);
    for (int64_t i = whole * kStepBytes; i < inputs; ++i)
      to[whole * kTileBytes + i - whole * kStepBytes] = static_cast<int8_t>(round_to_int(x[i] * inverse) + offset);
  }
  return largest / 127.0F;
}

TRANSMUTE_INLINE void round_row(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  constexpr int64_t kPerStep = kStepBytes / 2;
  constexpr int64_t kTile = kTileBytes / 2;
  const int64_t whole = inputs / kPerStep;
  for (int64_t step = 0; step < whole; ++step)
    for (int64_t i = 0; i < kPerStep; ++i) to[step * kTile + i] = kernels::float_to_bfloat16(x[step * kPerStep + i]);
  if (whole == steps) return;
  std::memset(to + whole * kTile, 0, kStepBytes);
  for (int64_t i = whole * kPerStep; i < inputs; ++i)
    to[whole * kTile + i - whole * kPerStep] = kernels::float_to_bfloat16(x[i]);
}

// The sum of a row that lies in its tiles.
TRANSMUTE_INLINE int32_t sum_of_row(const int8_t* row, int64_t steps) {
  int32_t sum = 0;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t i = 0; i < kStepBytes; ++i) sum += row[step * kTileBytes + i];
  return sum;
}

void transpose_baseline(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                        int64_t to_stride) {
  transpose(from, rows, columns, from_stride, to, to_stride);
}
float quantize_row_baseline(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
  return quantize_row(x, inputs, steps, offset, to);
}
void round_row_baseline(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
int32_t sum_of_row_baseline(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}
TRANSMUTE_TARGET_AVX2 void transpose_avx2(const float* from, int64_t rows, int64_t columns, int64_t from_stride,
                                          float* to, int64_t to_stride) {
  transpose(from, rows, columns, from_stride, to, to_stride);
}
TRANSMUTE_TARGET_AVX2 float quantize_row_avx2(const float* x, int64_t inputs, int64_t steps, int32_t offset,
                                              int8_t* to) {
  return quantize_row(x, inputs, steps, offset, to);
}
TRANSMUTE_TARGET_AVX2 void round_row_avx2(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
TRANSMUTE_TARGET_AVX2 int32_t sum_of_row_avx2(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}
#if defined(__x86_64__)
using kernels::first_lanes;
constexpr int64_t kLanes = 16;

TRANSMUTE_TARGET_AVX512 void transpose_avx512(const float* from, int64_t rows, int64_t columns, int64_t from_stride,
                                              float* to, int64_t to_stride) {
  for (int64_t row = 0; row < rows; row += kBlock)
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t row_count = std::min(kBlock, rows - row);
      const int64_t column_count = std::min(kBlock, columns - column);
      const float* source = from + row * from_stride + column;
      float* target = to + column * to_stride + row;
      __m512i block[kBlock];
#pragma GCC unroll 16
      for (int i = 0; i < kBlock; ++i)
        block[i] = i < row_count ? _mm512_maskz_loadu_epi32(first_lanes(column_count), source + i * from_stride)
                                 : _mm512_setzero_si512();
      kernels::transpose_words(block);
#pragma GCC unroll 16
      for (int i = 0; i < kBlock; ++i)
        if (i < column_count) _mm512_mask_storeu_epi32(target + i * to_stride, first_lanes(row_count), block[i]);
    }
}

// The conversion is written by hand: compilers make several passes of the conversion to bytes.
TRANSMUTE_TARGET_AVX512 float quantize_row_avx512(const float* x, int64_t inputs, int64_t steps, int32_t offset,
                                                  int8_t* to) {
  const __m512i magnitude = _mm512_set1_epi32(kMagnitudeBits);
  __m512i largest_of[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  int64_t i = 0;
  for (; i + 2 * kLanes <= inputs; i += 2 * kLanes) {
    largest_of[0] = _mm512_max_epi32(largest_of[0], _mm512_and_si512(magnitude, _mm512_loadu_si512(x + i)));
    largest_of[1] = _mm512_max_epi32(largest_of[1], _mm512_and_si512(magnitude, _mm512_loadu_si512(x + i + kLanes)));
  }
  for (; i < inputs; i += kLanes) {
    const __m512i rest = _mm512_maskz_loadu_epi32(first_lanes(inputs - i), x + i);
    largest_of[0] = _mm512_max_epi32(largest_of[0], _mm512_and_si512(magnitude, rest));
  }
  const float largest = from_bits(_mm512_reduce_max_epi32(_mm512_max_epi32(largest_of[0], largest_of[1])));
  const __m512 inverse = _mm512_set1_ps(largest > 0 ? 127.0F / largest : 0.0F);
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(offset));
  const __m512i in_order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  // A whole step at a time: a tile's load would wait for parts of a line that were written apart.
  for (int64_t step = 0; step < steps; ++step) {
    __m512i words[4];
#pragma GCC unroll 4
    for (int64_t part = 0; part < 4; ++part) {
      const int64_t at = step * kStepBytes + part * kLanes;
      const __m512 values = _mm512_maskz_loadu_ps(first_lanes(inputs - at), x + at);
      words[part] = _mm512_cvtps_epi32(_mm512_mul_ps(values, inverse));
    }
    // Packing keeps quarters apart: the bytes come in fours, of which every fourth belongs to a part.
    const __m512i fours =
        _mm512_packs_epi16(_mm512_packs_epi32(words[0], words[1]), _mm512_packs_epi32(words[2], words[3]));
    const __m512i bytes = _mm512_permutexvar_epi32(in_order, fours);
    _mm512_store_si512(to + step * kTileBytes, _mm512_add_epi8(bytes, shift));
  }
  return largest / 127.0F;
}
#else
constexpr auto transpose_avx512 = transpose_baseline;
constexpr auto quantize_row_avx512 = quantize_row_baseline;
#endif
TRANSMUTE_TARGET_AVX512 void round_row_avx512(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  round_row(x, inputs, steps, to);
}
TRANSMUTE_TARGET_AVX512 int32_t sum_of_row_avx512(const int8_t* row, int64_t steps) {
  return sum_of_row(row, steps);
}

}  // namespace

RowConverters row_converters(kernels::Simd simd) {
  if (simd >= kernels::Simd::avx512)
    return {transpose_avx512, quantize_row_avx512, round_row_avx512, sum_of_row_avx512};
  if (simd >= kernels::Simd::avx2) return {transpose_avx2, quantize_row_avx2, round_row_avx2, sum_of_row_avx2};
  return {transpose_baseline, quantize_row_baseline, round_row_baseline, sum_of_row_baseline};
}

void copy_row(const int8_t* x, int64_t inputs, int64_t steps, int8_t* to) {
  for (int64_t step = 0; step < steps; ++step, x += kStepBytes, to += kTileBytes) {
    const int64_t count = std::min(kStepBytes, inputs - step * kStepBytes);
    std::memcpy(to, x, static_cast<size_t>(count));
    std::memset(to + count, 0, static_cast<size_t>(kStepBytes - count));
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
