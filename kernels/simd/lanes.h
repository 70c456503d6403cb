// SPDX-License-Identifier: Apache-2.0
#pragma once

// Vectors of the widest kind that this translation unit is compiled for. The files that include this one are compiled
// once for each instruction set (see kernels/cpu/CMakeLists.txt), so they include nothing whose inline functions other
// files might then share: no LibTorch, no standard containers. What is not forced inline is in an anonymous namespace.

#include <transmute/kernels/simd/vector_math.h>

#include <cstdint>
#include <type_traits>

#if defined(__AVX512F__)
#include <transmute/kernels/simd/avx512.h>
#elif defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512BF16__)
#define TRANSMUTE_SIMD avx512_bf16
#elif defined(__AVX512VNNI__)
#define TRANSMUTE_SIMD avx512_vnni
#elif defined(__AVX512F__)
#define TRANSMUTE_SIMD avx512
#elif defined(__AVXVNNI__)
#define TRANSMUTE_SIMD avx2_vnni
#elif defined(__AVX2__)
#define TRANSMUTE_SIMD avx2
#elif defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
#define TRANSMUTE_SIMD neon_bf16
#elif defined(__ARM_FEATURE_DOTPROD)
#define TRANSMUTE_SIMD neon_dotprod
#else
#define TRANSMUTE_SIMD baseline
#endif

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kLanes = 16;
#elif defined(__AVX2__)
constexpr int64_t kLanes = 8;
#else
constexpr int64_t kLanes = 4;
#endif

typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef int32_t Signed __attribute__((vector_size(kLanes * 4)));
typedef uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef uint16_t Halves __attribute__((vector_size(kLanes * 2)));

// A whole vector's worth of elements, or the first few at the end of a row; the others read as 0.
struct Whole {};
struct Part {
  int64_t count;
};

constexpr int64_t rounded_up(int64_t count) {
  return (count + kLanes - 1) / kLanes * kLanes;
}

TRANSMUTE_INLINE Floats splat(float value) {
  return value - Floats{};
}

TRANSMUTE_INLINE Words lane_numbers() {
  Words numbers;
  for (int64_t i = 0; i < kLanes; ++i) numbers[i] = static_cast<uint32_t>(i);
  return numbers;
}

// With intrinsics, because GCC 12 converts vectors of 16 bits in several steps.
TRANSMUTE_INLINE Floats widen(Halves halves) {
#if defined(__AVX512F__)
  const __m512i words = _mm512_slli_epi32(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(halves)), 16);
#elif defined(__AVX2__)
  const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)), 16);
#elif defined(__SSE2__)
  const __m128i words = _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_cvtsi64_si128(reinterpret_cast<long long>(halves)));
#else
  const Words words = __builtin_convertvector(halves, Words) << 16;
#endif
  return reinterpret_cast<Floats>(words);
}
// Rounds as float_to_bfloat16 does.
TRANSMUTE_INLINE Halves narrow(Floats values) {
#if defined(__AVX512BF16__)
  return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(values));
#else
  const Words bits = reinterpret_cast<Words>(values);
  return __builtin_convertvector((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16, Halves);
#endif
}

TRANSMUTE_INLINE Floats load(const float* from, Whole = {}) {
  Floats values;
  __builtin_memcpy(&values, from, sizeof(values));
  return values;
}
TRANSMUTE_INLINE Floats load(const uint16_t* from, Whole = {}) {
  Halves halves;
  __builtin_memcpy(&halves, from, sizeof(halves));
  return widen(halves);
}
#if defined(__AVX512F__)
TRANSMUTE_INLINE Floats load(const float* from, Part part) {
  return _mm512_maskz_loadu_ps((1U << part.count) - 1, from);
}
TRANSMUTE_INLINE Floats load(const uint16_t* from, Part part) {
  return widen(reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16((1U << part.count) - 1, from)));
}
#else
TRANSMUTE_INLINE Floats load(const float* from, Part part) {
  float values[kLanes] = {};
  for (int64_t i = 0; i < part.count; ++i) values[i] = from[i];
  return load(values);
}
TRANSMUTE_INLINE Floats load(const uint16_t* from, Part part) {
  uint16_t values[kLanes] = {};
  for (int64_t i = 0; i < part.count; ++i) values[i] = from[i];
  return load(values);
}
#endif

