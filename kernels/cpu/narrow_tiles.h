// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/cpu/product_kernels.h>

#include <algorithm>
#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace inference {

/// Rows that kernels of 128 and 256 bits multiply at once: their sums and a panel's weights fit the registers, and 16
/// is a multiple of it.
constexpr int64_t kNarrowRows = 4;

/// Calls body(first row, rows, first number of the row, panel's first output, panel's weights) for each kNarrowRows
/// rows or fewer and each panel of 16 outputs, in the layout of bfloat16 and int8.
template <class Number, class Body>
inline void for_each_narrow_tile(const Number* x, int64_t rows, const Number* weight, int64_t steps, int64_t outputs,
                                 const Body& body) {
  constexpr int64_t kTile = kTileBytes / static_cast<int64_t>(sizeof(Number));
  constexpr int64_t kStep = kStepBytes / static_cast<int64_t>(sizeof(Number));
  for (int64_t panel = 0; panel * kTileOutputs < outputs; ++panel)
    for (int64_t row = 0; row < rows; row += kNarrowRows)
      body(row, std::min(rows - row, kNarrowRows), x + row / kTileRows * steps * kTile + row % kTileRows * kStep,
           panel * kTileOutputs, weight + panel * steps * kTile);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
