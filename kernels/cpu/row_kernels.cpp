// SPDX-License-Identifier: Apache-2.0
// The operations around the products of an inference step, compiled once for each instruction set. Compilers vectorize
// the loops over single numbers.

#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace inference {
namespace {

using namespace kernels;

// AVX-512 multiplies by the inverse: a division could change the last bit, and with it a translation.
TRANSMUTE_INLINE float mean_of(float sum, int64_t width) {
#if defined(__AVX512F__)
  return sum * (1.0F / static_cast<float>(width));
#else
  return sum / static_cast<float>(width);
#endif
}

void norm_rows(const RowNorm& norm, const float* x, int64_t rows, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += norm.width, y += norm.width) {
    Floats sums[kParts] = {};
    for_parts(
        norm.width, [&](int64_t i, int p, auto part) __attribute__((always_inline)) { sums[p] += load(x + i, part); });
    const float mean = mean_of(sum_of(sums), norm.width);
    Floats squares[kParts] = {};
    for_parts(
        norm.width, [&](int64_t i, int p, auto part) __attribute__((always_inline)) {
          const Floats difference = zero_behind(load(x + i, part) - mean, part);
          squares[p] += difference * difference;
        });
    const float scale = 1.0F / std::sqrt(mean_of(sum_of(squares), norm.width) + norm.epsilon);
    for_lanes(
        norm.width, [&](int64_t i, auto part) __attribute__((always_inline)) {
          const Floats normal = (load(x + i, part) - mean) * scale;
          store(y + i, normal * load(norm.weight + i, part) + load(norm.bias + i, part), part);
        });
  }
}

// 1 / (1 + e^-x)
TRANSMUTE_INLINE float logistic(float x) {
  const float e = exp_of_negative(x < 0 ? x : -x);
  return (x < 0 ? e : 1.0F) / (1.0F + e);
}

// Φ(x), the integral of the normal distribution: Abramowitz and Stegun, 7.1.26, whose absolute error is at most 1.5e-7.
TRANSMUTE_INLINE float normal_distribution(float x) {
  const float y = (x < 0 ? -x : x) * 0.70710678F;
  const float t = 1.0F / (1.0F + 0.3275911F * y);
  float sum = 1.061405429F;
  sum = sum * t - 1.453152027F;
  sum = sum * t + 1.421413741F;
  sum = sum * t - 0.284496736F;
  sum = sum * t + 0.254829592F;
  const float tail = 0.5F * sum * t * exp_of_negative(-y * y);  // Φ(-|x|)
  return x < 0 ? tail : 1.0F - tail;
}

void relu(int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) x[i] = x[i] > 0 ? x[i] : 0.0F;
}
void swish(int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) x[i] *= logistic(x[i]);
}
void gelu(int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) x[i] *= normal_distribution(x[i]);
}
void gelu_tanh(int64_t count, float* x) {  // (1 + tanh(z)) / 2 is the logistic function of 2z
  for (int64_t i = 0; i < count; ++i) x[i] *= logistic(1.5957691F * (x[i] + 0.044715F * x[i] * x[i] * x[i]));
}
void gelu_sigmoid(int64_t count, float* x) {
  for (int64_t i = 0; i < count; ++i) x[i] *= logistic(1.702F * x[i]);
}

void recur_once(const float* input_and_gate, int64_t width, float* cell, float* x) {
  for (int64_t i = 0; i < width; ++i) {
    const float input = input_and_gate[i];
    cell[i] = input + logistic(input_and_gate[width + i]) * (cell[i] - input);
    x[i] += cell[i] > 0 ? cell[i] : 0.0F;
  }
}

void round_all(const float* from, int64_t count, uint16_t* to) {
  for_lanes(
      count, [&](int64_t i, auto part) __attribute__((always_inline)) { store(to + i, load(from + i, part), part); });
}

}  // namespace

const StepKernels StepKernels::TRANSMUTE_SIMD = {
    norm_rows, {relu, swish, gelu, gelu_tanh, gelu_sigmoid}, recur_once, round_all};

}  // namespace inference
}  // namespace v0
}  // namespace transmute
