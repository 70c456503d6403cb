// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/row_kernels.h>

#include <transmute/kernels/cpu/sum_of_lanes.h>
#include <transmute/kernels/simd/avx512.h>
#include <transmute/kernels/simd/vector_math.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

TRANSMUTE_INLINE void norm_row(const RowNorm& norm, const float* x, float* y) {
  const auto [weight, bias, width, epsilon] = norm;
  float sums[kLanes] = {};
  const int64_t whole = width / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane];
  for (int64_t i = whole; i < width; ++i) sums[i - whole] += x[i];
  const float mean = sum_of_lanes(sums) / static_cast<float>(width);
  float squares[kLanes] = {};
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) squares[lane] += (x[i + lane] - mean) * (x[i + lane] - mean);
  for (int64_t i = whole; i < width; ++i) squares[i - whole] += (x[i] - mean) * (x[i] - mean);
  const float variance = sum_of_lanes(squares) / static_cast<float>(width);
  const float scale = 1.0F / std::sqrt(variance + epsilon);
  for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

void layer_norm_baseline(const RowNorm& norm, const float* x, int64_t rows, float* y) {
  for (int64_t r = 0; r < rows; ++r) norm_row(norm, x + r * norm.width, y + r * norm.width);
}
TRANSMUTE_TARGET_AVX2 void layer_norm_avx2(const RowNorm& norm, const float* x, int64_t rows, float* y) {
  for (int64_t r = 0; r < rows; ++r) norm_row(norm, x + r * norm.width, y + r * norm.width);
}

#if defined(__x86_64__)
using kernels::first_lanes;

TRANSMUTE_TARGET_AVX512 void layer_norm_avx512(const RowNorm& norm, const float* x, int64_t rows, float* y) {
  const auto [weight, bias, width, epsilon] = norm;
  const auto inverse_width = 1.0F / static_cast<float>(width);
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    __m512 sums = _mm512_setzero_ps();
    for (int64_t i = 0; i < width; i += kLanes)
      sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(first_lanes(width - i), x + i));
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sums) * inverse_width);
    __m512 squares = _mm512_setzero_ps();
    for (int64_t i = 0; i < width; i += kLanes) {
      const __mmask16 lanes = first_lanes(width - i);
      const __m512 difference = _mm512_maskz_sub_ps(lanes, _mm512_maskz_loadu_ps(lanes, x + i), mean);
      squares = _mm512_fmadd_ps(difference, difference, squares);
    }
    const float variance = _mm512_reduce_add_ps(squares) * inverse_width;
    const __m512 scale = _mm512_set1_ps(1.0F / std::sqrt(variance + epsilon));
    for (int64_t i = 0; i < width; i += kLanes) {
      const __mmask16 lanes = first_lanes(width - i);
      const __m512 difference = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), mean);
      const __m512 value = _mm512_fmadd_ps(_mm512_mul_ps(difference, scale), _mm512_maskz_loadu_ps(lanes, weight + i),
                                           _mm512_maskz_loadu_ps(lanes, bias + i));
      _mm512_mask_storeu_ps(y + i, lanes, value);
    }
  }
}
#endif

template <class T>
TRANSMUTE_INLINE void convert_loop(const float* from, int64_t count, T* to) {
  for (int64_t i = 0; i < count; ++i) kernels::store(to + i, from[i]);
}
template <class T>
void convert_baseline(const float* from, int64_t count, T* to) {
  convert_loop(from, count, to);
}
template <class T>
TRANSMUTE_TARGET_AVX2 void convert_avx2(const float* from, int64_t count, T* to) {
  convert_loop(from, count, to);
}
template <class T>
TRANSMUTE_TARGET_AVX512 void convert_avx512(const float* from, int64_t count, T* to) {
  convert_loop(from, count, to);
}

// 1 / (1 + e^-x)
TRANSMUTE_INLINE float logistic(float x) {
  const float e = kernels::exp_of_negative(x < 0 ? x : -x);
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
  const float tail = 0.5F * sum * t * kernels::exp_of_negative(-y * y);  // Φ(-|x|)
  return x < 0 ? tail : 1.0F - tail;
}

