// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/narrow_tiles.h>
#include <transmute/kernels/cpu/product_kernels.h>

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

constexpr int64_t kLanes = 8;
constexpr int kNarrowVectors = kTileOutputs / kLanes;  // vectors of a panel of 16 outputs

// Writes 8 sums of row `row` from output `column` on, as far as there are outputs; bias is padded, the others are not.
TRANSMUTE_TARGET_AVX2 inline void finish(__m256 sum, int64_t row, int64_t column, const ProductOutput& out) {
  const int64_t at = row * out.outputs + column;
  const int64_t real = out.outputs - column;
  const bool is_whole = real >= kLanes;
  const __m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(std::min(real, kLanes))),
                                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  if (out.bias != nullptr) sum = _mm256_add_ps(sum, _mm256_loadu_ps(out.bias + column));
  if (out.residual != nullptr)
    sum = _mm256_add_ps(sum,
                        is_whole ? _mm256_loadu_ps(out.residual + at) : _mm256_maskload_ps(out.residual + at, lanes));
  if (out.relu) sum = _mm256_max_ps(sum, _mm256_setzero_ps());
  if (is_whole) {
    _mm256_storeu_ps(out.y + at, sum);
  } else {
    _mm256_maskstore_ps(out.y + at, lanes, sum);
  }
}

template <int kRows, int kVectors>
TRANSMUTE_TARGET_AVX2 inline void finish(const __m256 (&sums)[kRows][kVectors], int64_t row, int64_t column,
                                         const ProductOutput& out) {
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) finish(sums[r][v], row + r, column + v * kLanes, out);
}

// kRows rows of a block of `stride` times kVectors of 8 outputs from `column` on, which lie in one panel or in two.
template <int kRows, int kVectors>
TRANSMUTE_TARGET_AVX2 void float32_tile(const float* x, int64_t stride, const float* weight, int64_t inputs,
                                        int64_t row, int64_t column, const ProductOutput& out) {
  constexpr int kInPanel = kPanel / kLanes;
  __m256 sums[kRows][kVectors];
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm256_setzero_ps();
  const float* w = weight + column / kPanel * inputs * kPanel + column % kPanel;
  const int64_t panel = inputs * kPanel;
  for (int64_t i = 0; i < inputs; ++i, w += kPanel, x += stride) {
    // The fewer of inputs and weights stay in registers.
    const auto weights = [&](int v) TRANSMUTE_TARGET_AVX2 {
      return _mm256_loadu_ps(w + v / kInPanel * panel + v % kInPanel * kLanes);
    };
    if constexpr (kRows <= kVectors) {
      __m256 rows[kRows];
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) rows[r] = _mm256_set1_ps(x[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const __m256 values = weights(v);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) sums[r][v] = _mm256_fmadd_ps(rows[r], values, sums[r][v]);
      }
    } else {
      __m256 values[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) values[v] = weights(v);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const __m256 input = _mm256_set1_ps(x[r]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm256_fmadd_ps(input, values[v], sums[r][v]);
      }
    }
  }
  finish(sums, row, column, out);
}

// kRows rows of one block of 16 times a panel of 16 outputs.
//
// An instruction multiplies unsigned bytes by signed ones and adds two products in 16 bits. The weights' magnitudes are
// the unsigned ones, and the activations, -127 to 127, get the weights' signs: two products are at most 2 · 128 · 127.
template <int kRows>
TRANSMUTE_TARGET_AVX2 void int8_tile(const int8_t* x, const int8_t* weight, int64_t steps, int64_t row, int64_t column,
                                     const ProductOutput& out, const Int8Scales& scales) {
  __m256i sums[kRows][kNarrowVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kNarrowVectors; ++v) sums[r][v] = _mm256_setzero_si256();
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t step = 0; step < steps; ++step, x += kTileBytes, weight += kTileBytes)
    for (int64_t group = 0; group < kTileRows; ++group) {
      __m256i values[kNarrowVectors], magnitudes[kNarrowVectors];
      for (int v = 0; v < kNarrowVectors; ++v) {
        values[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight + group * kStepBytes + v * 32));
        magnitudes[v] = _mm256_abs_epi8(values[v]);
      }
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        std::memcpy(&four, x + r * kStepBytes + group * 4, sizeof(four));
        const __m256i inputs = _mm256_set1_epi32(four);
        for (int v = 0; v < kNarrowVectors; ++v) {
          const __m256i pairs = _mm256_maddubs_epi16(magnitudes[v], _mm256_sign_epi8(inputs, values[v]));
          sums[r][v] = _mm256_add_epi32(sums[r][v], _mm256_madd_epi16(pairs, ones));
        }
      }
    }
  __m256 scaled[kRows][kNarrowVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kNarrowVectors; ++v)
      scaled[r][v] = _mm256_mul_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(sums[r][v]), _mm256_set1_ps(scales.rows[row + r])),
                                   _mm256_loadu_ps(scales.columns + column + v * kLanes));
  finish(scaled, row, column, out);
}

