// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/avx512.h>

#if defined(__x86_64__)
#include <algorithm>
#include <cstring>

// Intrinsics, because the sums have to stay in registers.
#define TRANSMUTE_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define TRANSMUTE_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

using kernels::first_lanes;
constexpr int64_t kLanes = 16;
constexpr int64_t kInputsAhead = 24;  // distance at which weights are fetched ahead

// Writes 16 sums of row `row` from output `column` on.
TRANSMUTE_TARGET_AVX512 TRANSMUTE_INLINE void finish_lanes(__m512 sum, int64_t row, int64_t column,
                                                           const ProductOutput& out) {
  const __mmask16 lanes = first_lanes(out.outputs - column);
  const int64_t at = row * out.outputs + column;
  if (out.bias != nullptr) sum = _mm512_add_ps(sum, _mm512_loadu_ps(out.bias + column));
  if (out.residual != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, out.residual + at));
  if (out.relu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
  _mm512_mask_storeu_ps(out.y + at, lanes, sum);
}

// finish_lanes of a tile: rows from the output's first on, kVectors of 16 outputs from `column` on.
template <int kRows, int kVectors>
TRANSMUTE_TARGET_AVX512 inline void finish(__m512 (&sums)[kRows][kVectors], int64_t column, const ProductOutput& out) {
  __mmask16 lanes[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) lanes[v] = first_lanes(out.outputs - column - v * kLanes);
  // Changes all sums in turn, each time with one branch.
  const auto each = [&](const auto& change) TRANSMUTE_TARGET_AVX512 {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) change(sums[r][v], lanes[v], r * out.outputs + column + v * kLanes, v);
  };
  if (out.bias != nullptr)
    each([&](__m512& sum, __mmask16, int64_t, int v)
             TRANSMUTE_TARGET_AVX512 { sum = _mm512_add_ps(sum, _mm512_load_ps(out.bias + column + v * kLanes)); });
  if (out.residual != nullptr)
    each([&](__m512& sum, __mmask16 mask, int64_t at, int)
             TRANSMUTE_TARGET_AVX512 { sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(mask, out.residual + at)); });
  if (out.relu)
    each([&](__m512& sum, __mmask16, int64_t, int)
             TRANSMUTE_TARGET_AVX512 { sum = _mm512_max_ps(sum, _mm512_setzero_ps()); });
  each([&](__m512& sum, __mmask16 mask, int64_t at, int)
           TRANSMUTE_TARGET_AVX512 { _mm512_mask_storeu_ps(out.y + at, mask, sum); });
}

// kRows rows times kPanels panels from `panel` on.
template <int kRows, int kPanels>
TRANSMUTE_TARGET_AVX512 void float32_tile(const float* x, const float* weight, int64_t inputs, int64_t panel,
                                          const float* next, const ProductOutput& out) {
  constexpr int kVectors = 2 * kPanels;
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  const float* w = weight + panel * inputs * kPanel;
  const int64_t stride = inputs * kPanel;
  if (next == nullptr) next = w;  // to no effect: a branch would cost more
  for (int64_t i = 0; i < inputs; ++i) {
    __m512 values[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) values[v] = _mm512_load_ps(w + (v / 2) * stride + (v % 2) * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const __m512 input = _mm512_set1_ps(x[r]);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_fmadd_ps(input, values[v], sums[r][v]);
    }
    _mm_prefetch(next, _MM_HINT_T1);
    // If rows are few, the time goes into loading the weights.
    if (kRows < 8) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        _mm_prefetch(w + kInputsAhead * kPanel + (v / 2) * stride + (v % 2) * kLanes, _MM_HINT_T0);
    }
    x += kRows;
    w += kPanel;
    next += kFetchedPerInput;
  }
  finish(sums, panel * kPanel, out);
}

template <int kRows>
TRANSMUTE_TARGET_AVX512 void float32_rows(const float* x, const float* weight, int64_t inputs, Panels panels,
                                          const float* next, const ProductOutput& out) {
  // Enough sums to hide the latency of an addition, few enough for 32 registers.
  constexpr int kPanels = kRows <= 3 ? 4 : kRows <= 6 ? 2 : 1;
  int64_t panel = panels.first;
  for (; panel + kPanels <= panels.end; panel += kPanels)
    float32_tile<kRows, kPanels>(x, weight, inputs, panel, next, out);
  for (; panel < panels.end; ++panel) float32_tile<kRows, 1>(x, weight, inputs, panel, next, out);
}

constexpr int kNarrowRows = 8;

