// SPDX-License-Identifier: Apache-2.0
// Conversions of rows, compiled once for each instruction set.

#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/cpu/row_converters.h>
#include <transmute/kernels/simd/lanes.h>

#include <cstring>

namespace transmute {
inline namespace v0 {
namespace inference {
namespace {

using namespace kernels;

#if defined(__AVX512F__)
// to[column][row] = from[row][column], a vector's square at a time.
void transpose_matrix(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
                      int64_t to_stride) {
  for (int64_t row = 0; row < rows; row += kLanes) {
    const int64_t row_count = rows - row < kLanes ? rows - row : kLanes;
    for_lanes(
        columns, [&](int64_t column, auto part) __attribute__((always_inline)) {
          Floats block[kLanes];
#pragma GCC unroll 16
          for (int64_t i = 0; i < kLanes; ++i)
            block[i] = i < row_count ? load(from + (row + i) * from_stride + column, part) : Floats{};
          transpose(block);
          const int64_t column_count = columns - column < kLanes ? columns - column : kLanes;
          float* target = to + column * to_stride + row;
#pragma GCC unroll 16
          for (int64_t i = 0; i < kLanes; ++i) {
            if (i >= column_count) continue;
            if (row_count == kLanes) {
              store(target + i * to_stride, block[i]);
            } else {
              store(target + i * to_stride, block[i], Part{row_count});
            }
          }
        });
  }
}
#else
constexpr int64_t kBlock = 16;

// to[column][row] = from[row][column], 16 x 16 at a time: 32 lines fit the first-level cache, whatever the stride.
void transpose_matrix(const float* from, int64_t rows, int64_t columns, int64_t from_stride, float* to,
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
        turn(row, rows - row < kBlock ? rows - row : kBlock, column,
             columns - column < kBlock ? columns - column : kBlock);
      }
    }
}
#endif

// The largest magnitude, or NaN if there is one. The bits of magnitudes are in the order of the numbers, and those of
// NaN come last.
float largest_magnitude(const float* x, int64_t count) {
  Signed largest = {};
  for_lanes(
      count, [&](int64_t i, auto part) __attribute__((always_inline)) {
        const Signed magnitude = reinterpret_cast<Signed>(load(x + i, part)) & 0x7fffffff;
        largest = magnitude > largest ? magnitude : largest;
      });
  int32_t bits = 0;
  for (int64_t i = 0; i < kLanes; ++i) bits = largest[i] > bits ? largest[i] : bits;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

#if defined(__AVX512F__)
// Written with intrinsics, because compilers make several passes of the conversion to bytes.
float quantize_row(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
  const float largest = largest_magnitude(x, inputs);
  const __m512 inverse = _mm512_set1_ps(largest > 0 ? 127.0F / largest : 0.0F);
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(offset));
  const __m512i in_order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  // Whole steps are stored at once: loading a tile would wait for parts of a cache line that were stored separately.
  for (int64_t step = 0; step < steps; ++step) {
    __m512i words[4];
#pragma GCC unroll 4
    for (int64_t part = 0; part < 4; ++part) {
      const int64_t at = step * kStepBytes + part * kLanes;
      const __m512 values = _mm512_maskz_loadu_ps(first_lanes(inputs - at), x + at);
      words[part] = _mm512_cvtps_epi32(_mm512_mul_ps(values, inverse));
    }
    // The packing instructions work on quarters of a vector, so the bytes come in groups of four, and each part has
    // every fourth group.
    const __m512i fours =
        _mm512_packs_epi16(_mm512_packs_epi32(words[0], words[1]), _mm512_packs_epi32(words[2], words[3]));
    const __m512i bytes = _mm512_permutexvar_epi32(in_order, fours);
    _mm512_store_si512(to + step * kTileBytes, _mm512_add_epi8(bytes, shift));
  }
  return largest / 127.0F;
}
#else
// Rounds |x| <= 2^22 to the nearest integer, ties to even: adding 1.5 · 2^23 leaves it in the low bits.
TRANSMUTE_INLINE int32_t round_to_int(float x) {
  const float shifted = x + 12582912.0F;
  int32_t bits;
  std::memcpy(&bits, &shifted, sizeof(bits));
  return bits - 0x4b400000;
}

// One row into its tiles, 64 numbers each 1 KB apart. Returns the scale.
float quantize_row(const float* x, int64_t inputs, int64_t steps, int32_t offset, int8_t* to) {
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
#endif

void round_row(const float* x, int64_t inputs, int64_t steps, uint16_t* to) {
  constexpr int64_t kPerStep = kStepBytes / 2;
  constexpr int64_t kTile = kTileBytes / 2;
  const int64_t whole = inputs / kPerStep;
  for (int64_t step = 0; step < whole; ++step)
    for (int64_t i = 0; i < kPerStep; ++i) to[step * kTile + i] = float_to_bfloat16(x[step * kPerStep + i]);
  if (whole == steps) return;
  std::memset(to + whole * kTile, 0, kStepBytes);
  for (int64_t i = whole * kPerStep; i < inputs; ++i)
    to[whole * kTile + i - whole * kPerStep] = float_to_bfloat16(x[i]);
}

// The sum of a row that lies in its tiles.
int32_t sum_of_row(const int8_t* row, int64_t steps) {
  int32_t sum = 0;
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t i = 0; i < kStepBytes; ++i) sum += row[step * kTileBytes + i];
  return sum;
}

constexpr RowConverters kTable = {transpose_matrix, quantize_row, round_row, sum_of_row};

}  // namespace

const RowConverters RowConverters::TRANSMUTE_SIMD = kTable;

}  // namespace inference
}  // namespace v0
}  // namespace transmute