// A bfloat16 number is the upper half of a float32; `low` and `high` are those of a pair.
TRANSMUTE_TARGET_AVX2 inline __m256 low(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
}
TRANSMUTE_TARGET_AVX2 inline __m256 high(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int32_t>(0xffff0000U))));
}

// The same in products of float32.
template <int kRows>
TRANSMUTE_TARGET_AVX2 void bfloat16_tile(const uint16_t* x, const uint16_t* weight, int64_t steps, int64_t row,
                                         int64_t column, const ProductOutput& out) {
  __m256 sums[kRows][kNarrowVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kNarrowVectors; ++v) sums[r][v] = _mm256_setzero_ps();
  for (int64_t step = 0; step < steps; ++step, x += kTileBytes / 2, weight += kTileBytes / 2)
    for (int64_t group = 0; group < kTileRows; ++group) {
      __m256i values[kNarrowVectors];
      for (int v = 0; v < kNarrowVectors; ++v)
        values[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weight + group * (kStepBytes / 2) + v * 16));
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        int32_t two;
        std::memcpy(&two, x + r * (kStepBytes / 2) + group * 2, sizeof(two));
        const __m256i inputs = _mm256_set1_epi32(two);
        for (int v = 0; v < kNarrowVectors; ++v) {
          sums[r][v] = _mm256_fmadd_ps(low(inputs), low(values[v]), sums[r][v]);
          sums[r][v] = _mm256_fmadd_ps(high(inputs), high(values[v]), sums[r][v]);
        }
      }
    }
  finish(sums, row, column, out);
}

}  // namespace

// Tiles of three rows and a whole panel, whose lines are read in order. A row alone would wait for its sums, if there
// were not those of two panels.
void float32_block_avx2(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                        const float* /*next*/, const ProductOutput& out) {
  using Tile = void (*)(const float*, int64_t, const float*, int64_t, int64_t, int64_t, const ProductOutput&);
  constexpr Tile kTiles[] = {float32_tile<1, 4>, float32_tile<2, 4>, float32_tile<3, 4>};
  constexpr int64_t kMost = 3;
  int64_t panel = panels.first;
  if (rows == 1)
    for (; panel + 1 < panels.end; panel += 2) float32_tile<1, 8>(x, rows, weight, inputs, 0, panel * kPanel, out);
  for (; panel < panels.end; ++panel)
    for (int64_t row = 0, tiles = (rows + kMost - 1) / kMost; tiles > 0; --tiles) {
      const int64_t count = (rows - row + tiles - 1) / tiles;  // of about equal size
      kTiles[count - 1](x + row, rows, weight, inputs, row, panel * kPanel, out);
      row += count;
    }
}

void bfloat16_product_avx2(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                           const ProductOutput& out) {
  using Tile = void (*)(const uint16_t*, const uint16_t*, int64_t, int64_t, int64_t, const ProductOutput&);
  constexpr Tile kTiles[kNarrowRows] = {bfloat16_tile<1>, bfloat16_tile<2>, bfloat16_tile<3>, bfloat16_tile<4>};
  for_each_narrow_tile(x, rows, weight, steps, out.outputs,
                       [&](int64_t row, int64_t count, const uint16_t* inputs, int64_t column, const uint16_t* panel) {
                         kTiles[count - 1](inputs, panel, steps, row, column, out);
                       });
}

void int8_product_avx2(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                       const Int8Scales& scales) {
  using Tile =
      void (*)(const int8_t*, const int8_t*, int64_t, int64_t, int64_t, const ProductOutput&, const Int8Scales&);
  constexpr Tile kTiles[kNarrowRows] = {int8_tile<1>, int8_tile<2>, int8_tile<3>, int8_tile<4>};
  for_each_narrow_tile(x, rows, weight, steps, out.outputs,
                       [&](int64_t row, int64_t count, const int8_t* inputs, int64_t column, const int8_t* panel) {
                         kTiles[count - 1](inputs, panel, steps, row, column, out, scales);
                       });
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

#endif
