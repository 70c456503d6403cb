// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/simd.h>
#include <transmute/network/options.h>

#include <cstdint>

// The operations around the products of an inference step. Each row's result depends on that row alone, bit for bit.
namespace transmute {
inline namespace v0 {
namespace inference {

/// A LayerNorm of rows; weight and bias: [width].
struct RowNorm {
  const float* weight;
  const float* bias;
  int64_t width;
  float epsilon;
};

/// y = (x - mean) / sqrt(variance + epsilon) · weight + bias for each row of x [rows,width]; y may be x.
void layer_norm(const RowNorm& norm, const float* x, int64_t rows, float* y, kernels::Simd simd);

/// The function at each element of x [rows,width], in place; for all but Activation::relu, which products apply.
void activate(Activation activation, int64_t rows, int64_t width, float* x, kernels::Simd simd);

/// One step of an SSRU of `width`: f = sigmoid(gate), cell = f cell + (1 - f) input, x = x + relu(cell).
/// input_and_gate: [2,width].
void recur(const float* input_and_gate, int64_t width, float* cell, float* x, kernels::Simd simd);

/// to[i] = from[i] in T's numbers: float, or bfloat16 (uint16_t).
template <class T>
void convert(const float* from, int64_t count, T* to, kernels::Simd simd);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
