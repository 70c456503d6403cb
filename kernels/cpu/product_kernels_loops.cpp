// SPDX-License-Identifier: Apache-2.0
// Products for any CPU, and the choice among all of them.
#include <transmute/kernels/cpu/product_kernels.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/kernels/simd/vector_math.h>

#include <algorithm>
#include <cstring>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Writes `count` sums of row `row` from output `column` on, as far as there are outputs.
TRANSMUTE_INLINE void finish(const float* sums, int64_t count, int64_t row, int64_t column, const ProductOutput& out) {
  const int64_t real = std::min(count, out.outputs - column);
  const int64_t at = row * out.outputs + column;
  for (int64_t c = 0; c < real; ++c) {
    float sum = sums[c];
    if (out.bias != nullptr) sum += out.bias[column + c];
    if (out.residual != nullptr) sum += out.residual[at + c];
    if (out.relu) sum = sum > 0 ? sum : 0.0F;
    out.y[at + c] = sum;
  }
}

TRANSMUTE_INLINE void bfloat16_rows(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                                    const ProductOutput& out) {
  constexpr int64_t kTile = kTileBytes / 2;
  for (int64_t panel = 0; panel * kTileOutputs < out.outputs; ++panel)
    for (int64_t row = 0; row < rows; ++row) {
      const uint16_t* w = weight + panel * steps * kTile;
      const uint16_t* a = x + row / kTileRows * steps * kTile + row % kTileRows * (kStepBytes / 2);
      float sums[kTileOutputs] = {};
      for (int64_t step = 0; step < steps; ++step, w += kTile, a += kTile)
        for (int64_t group = 0; group < kTileRows; ++group) {
          const float a0 = kernels::bfloat16_to_float(a[2 * group]);
          const float a1 = kernels::bfloat16_to_float(a[2 * group + 1]);
          for (int64_t c = 0; c < kTileOutputs; ++c) {
            uint32_t two;
            std::memcpy(&two, w + (group * kTileOutputs + c) * 2, sizeof(two));
            sums[c] += a0 * kernels::bfloat16_to_float(static_cast<uint16_t>(two & 0xffffU));
            sums[c] += a1 * kernels::bfloat16_to_float(static_cast<uint16_t>(two >> 16));
          }
        }
      finish(sums, kTileOutputs, row, panel * kTileOutputs, out);
    }
}

TRANSMUTE_INLINE void int8_rows(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps,
                                const ProductOutput& out, const Int8Scales& scales) {
  for (int64_t panel = 0; panel * kTileOutputs < out.outputs; ++panel)
    for (int64_t row = 0; row < rows; ++row) {
      const int8_t* w = weight + panel * steps * kTileBytes;
      const int8_t* a = x + row / kTileRows * steps * kTileBytes + row % kTileRows * kStepBytes;
      int32_t sums[kTileOutputs] = {};
      for (int64_t step = 0; step < steps; ++step, w += kTileBytes, a += kTileBytes)
        for (int64_t group = 0; group < kTileRows; ++group)
          for (int64_t c = 0; c < kTileOutputs; ++c)
            for (int64_t i = 0; i < 4; ++i)
              sums[c] += static_cast<uint8_t>(a[group * 4 + i]) * w[(group * kTileOutputs + c) * 4 + i];
      float values[kTileOutputs];
      for (int64_t c = 0; c < kTileOutputs; ++c) {
        const int64_t column = panel * kTileOutputs + c;
        values[c] =
            static_cast<float>(sums[c] - scales.column_sums[column]) * scales.rows[row] * scales.columns[column];
      }
      finish(values, kTileOutputs, row, panel * kTileOutputs, out);
    }
}

}  // namespace

void float32_block_baseline(const float* x, int64_t rows, const float* weight, int64_t inputs, Panels panels,
                            const float* /*next*/, const ProductOutput& out) {
  for (int64_t panel = panels.first; panel < panels.end; ++panel)
    for (int64_t row = 0; row < rows; ++row) {
      const float* w = weight + panel * inputs * kPanel;
      float sums[kPanel] = {};
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t c = 0; c < kPanel; ++c) sums[c] += x[i * rows + row] * w[i * kPanel + c];
      finish(sums, kPanel, row, panel * kPanel, out);
    }
}

void bfloat16_product_baseline(const uint16_t* x, int64_t rows, const uint16_t* weight, int64_t steps,
                               const ProductOutput& out) {
  bfloat16_rows(x, rows, weight, steps, out);
}

void int8_product_baseline(const int8_t* x, int64_t rows, const int8_t* weight, int64_t steps, const ProductOutput& out,
                           const Int8Scales& scales) {
  int8_rows(x, rows, weight, steps, out, scales);
}

ProductKernels product_kernels(kernels::Simd simd) {
  constexpr int32_t kPositive = 128;  // every activation is, plus this
  switch (simd) {
#if defined(__x86_64__)
    case kernels::Simd::amx:
      return {float32_block_avx512, bfloat16_product_amx, int8_product_amx, 0};
    case kernels::Simd::avx512_bf16:
      return {float32_block_avx512, bfloat16_product_avx512, int8_product_avx512, kPositive};
    case kernels::Simd::avx512_vnni:
      return {float32_block_avx512, bfloat16_product_avx2, int8_product_avx512, kPositive};
    case kernels::Simd::avx512:
      return {float32_block_avx512, bfloat16_product_avx2, int8_product_avx2, 0};
    case kernels::Simd::avx2:
      return {float32_block_avx2, bfloat16_product_avx2, int8_product_avx2, 0};
#elif defined(__aarch64__)
    case kernels::Simd::neon_bf16:
      return {float32_block_neon, bfloat16_product_neon, int8_product_neon, 0};
    case kernels::Simd::neon_dotprod:
      return {float32_block_neon, bfloat16_product_baseline, int8_product_neon, 0};
    case kernels::Simd::neon:
      return {float32_block_neon, bfloat16_product_baseline, int8_product_baseline, kPositive};
#endif
    default:
      return {float32_block_baseline, bfloat16_product_baseline, int8_product_baseline, kPositive};
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