// kRows rows of one block of 16 times the panels of 16 outputs `panel` and `panel`+1.
template <int kRows>
TRANSMUTE_VNNI void int8_tile(const int8_t* x, const int8_t* weight, int64_t steps, int64_t panel, int64_t first_row,
                              const ProductOutput& out, const Int8Scales& scales) {
  __m512i sums[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_si512();
  const int8_t* w0 = weight + panel * steps * kTileBytes;
  const int8_t* w1 = w0 + steps * kTileBytes;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t group = 0; group < kTileRows; ++group) {
      const __m512i v0 = _mm512_load_si512(w0 + group * kStepBytes);
      const __m512i v1 = _mm512_load_si512(w1 + group * kStepBytes);
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        int32_t four;
        std::memcpy(&four, x + r * kStepBytes + group * 4, sizeof(four));
        const __m512i input = _mm512_set1_epi32(four);
        sums[r][0] = _mm512_dpbusd_epi32(sums[r][0], input, v0);
        sums[r][1] = _mm512_dpbusd_epi32(sums[r][1], input, v1);
      }
    }
    x += kTileBytes;
    w0 += kTileBytes;
    w1 += kTileBytes;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const int64_t column = (panel + v) * kTileOutputs;
      const __m512i sum = _mm512_sub_epi32(sums[r][v], _mm512_load_si512(scales.column_sums + column));
      const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_set1_ps(scales.rows[first_row + r]));
      finish_lanes(_mm512_mul_ps(scaled, _mm512_loadu_ps(scales.columns + column)), first_row + r, column, out);
    }
}

template <int kRows>
TRANSMUTE_BF16 void bfloat16_tile(const uint16_t* x, const uint16_t* weight, int64_t steps, int64_t panel,
                                  int64_t first_row, const ProductOutput& out) {
  constexpr int64_t kTile = kTileBytes / 2;
  constexpr int64_t kStep = kStepBytes / 2;
  __m512 sums[kRows][2];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_ps();
  const uint16_t* w0 = weight + panel * steps * kTile;
  const uint16_t* w1 = w0 + steps * kTile;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t group = 0; group < kTileRows; ++group) {
      const auto v0 = reinterpret_cast<__m512bh>(_mm512_load_si512(w0 + group * kStep));
      const auto v1 = reinterpret_cast<__m512bh>(_mm512_load_si512(w1 + group * kStep));
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
        int32_t two;
        std::memcpy(&two, x + r * kStep + group * 2, sizeof(two));
        const auto input = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
        sums[r][0] = _mm512_dpbf16_ps(sums[r][0], input, v0);
        sums[r][1] = _mm512_dpbf16_ps(sums[r][1], input, v1);
      }
    }
    x += kTile;
    w0 += kTile;
    w1 += kTile;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) finish_lanes(sums[r][v], first_row + r, (panel + v) * kTileOutputs, out);
}

// Calls body(first row, rows) for strips of at most kNarrowRows rows that do not cross a block of 16.
template <class Body>
inline void for_row_strips(int64_t rows, const Body& body) {
  for (int64_t row = 0; row < rows; row += kNarrowRows) body(row, std::min<int64_t>(kNarrowRows, rows - row));
}

}  // namespace

void float32_block_avx512(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                          const float* next, const ProductOutput& out) {
  using Rows = void (*)(const float*, const float*, int64_t, Panels, const float*, const ProductOutput&);
  static constexpr Rows kRows[kRowBlock] = {float32_rows<1>, float32_rows<2>,  float32_rows<3>,  float32_rows<4>,
                                            float32_rows<5>, float32_rows<6>,  float32_rows<7>,  float32_rows<8>,
                                            float32_rows<9>, float32_rows<10>, float32_rows<11>, float32_rows<12>};
  kRows[rows - 1](x, weight, inputs, panels, next, out);
}

void int8_product_avx512(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                         const Int8Scales& scales) {
  using Tile =
      void (*)(const int8_t*, const int8_t*, int64_t, int64_t, int64_t, const ProductOutput&, const Int8Scales&);
  static constexpr Tile kTiles[kNarrowRows] = {int8_tile<1>, int8_tile<2>, int8_tile<3>, int8_tile<4>,
                                               int8_tile<5>, int8_tile<6>, int8_tile<7>, int8_tile<8>};
  for (int64_t panel = 0; panel * kTileOutputs < out.outputs; panel += 2)
    for_row_strips(rows, [&](int64_t row, int64_t count) {
      const int8_t* from = x + row / kTileRows * steps * kTileBytes + row % kTileRows * kStepBytes;
      kTiles[count - 1](from, weight, steps, panel, row, out, scales);
    });
}

void bfloat16_product_avx512(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                             const ProductOutput& out) {
  using Tile = void (*)(const uint16_t*, const uint16_t*, int64_t, int64_t, int64_t, const ProductOutput&);
  static constexpr Tile kTiles[kNarrowRows] = {bfloat16_tile<1>, bfloat16_tile<2>, bfloat16_tile<3>, bfloat16_tile<4>,
                                               bfloat16_tile<5>, bfloat16_tile<6>, bfloat16_tile<7>, bfloat16_tile<8>};
  for (int64_t panel = 0; panel * kTileOutputs < out.outputs; panel += 2)
    for_row_strips(rows, [&](int64_t row, int64_t count) {
      const uint16_t* from = x + (row / kTileRows * steps * kTileBytes + row % kTileRows * kStepBytes) / 2;
      kTiles[count - 1](from, weight, steps, panel, row, out);
    });
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

#endif
