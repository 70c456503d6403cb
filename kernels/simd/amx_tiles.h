// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/avx512.h>
#include <transmute/kernels/simd/tile_layout.h>

#include <cstdint>

#if defined(__x86_64__)

#define TRANSMUTE_TARGET_AMX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-int8,amx-bf16")))

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The calling thread's tiles, for products of two tiles by two. Tiles 0 to 3: sums (0 and 1: first rows with both
/// column tiles; 2 and 3: second rows); 4 and 5: rows of the left matrix; 6 and 7: the right matrix. The destructor
/// releases them.
class AmxTiles {
 public:
  AmxTiles() = default;
  TRANSMUTE_TARGET_AMX ~AmxTiles() {
    if (first_ != 0) _tile_release();
  }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  /// Sets the number of rows in the left matrix's two tiles.
  TRANSMUTE_TARGET_AMX void shape(int64_t first, int64_t second) {
    if (first == first_ && second == second_) return;
    first_ = first;
    second_ = second;
    Shapes shapes;
    for (int tile = 0; tile < 8; ++tile) {
      const bool is_right = tile >= 6;
      const bool is_second = tile == 2 || tile == 3 || tile == 5;
      const int64_t rows = is_right ? kTileRows : is_second ? second : first;
      shapes.rows[tile] = static_cast<uint8_t>(rows);
      shapes.row_bytes[tile] = rows == 0 ? 0 : kTileRowBytes;
    }
    asm volatile("" : : "r"(&shapes) : "memory");  // GCC's intrinsic says that it reads the first 8 bytes alone
    _tile_loadconfig(&shapes);
  }

 private:
  struct alignas(64) Shapes {
    uint8_t palette = 1;
    uint8_t start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  };

  int64_t first_ = 0;
  int64_t second_ = 0;
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
#endif
