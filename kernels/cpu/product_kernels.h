// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>
#include <transmute/kernels/simd/tile_layout.h>

#include <cstdint>

// The inner loops of PackedLinear. Layouts:
//
// float32: weights in panels of kPanel outputs, [outputs/32][inputs][32]. Activations in blocks of up to kRowBlock
// rows, [inputs][rows of the block].
//
// bfloat16 and int8 ("narrow"): 64 bytes of inputs make a step, 32 or 64 of them. Weights in panels of 16 outputs,
// [outputs/16][steps][16 groups of 4 bytes][16 outputs][4 bytes]; activations in blocks of 16 rows,
// [rows/16][steps][16 rows][64 bytes]. Both are what a tile of AMX holds; inputs and outputs are filled up with zeros,
// outputs to a multiple of kPanel.
namespace transmute {
inline namespace v0 {
namespace inference {

constexpr int64_t kRowBlock = 12;
using kernels::kPanel;
using kernels::kTileRows;
constexpr int64_t kTileOutputs = kTileRows;
constexpr int64_t kStepBytes = kernels::kTileRowBytes;
constexpr int64_t kTileBytes = kTileRows * kStepBytes;

/// The destination of a product, from its first row on, and what is added before it is written.
struct ProductOutput {
  float* y;
  const float* bias;      // or null; padded
  const float* residual;  // or null
  bool relu;
  int64_t outputs;  // the rows' stride too
};

/// The scales of int8 products, from integer sums to float32.
struct Int8Scales {
  const float* rows;
  const float* columns;
  const int32_t* column_sums;  // 128 times the sum of a column's weights, if activations are stored with 128 added
};

/// While a block of rows is multiplied by a panel, this many floats of other weights are prefetched for each input.
constexpr int64_t kFetchedPerInput = 4;

/// Panels first … end-1.
struct Panels {
  int64_t first;
  int64_t end;
};

/// The inner loops for one instruction set.
struct ProductKernels {
  /// A block of rows [inputs][rows] times some panels. next: kFetchedPerInput · inputs weights that come soon, or null.
  void (*float32_block)(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                        const float* next, const ProductOutput& out);
  /// Rows in tiles times all panels.
  void (*bfloat16_product)(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                           const ProductOutput& out);
  /// The same in int8, with int8_offset added to the activations.
  void (*int8_product)(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                       const Int8Scales& scales);
  int32_t int8_offset;

  static const ProductKernels baseline, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16, neon_dotprod, neon_bf16;
};

// In tiles of AMX.
void bfloat16_product_amx(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                          const ProductOutput& out);
void int8_product_amx(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                      const Int8Scales& scales);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
