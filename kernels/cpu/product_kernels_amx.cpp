// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/amx_tiles.h>

#if defined(__x86_64__)
#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

enum class Numbers { bfloat16, int8 };

constexpr int64_t kBlock = 2 * kTileRows;  // rows and outputs that are multiplied together

// Sums of a block that has not been written yet, [32 rows][32 outputs], and its first row and output.
struct Sums {
  const int32_t* values;
  int64_t row;
  int64_t rows;
  int64_t column;
};

// Writes the rows [first,end) of a block to the output.
template <Numbers kNumbers>
TRANSMUTE_TARGET_AMX inline void finish_rows(const Sums& sums, int64_t first, int64_t end, const ProductOutput& output,
                                             const Int8Scales* scales) {
  const ProductOutput out = output;  // writing y cannot change the copy
  __mmask16 lanes[2];
  __m512 bias[2], scale[2];
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const int64_t column = sums.column + half * kTileOutputs;
    lanes[half] = kernels::first_lanes(out.outputs - column);
    if (out.bias != nullptr) bias[half] = _mm512_loadu_ps(out.bias + column);
    if constexpr (kNumbers == Numbers::int8) scale[half] = _mm512_loadu_ps(scales->columns + column);
  }
  const int32_t* from = sums.values + first * kBlock;
  for (int64_t row = sums.row + first; row < sums.row + end; ++row, from += kBlock)
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const int64_t at = row * out.outputs + sums.column + half * kTileOutputs;
      const __m512i raw = _mm512_load_si512(from + half * kTileOutputs);
      __m512 sum = _mm512_castsi512_ps(raw);
      if constexpr (kNumbers == Numbers::int8)
        sum = _mm512_mul_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(raw), _mm512_set1_ps(scales->rows[row])), scale[half]);
      if (out.bias != nullptr) sum = _mm512_add_ps(sum, bias[half]);
      if (out.residual != nullptr) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes[half], out.residual + at));
      if (out.relu) sum = _mm512_max_ps(sum, _mm512_setzero_ps());
      _mm512_mask_storeu_ps(out.y + at, lanes[half], sum);
    }
}

// sums = a block's product. Meanwhile the block before is written, since the products of tiles leave the vector units
// idle.
template <Numbers kNumbers, bool kTwo>
TRANSMUTE_TARGET_AMX inline void multiply_tiles(const uint8_t* x, const uint8_t* w, int64_t steps, int32_t* sums,
                                                const Sums& before, const ProductOutput& out,
                                                const Int8Scales* scales) {
  const int64_t apart = steps * kTileBytes;
  const int64_t finished_per_step = (before.rows + steps - 1) / steps;
  int64_t finished = 0;
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTwo) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step < steps; ++step, x += kTileBytes, w += kTileBytes) {
    _tile_loadd(4, x, kStepBytes);
    _tile_loadd(6, w, kStepBytes);
    _tile_loadd(7, w + apart, kStepBytes);
    if constexpr (kTwo) _tile_loadd(5, x + apart, kStepBytes);
    if constexpr (kNumbers == Numbers::int8) {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 7);
      if constexpr (kTwo) {
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
      }
    } else {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      if constexpr (kTwo) {
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
    }
    const int64_t end = std::min(before.rows, finished + finished_per_step);
    finish_rows<kNumbers>(before, finished, end, out, scales);
    finished = end;
  }
  constexpr int64_t kSumsStride = kBlock * sizeof(int32_t);
  _tile_stored(0, sums, kSumsStride);
  _tile_stored(1, sums + kTileOutputs, kSumsStride);
  if constexpr (kTwo) {
    _tile_stored(2, sums + kTileRows * kBlock, kSumsStride);
    _tile_stored(3, sums + kTileRows * kBlock + kTileOutputs, kSumsStride);
  }
}

template <Numbers kNumbers>
TRANSMUTE_TARGET_AMX void multiply(const uint8_t* x, int64_t rows, const uint8_t* weight, int64_t steps,
                                   const ProductOutput& out, const Int8Scales* scales) {
  alignas(64) int32_t sums[2][kBlock * kBlock];
  kernels::AmxTiles tiles;
  // If there are several blocks, the last one is multiplied as whole tiles even if it has fewer rows: changing the
  // shape takes longer.
  tiles.shape(std::min(kTileRows, rows), std::clamp<int64_t>(rows - kTileRows, 0, kTileRows));
  Sums before{};
  int turn = 0;
  for (int64_t column = 0; column < out.outputs; column += kBlock, weight += 2 * steps * kTileBytes)
    for (int64_t first = 0; first < rows; first += kBlock, turn ^= 1) {
      const uint8_t* from = x + first * steps * kStepBytes;
      const int64_t count = std::min(kBlock, rows - first);
      if (count > kTileRows) {
        multiply_tiles<kNumbers, true>(from, weight, steps, sums[turn], before, out, scales);
      } else {
        multiply_tiles<kNumbers, false>(from, weight, steps, sums[turn], before, out, scales);
      }
      before = {sums[turn], first, count, column};
    }
  finish_rows<kNumbers>(before, 0, before.rows, out, scales);
}

}  // namespace

void bfloat16_product_amx(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                          const ProductOutput& out) {
  multiply<Numbers::bfloat16>(reinterpret_cast<const uint8_t*>(x), rows, reinterpret_cast<const uint8_t*>(weight),
                              steps, out, nullptr);
}

void int8_product_amx(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                      const Int8Scales& scales) {
  multiply<Numbers::int8>(reinterpret_cast<const uint8_t*>(x), rows, reinterpret_cast<const uint8_t*>(weight), steps,
                          out, &scales);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

#endif
