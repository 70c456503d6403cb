// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/adam.h>
#include <transmute/kernels/cpu/rounding.h>
#include <transmute/kernels/simd/simd.h>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

struct Factors {
  float scale, beta1, one_minus_beta1, beta2, one_minus_beta2, rate, root_correction, epsilon, kept, average_share;
};

Factors factors_of(const AdamStep& s) {
  const auto t = static_cast<double>(s.step);
  return {static_cast<float>(s.gradient_scale),
          static_cast<float>(s.beta1),
          static_cast<float>(1 - s.beta1),
          static_cast<float>(s.beta2),
          static_cast<float>(1 - s.beta2),
          static_cast<float>(s.learning_rate / (1 - std::pow(s.beta1, t))),
          static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, t))),
          static_cast<float>(s.epsilon),
          static_cast<float>(1 - s.learning_rate * s.weight_decay),
          static_cast<float>(s.average_share)};
}

template <bool kAverages>
TRANSMUTE_INLINE void update(float* __restrict parameter, float* __restrict mean, float* __restrict variance,
                             const float* __restrict gradient, float* __restrict average, int64_t count,
                             const Factors& f) {
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * f.scale;
    mean[i] = f.beta1 * mean[i] + f.one_minus_beta1 * g;
    variance[i] = f.beta2 * variance[i] + f.one_minus_beta2 * g * g;
    parameter[i] = f.kept * parameter[i] - f.rate * mean[i] / (std::sqrt(variance[i]) * f.root_correction + f.epsilon);
    if (kAverages) average[i] += f.average_share * (parameter[i] - average[i]);
  }
}

TRANSMUTE_INLINE void update(const AdamArrays& a, int64_t count, const Factors& f) {
  if (a.average != nullptr) {
    update<true>(a.parameter, a.mean, a.variance, a.gradient, a.average, count, f);
  } else {
    update<false>(a.parameter, a.mean, a.variance, a.gradient, nullptr, count, f);
  }
}

// Parameters that are rounded while they are in the first level of cache.
constexpr int64_t kBlock = 2048;

AdamArrays from(int64_t begin, const AdamArrays& a) {
  return {a.parameter + begin,
          a.mean + begin,
          a.variance + begin,
          a.gradient + begin,
          a.average == nullptr ? nullptr : a.average + begin,
          a.rounded == nullptr ? nullptr : static_cast<uint16_t*>(a.rounded) + begin};
}

TRANSMUTE_INLINE void add(float* __restrict total, const float* __restrict addend, int64_t count) {
  for (int64_t i = 0; i < count; ++i) total[i] += addend[i];
}

// Independent partial sums: the compiler may not reorder a single one.
constexpr int64_t kLanes = 16;

TRANSMUTE_INLINE double squares(const float* values, int64_t count) {
  double partial[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      partial[lane] += value * value;
    }
  double sum = 0;
  for (const double lane : partial) sum += lane;
  for (; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return sum;
}

TRANSMUTE_TARGET_AVX2 void update_avx2(const AdamArrays& a, int64_t n, const Factors& f) {
  update(a, n, f);
}
TRANSMUTE_TARGET_AVX512 void update_avx512(const AdamArrays& a, int64_t n, const Factors& f) {
  update(a, n, f);
}
TRANSMUTE_TARGET_AVX2 void add_avx2(float* total, const float* addend, int64_t n) {
  add(total, addend, n);
}
TRANSMUTE_TARGET_AVX512 void add_avx512(float* total, const float* addend, int64_t n) {
  add(total, addend, n);
}
TRANSMUTE_TARGET_AVX2 double squares_avx2(const float* values, int64_t n) {
  return squares(values, n);
}
TRANSMUTE_TARGET_AVX512 double squares_avx512(const float* values, int64_t n) {
  return squares(values, n);
}

}  // namespace

void adam_update(const AdamArrays& arrays, int64_t count, const AdamStep& step) {
  const Simd simd = active_simd();
  const Factors factors = factors_of(step);
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t elements = std::min(kBlock, count - begin);
    const AdamArrays block = from(begin, arrays);
    if (simd >= Simd::avx512) {
      update_avx512(block, elements, factors);
    } else if (simd == Simd::avx2) {
      update_avx2(block, elements, factors);
    } else {
      update(block, elements, factors);
    }
    if (block.rounded != nullptr) round_to_bfloat16(block.rounded, block.parameter, elements);
  }
}

void add_to(float* total, const float* addend, int64_t count) {
  const Simd simd = active_simd();
  if (simd >= Simd::avx512) return add_avx512(total, addend, count);
  if (simd == Simd::avx2) return add_avx2(total, addend, count);
  add(total, addend, count);
}

double sum_of_squares(const float* values, int64_t count) {
  const Simd simd = active_simd();
  if (simd >= Simd::avx512) return squares_avx512(values, count);
  if (simd == Simd::avx2) return squares_avx2(values, count);
  return squares(values, count);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