TRANSMUTE_INLINE void store(float* to, Floats values, Whole = {}) {
  __builtin_memcpy(to, &values, sizeof(values));
}
TRANSMUTE_INLINE void store(uint16_t* to, Floats values, Whole = {}) {
  const Halves halves = narrow(values);
  __builtin_memcpy(to, &halves, sizeof(halves));
}
#if defined(__AVX512F__)
TRANSMUTE_INLINE void store(float* to, Floats values, Part part) {
  _mm512_mask_storeu_ps(to, (1U << part.count) - 1, values);
}
TRANSMUTE_INLINE void store(uint16_t* to, Floats values, Part part) {
  _mm256_mask_storeu_epi16(to, (1U << part.count) - 1, reinterpret_cast<__m256i>(narrow(values)));
}
#else
template <class T>
TRANSMUTE_INLINE void store(T* to, Floats values, Part part) {
  T all[kLanes];
  store(all, values);
  for (int64_t i = 0; i < part.count; ++i) to[i] = all[i];
}
#endif

TRANSMUTE_INLINE Floats zero_behind(Floats values, Whole) {
  return values;
}
TRANSMUTE_INLINE Floats zero_behind(Floats values, Part part) {
  return lane_numbers() < static_cast<uint32_t>(part.count) ? values : Floats{};
}

// The values where `keep` is set, 0 elsewhere.
TRANSMUTE_INLINE Floats only(Words keep, Floats values) {
  return reinterpret_cast<Floats>(keep & reinterpret_cast<Words>(values));
}

// Calls body(i, Whole or Part) for each vector of [0, count).
template <class Body>
TRANSMUTE_INLINE void for_lanes(int64_t count, Body body) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) body(i, Whole{});
  if (i < count) body(i, Part{count - i});
}

// Calls body(std::integral_constant<int, N>()) for the N of 1 to kMost that is nearest to `count`.
template <int kMost, class Body>
TRANSMUTE_INLINE void with_constant(int64_t count, const Body& body) {
  if constexpr (kMost > 1) {
    if (count < kMost) return with_constant<kMost - 1>(count, body);
  }
  body(std::integral_constant<int, kMost>());
}

// Vectors of a row whose sums stay in registers.
constexpr int kTileVectors = kLanes == 16 ? 4 : 2;

// a · b + sum, rounded once where the instruction set has that. Left to the compiler, whether a product and a sum are
// fused may differ from one instance of a template to the next.
TRANSMUTE_INLINE Floats multiply_add(Floats a, Floats b, Floats sum) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, sum);
#elif defined(__AVX2__) && defined(__FMA__)
  return _mm256_fmadd_ps(a, b, sum);
#elif defined(__aarch64__)
  return reinterpret_cast<Floats>(vfmaq_f32(reinterpret_cast<float32x4_t>(sum), reinterpret_cast<float32x4_t>(a),
                                            reinterpret_cast<float32x4_t>(b)));
#else
  return a * b + sum;
#endif
}

// sums[r][v] += factor(k, r) · vector(k, v) for each k of [0, depth), in order.
template <int R, int V, class Factor, class Vector>
TRANSMUTE_INLINE void add_products(Floats (&sums)[R][V], int64_t depth, const Factor& factor, const Vector& vector) {
  for (int64_t k = 0; k < depth; ++k) {
    // Whichever of the factors and vectors are fewer stay in registers.
    if constexpr (R <= V) {
      Floats factors[R];
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) factors[r] = splat(factor(k, r));
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) {
        const Floats values = vector(k, v);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) sums[r][v] = multiply_add(factors[r], values, sums[r][v]);
      }
    } else {
      Floats values[V];
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) values[v] = vector(k, v);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const Floats one = splat(factor(k, r));
#pragma GCC unroll 16
        for (int v = 0; v < V; ++v) sums[r][v] = multiply_add(one, values[v], sums[r][v]);
      }
    }
  }
}

