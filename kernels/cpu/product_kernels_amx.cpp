// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/finish_lanes.h>
#include <transmute/kernels/simd/amx_tiles.h>

#if defined(__x86_64__)
#include <algorithm>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Rows [first, first+rows) times panels `panel` and `panel`+1: x and weight are their first tiles.
enum class Numbers { bfloat16, int8 };
template <Numbers kNumbers, bool kTwo>
TRANSMUTE_TARGET_AMX inline void multiply_tiles(const uint8_t* x0, const uint8_t* w0, int64_t steps, int32_t* sums) {
  const int64_t apart = steps * kTileBytes;
  _tile_zero(0);
  _tile_zero(1);
  if constexpr (kTwo) {
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t step = 0; step < steps; ++step, x0 += kTileBytes, w0 += kTileBytes) {
    _tile_loadd(4, x0, kStepBytes);
    _tile_loadd(6, w0, kStepBytes);
    _tile_loadd(7, w0 + apart, kStepBytes);
    if constexpr (kTwo) _tile_loadd(5, x0 + apart, kStepBytes);
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
  }
  constexpr int64_t kSumsStride = 2 * kStepBytes;  // [32 rows][32 outputs]
  _tile_stored(0, sums, kSumsStride);
  _tile_stored(1, sums + 16, kSumsStride);
  if constexpr (kTwo) {
    _tile_stored(2, sums + 16 * 32, kSumsStride);
    _tile_stored(3, sums + 16 * 32 + 16, kSumsStride);
  }
}

template <Numbers kNumbers>
TRANSMUTE_TARGET_AMX void multiply(const uint8_t* x, int64_t rows, const uint8_t* weight, int64_t steps,
                                   const ProductOutput& out, const Int8Scales* scales) {
  kernels::AmxTiles tiles;
  alignas(64) int32_t sums[32 * 32];
  for (int64_t panel = 0; panel * kTileOutputs < out.outputs; panel += 2) {
    const uint8_t* w = weight + panel * steps * kTileBytes;
    for (int64_t first = 0; first < rows; first += 2 * kTileRows) {
      const int64_t first_rows = std::min(kTileRows, rows - first);
      const int64_t second_rows = std::min(kTileRows, rows - first - first_rows);
      tiles.shape(first_rows, second_rows);
      const uint8_t* from = x + first / kTileRows * steps * kTileBytes;
      if (second_rows > 0) {
        multiply_tiles<kNumbers, true>(from, w, steps, sums);
      } else {
        multiply_tiles<kNumbers, false>(from, w, steps, sums);
      }
      for (int64_t row = 0; row < first_rows + second_rows; ++row)
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t column = (panel + half) * kTileOutputs;
          const __m512i raw = _mm512_load_si512(sums + row * 32 + half * 16);
          if constexpr (kNumbers == Numbers::int8) {
            const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(raw), _mm512_set1_ps(scales->rows[first + row]));
            finish_lanes(_mm512_mul_ps(scaled, _mm512_load_ps(scales->columns + column)), first + row, column, out);
          } else {
            finish_lanes(_mm512_castsi512_ps(raw), first + row, column, out);
          }
        }
    }
  }
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
