// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/narrow_tiles.h>
#include <transmute/kernels/cpu/product_kernels.h>

#if defined(__aarch64__)
#include <arm_neon.h>

#define TRANSMUTE_TARGET_DOT __attribute__((target("arch=armv8.2-a+dotprod+bf16")))

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

constexpr int64_t kLanes = 4;
constexpr int kVectors = kTileOutputs / kLanes;  // vectors of a panel of 16 outputs

// Writes 4 sums of row `row` from output `column` on, as far as there are outputs; bias is padded, the others are not.
inline void finish(float32x4_t sum, int64_t row, int64_t column, const ProductOutput& out) {
  const int64_t at = row * out.outputs + column;
  const int64_t real = out.outputs - column;
  if (out.bias != nullptr) sum = vaddq_f32(sum, vld1q_f32(out.bias + column));
  if (real >= kLanes) {
    if (out.residual != nullptr) sum = vaddq_f32(sum, vld1q_f32(out.residual + at));
    if (out.relu) sum = vmaxnmq_f32(sum, vdupq_n_f32(0));
    vst1q_f32(out.y + at, sum);
    return;
  }
  float values[kLanes];
  vst1q_f32(values, sum);
  for (int64_t c = 0; c < real; ++c) {
    const float value = out.residual != nullptr ? values[c] + out.residual[at + c] : values[c];
    out.y[at + c] = out.relu && !(value > 0) ? 0.0F : value;
  }
}

// kRows rows of a block of `stride` times the 16 outputs from `column` on, which are half of a panel.
template <int kRows>
void float32_tile(const float* x, int64_t stride, const float* weight, int64_t inputs, int64_t row, int64_t column,
                  const ProductOutput& out) {
  float32x4_t sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = vdupq_n_f32(0);
  const float* w = weight + column / kPanel * inputs * kPanel + column % kPanel;
  for (int64_t i = 0; i < inputs; ++i, w += kPanel, x += stride) {
    float32x4_t values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = vld1q_f32(w + v * kLanes);
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) sums[r][v] = vfmaq_n_f32(sums[r][v], values[v], x[r]);
  }
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) finish(sums[r][v], row + r, column + v * kLanes, out);
}

// Sums of 4 products of int8, or of 2 of bfloat16, for each of 4 outputs and the kLane-th of a row's four groups.
template <int kLane>
TRANSMUTE_TARGET_DOT inline int32x4_t add_products(int32x4_t sum, int8x16_t weight, int8x16_t x) {
  return vdotq_laneq_s32(sum, weight, x, kLane);
}
template <int kLane>
TRANSMUTE_TARGET_DOT inline float32x4_t add_products(float32x4_t sum, bfloat16x8_t weight, bfloat16x8_t x) {
  return vbfdotq_laneq_f32(sum, weight, x, kLane);
}

TRANSMUTE_TARGET_DOT inline int8x16_t load_16_bytes(const int8_t* at) {
  return vld1q_s8(at);
}
TRANSMUTE_TARGET_DOT inline bfloat16x8_t load_16_bytes(const uint16_t* at) {
  return vreinterpretq_bf16_u16(vld1q_u16(at));
}

template <int kLane, int kRows, class Sum, class Number, class Vector>
TRANSMUTE_TARGET_DOT inline void add_group(Sum (&sums)[kRows][kVectors], const Number* weight,
                                           const Vector (&x)[kRows]) {
  constexpr int64_t kNumbers = 16 / sizeof(Number);
  for (int v = 0; v < kVectors; ++v) {
    const Vector w = load_16_bytes(weight + kLane * kStepBytes / static_cast<int64_t>(sizeof(Number)) + v * kNumbers);
    for (int r = 0; r < kRows; ++r) sums[r][v] = add_products<kLane>(sums[r][v], w, x[r]);
  }
}

