// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

#include <cstdint>
#include <cstring>

// The operations around the products of an inference step. Each row's result depends on that row alone, bit for bit.
namespace transmute {
inline namespace v0 {
enum class Activation;  // declared here: network/options.h includes what files for one instruction set may not

namespace inference {

/// A LayerNorm of rows; weight and bias: [width].
struct RowNorm {
  const float* weight;
  const float* bias;
  int64_t width;
  float epsilon;
};

/// The operations for one instruction set.
struct StepKernels {
  void (*layer_norm)(const RowNorm& norm, const float* x, int64_t rows, float* y);
  void (*activate[5])(int64_t count, float* x);  ///< in the order of Activation
  void (*recur)(const float* input_and_gate, int64_t width, float* cell, float* x);
  void (*round)(const float* from, int64_t count, uint16_t* to);

  static const StepKernels baseline, avx2, avx512;
  static constexpr const StepKernels& avx512_bf16 = avx512;
};

/// y = (x - mean) / sqrt(variance + epsilon) · weight + bias for each row of x [rows,width]; y may be x.
inline void layer_norm(const RowNorm& norm, const float* x, int64_t rows, float* y) {
  kernels::active_kernels<StepKernels>().layer_norm(norm, x, rows, y);
}

/// Applies the function to each element of x [rows,width], in place, except Activation::relu, which products apply.
inline void activate(Activation activation, int64_t rows, int64_t width, float* x) {
  kernels::active_kernels<StepKernels>().activate[static_cast<int>(activation)](rows * width, x);
}

/// One step of an SSRU of `width`: f = sigmoid(gate), cell = f cell + (1 - f) input, x = x + relu(cell).
/// input_and_gate: [2,width].
inline void recur(const float* input_and_gate, int64_t width, float* cell, float* x) {
  kernels::active_kernels<StepKernels>().recur(input_and_gate, width, cell, x);
}

/// to[i] = from[i] in the destination's numbers: float, or bfloat16 (uint16_t).
inline void convert(const float* from, int64_t count, float* to) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}
inline void convert(const float* from, int64_t count, uint16_t* to) {
  kernels::active_kernels<StepKernels>().round(from, count, to);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