TRANSMUTE_INLINE Floats larger(Floats a, Floats b) {
  return a > b ? a : b;
}

TRANSMUTE_INLINE float sum_of(Floats values) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(values);
#else
  float lanes[kLanes];
  store(lanes, values);
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  return lanes[0];
#endif
}

// Sums in 16 lanes, whatever kLanes is, have the same order in every instruction set.
constexpr int kParts = 16 / kLanes;
TRANSMUTE_INLINE float sum_of(Floats (&parts)[kParts]) {
  for (int width = kParts / 2; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) parts[i] += parts[i + width];
  return sum_of(parts[0]);
}

// Calls body(i, p, Whole or Part) for each vector of [0, count), where p is its place among the parts of 16 lanes.
template <class Body>
TRANSMUTE_INLINE void for_parts(int64_t count, const Body& body) {
  int64_t i = 0;
  for (; i + kParts * kLanes <= count; i += kParts * kLanes)
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) body(i + p * kLanes, p, Whole{});
#pragma GCC unroll 4
  for (int p = 0; p < kParts; ++p, i += kLanes) {
    if (i + kLanes <= count) {
      body(i, p, Whole{});
    } else if (i < count) {
      body(i, p, Part{count - i});
    }
  }
}

TRANSMUTE_INLINE float largest_of(Floats values) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps(values);
#else
  float lanes[kLanes];
  store(lanes, values);
  for (int64_t width = kLanes / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) lanes[i] = lanes[i] > lanes[i + width] ? lanes[i] : lanes[i + width];
  return lanes[0];
#endif
}

// Transposes a square block.
TRANSMUTE_INLINE void transpose(Floats (&block)[kLanes]) {
#if defined(__AVX512F__)
  __m512i rows[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) rows[i] = reinterpret_cast<__m512i>(block[i]);
  transpose_words(rows);
  for (int64_t i = 0; i < kLanes; ++i) block[i] = reinterpret_cast<Floats>(rows[i]);
#else
  // A perfect shuffle of all numbers, repeated log2(kLanes) times, transposes them.
  for (int64_t width = 1; width < kLanes; width *= 2) {
    Floats shuffled[kLanes];
    for (int64_t i = 0; i < kLanes / 2; ++i) {
      const Floats a = block[i];
      const Floats b = block[i + kLanes / 2];
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        shuffled[2 * i][lane] = lane % 2 == 0 ? a[lane / 2] : b[lane / 2];
        shuffled[2 * i + 1][lane] = lane % 2 == 0 ? a[kLanes / 2 + lane / 2] : b[kLanes / 2 + lane / 2];
      }
    }
    for (int64_t i = 0; i < kLanes; ++i) block[i] = shuffled[i];
  }
#endif
}

// Computes what exp_of_negative does of one number.
TRANSMUTE_INLINE Floats exp_of_negative(Floats x) {
  const Floats lowest = splat(kExpLowest);
  const Floats clamped = x > lowest ? x : lowest;
  const Floats shifted = clamped * kExpLog2E + kExpRound;
  const Floats n = shifted - kExpRound;
  const Floats r = (clamped - n * kExpLn2High) - n * kExpLn2Low;
  Floats sum = r * (1.0F / 720) + 1.0F / 120;
  sum = sum * r + 1.0F / 24;
  sum = sum * r + 1.0F / 6;
  sum = sum * r + 0.5F;
  sum = sum * r + 1.0F;
  sum = sum * r + 1.0F;
  const Words bits = reinterpret_cast<Words>(sum) + (reinterpret_cast<Words>(shifted) << 23);
  return x > lowest ? reinterpret_cast<Floats>(bits) : Floats{};
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