TRANSMUTE_INLINE void activate_row(Activation activation, int64_t width, float* x) {
  switch (activation) {
    case Activation::relu:
      for (int64_t i = 0; i < width; ++i) x[i] = x[i] > 0 ? x[i] : 0.0F;
      return;
    case Activation::swish:
      for (int64_t i = 0; i < width; ++i) x[i] *= logistic(x[i]);
      return;
    case Activation::gelu:
      for (int64_t i = 0; i < width; ++i) x[i] *= normal_distribution(x[i]);
      return;
    case Activation::gelu_tanh:  // (1 + tanh(z)) / 2 is the logistic function of 2z
      for (int64_t i = 0; i < width; ++i) x[i] *= logistic(1.5957691F * (x[i] + 0.044715F * x[i] * x[i] * x[i]));
      return;
    case Activation::gelu_sigmoid:
      for (int64_t i = 0; i < width; ++i) x[i] *= logistic(1.702F * x[i]);
      return;
  }
}
void activate_baseline(Activation activation, int64_t rows, int64_t width, float* x) {
  for (int64_t r = 0; r < rows; ++r) activate_row(activation, width, x + r * width);
}
TRANSMUTE_TARGET_AVX2 void activate_avx2(Activation activation, int64_t rows, int64_t width, float* x) {
  for (int64_t r = 0; r < rows; ++r) activate_row(activation, width, x + r * width);
}
TRANSMUTE_TARGET_AVX512 void activate_avx512(Activation activation, int64_t rows, int64_t width, float* x) {
  for (int64_t r = 0; r < rows; ++r) activate_row(activation, width, x + r * width);
}

TRANSMUTE_INLINE void recur_loop(const float* input_and_gate, int64_t width, float* cell, float* x) {
  for (int64_t i = 0; i < width; ++i) {
    const float input = input_and_gate[i];
    cell[i] = input + logistic(input_and_gate[width + i]) * (cell[i] - input);
    x[i] += cell[i] > 0 ? cell[i] : 0.0F;
  }
}
void recur_baseline(const float* input_and_gate, int64_t width, float* cell, float* x) {
  recur_loop(input_and_gate, width, cell, x);
}
TRANSMUTE_TARGET_AVX2 void recur_avx2(const float* input_and_gate, int64_t width, float* cell, float* x) {
  recur_loop(input_and_gate, width, cell, x);
}
TRANSMUTE_TARGET_AVX512 void recur_avx512(const float* input_and_gate, int64_t width, float* cell, float* x) {
  recur_loop(input_and_gate, width, cell, x);
}

}  // namespace

void recur(const float* input_and_gate, int64_t width, float* cell, float* x, kernels::Simd simd) {
  const auto of_level = simd >= kernels::Simd::avx512 ? recur_avx512
                        : simd >= kernels::Simd::avx2 ? recur_avx2
                                                      : recur_baseline;
  of_level(input_and_gate, width, cell, x);
}

void activate(Activation activation, int64_t rows, int64_t width, float* x, kernels::Simd simd) {
  const auto of_level = simd >= kernels::Simd::avx512 ? activate_avx512
                        : simd >= kernels::Simd::avx2 ? activate_avx2
                                                      : activate_baseline;
  of_level(activation, rows, width, x);
}

void layer_norm(const RowNorm& norm, const float* x, int64_t rows, float* y, kernels::Simd simd) {
#if defined(__x86_64__)
  if (simd >= kernels::Simd::avx512) return layer_norm_avx512(norm, x, rows, y);
#endif
  const auto of_level = simd >= kernels::Simd::avx2 ? layer_norm_avx2 : layer_norm_baseline;
  of_level(norm, x, rows, y);
}

template <class T>
void convert(const float* from, int64_t count, T* to, kernels::Simd simd) {
  const auto of_level = simd >= kernels::Simd::avx512 ? convert_avx512<T>
                        : simd >= kernels::Simd::avx2 ? convert_avx2<T>
                                                      : convert_baseline<T>;
  of_level(from, count, to);
}

template void convert(const float*, int64_t, float*, kernels::Simd);
template void convert(const float*, int64_t, uint16_t*, kernels::Simd);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