// Adds the products of kRows rows of one block of 16 and of a panel of 16 outputs.
template <int kRows, class Sum, class Number>
TRANSMUTE_TARGET_DOT inline void add_panel(Sum (&sums)[kRows][kVectors], const Number* x, const Number* weight,
                                           int64_t steps) {
  constexpr int64_t kTile = kTileBytes / static_cast<int64_t>(sizeof(Number));
  constexpr int64_t kStep = kStepBytes / static_cast<int64_t>(sizeof(Number));
  constexpr int64_t kNumbers = 16 / static_cast<int64_t>(sizeof(Number));  // numbers of four groups
  for (int64_t step = 0; step < steps; ++step, x += kTile, weight += kTile)
    for (int64_t four = 0; four < kTileRows / 4; ++four) {
      decltype(load_16_bytes(x)) inputs[kRows];
      for (int r = 0; r < kRows; ++r) inputs[r] = load_16_bytes(x + r * kStep + four * kNumbers);
      const Number* groups = weight + 4 * four * kStep;
      add_group<0>(sums, groups, inputs);
      add_group<1>(sums, groups, inputs);
      add_group<2>(sums, groups, inputs);
      add_group<3>(sums, groups, inputs);
    }
}

template <int kRows>
TRANSMUTE_TARGET_DOT void int8_tile(const int8_t* x, const int8_t* weight, int64_t steps, int64_t row, int64_t column,
                                    const ProductOutput& out, const Int8Scales& scales) {
  int32x4_t sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = vdupq_n_s32(0);
  add_panel(sums, x, weight, steps);
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t first = column + v * kLanes;
      const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(sums[r][v]), scales.rows[row + r]);
      finish(vmulq_f32(scaled, vld1q_f32(scales.columns + first)), row + r, first, out);
    }
}

template <int kRows>
TRANSMUTE_TARGET_DOT void bfloat16_tile(const uint16_t* x, const uint16_t* weight, int64_t steps, int64_t row,
                                        int64_t column, const ProductOutput& out) {
  float32x4_t sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) sums[r][v] = vdupq_n_f32(0);
  add_panel(sums, x, weight, steps);
  for (int r = 0; r < kRows; ++r)
    for (int v = 0; v < kVectors; ++v) finish(sums[r][v], row + r, column + v * kLanes, out);
}

}  // namespace

void float32_block_neon(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                        const float* /*next*/, const ProductOutput& out) {
  const int64_t end = panels.end * kPanel < out.outputs ? panels.end * kPanel : out.outputs;
  for (int64_t column = panels.first * kPanel; column < end; column += kTileOutputs)
    for (int64_t row = 0; row < rows;) {
      const int64_t left = rows - row;
      if (left >= 6) {
        float32_tile<6>(x + row, rows, weight, inputs, row, column, out);
        row += 6;
      } else if (left >= 4) {
        float32_tile<4>(x + row, rows, weight, inputs, row, column, out);
        row += 4;
      } else if (left >= 2) {
        float32_tile<2>(x + row, rows, weight, inputs, row, column, out);
        row += 2;
      } else {
        float32_tile<1>(x + row, rows, weight, inputs, row, column, out);
        row += 1;
      }
    }
}

void int8_product_neon(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                       const Int8Scales& scales) {
  using Tile =
      void (*)(const int8_t*, const int8_t*, int64_t, int64_t, int64_t, const ProductOutput&, const Int8Scales&);
  static constexpr Tile kTiles[kNarrowRows] = {int8_tile<1>, int8_tile<2>, int8_tile<3>, int8_tile<4>};
  for_each_narrow_tile(x, rows, weight, steps, out.outputs,
                       [&](int64_t row, int64_t count, const int8_t* inputs, int64_t column, const int8_t* panel) {
                         kTiles[count - 1](inputs, panel, steps, row, column, out, scales);
                       });
}

void bfloat16_product_neon(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                           const ProductOutput& out) {
  using Tile = void (*)(const uint16_t*, const uint16_t*, int64_t, int64_t, int64_t, const ProductOutput&);
  static constexpr Tile kTiles[kNarrowRows] = {bfloat16_tile<1>, bfloat16_tile<2>, bfloat16_tile<3>, bfloat16_tile<4>};
  for_each_narrow_tile(x, rows, weight, steps, out.outputs,
                       [&](int64_t row, int64_t count, const uint16_t* inputs, int64_t column, const uint16_t* panel) {
                         kTiles[count - 1](inputs, panel, steps, row, column, out);
                       });
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute

#endif
