// SPDX-License-Identifier: Apache-2.0
// Attention of an inference step, compiled once for each instruction set.

#include <transmute/kernels/cpu/attention_kernels.h>
#include <transmute/kernels/simd/lanes.h>

#include <cmath>

namespace transmute {
inline namespace v0 {
namespace inference {
namespace {

using namespace kernels;

constexpr int kRows = 4;  // rows that are processed together

#if defined(__AVX512F__)
// exp_of_negative in fewer instructions, for scores less their maximum.
TRANSMUTE_INLINE Floats exp_of_score(Floats x) {
  const __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(kernels::kExpLowest), _CMP_GT_OQ);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kernels::kExpLog2E)), 8);
  const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kernels::kExpLn2Low),
                                    _mm512_fnmadd_ps(n, _mm512_set1_ps(kernels::kExpLn2High), x));
  __m512 sum = _mm512_set1_ps(1.0F / 720);
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(1.0F / 120));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(1.0F / 24));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(1.0F / 6));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(0.5F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(1.0F));
  sum = _mm512_fmadd_ps(sum, r, _mm512_set1_ps(1.0F));
  return _mm512_maskz_scalef_ps(normal, sum, n);
}
#else
TRANSMUTE_INLINE Floats exp_of_score(Floats x) {
  return exp_of_negative(x);
}
#endif

// Softmax of `count` scores in place; the padding after them becomes 0.
void softmax_row(float* scores, int64_t count) {
  const int64_t padded = padded_keys(count);
  const Floats never = splat(-INFINITY);
  for (int64_t i = count / kLanes * kLanes; i < padded; i += kLanes)
    store(scores + i,
          lane_numbers() + static_cast<uint32_t>(i) < static_cast<uint32_t>(count) ? load(scores + i) : never);
  Floats largest = never;
  for (int64_t i = 0; i < padded; i += kLanes) largest = larger(largest, load(scores + i));
  const float top = largest_of(largest);
  Floats sums[kParts] = {};
  for (int64_t i = 0; i < padded; i += kKeyGroup)
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      float* at = scores + i + p * kLanes;
      const Floats e = exp_of_score(load(at) - top);
      store(at, e);
      sums[p] += e;
    }
  const float inverse = 1.0F / sum_of(sums);
  for (int64_t i = 0; i < padded; i += kLanes) store(scores + i, load(scores + i) * inverse);
}

// R rows of output, each the sum over s of weights[r·padded + s] · value_of(s).
template <int R, class ValueOf>
TRANSMUTE_INLINE void sum_values(const AttentionHead& shape, const float* weights, int64_t count,
                                 const ValueOf& value_of, float* output, int64_t stride) {
  const int64_t padded = padded_keys(count);
  const auto sum_columns = [&](int64_t column, auto vectors, auto part) __attribute__((always_inline)) {
    constexpr int V = decltype(vectors)::value;
    Floats sums[R][V] = {};
    add_products(
        sums, count, [&](int64_t s, int r) { return weights[r * padded + s]; },
        [&](int64_t s, int v) { return load(value_of(s) + column + v * kLanes, part); });
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) store(output + r * stride + column + v * kLanes, sums[r][v], part);
  };
  const int64_t whole = shape.value_width / kLanes * kLanes;
  for (int64_t column = 0; column < whole; column += kTileVectors * kLanes)
    with_constant<kTileVectors>((whole - column) / kLanes,
                                [&](auto vectors) { sum_columns(column, vectors, Whole{}); });
  if (whole < shape.value_width) sum_columns(whole, std::integral_constant<int, 1>(), Part{shape.value_width - whole});
}

template <int R, class T>
void attend_rows(const AttentionHead& shape, const AttendArguments<T>& a, int64_t row, float* weights) {
  const int64_t padded = padded_keys(a.count);
  const float* queries = a.queries + row * a.query_stride;
  for (int64_t s = 0; s < padded; s += kTileVectors * kLanes)
    with_constant<kTileVectors>((padded - s) / kLanes, [&](auto vectors) {
      constexpr int V = decltype(vectors)::value;
      Floats sums[R][V] = {};
      add_products(
          sums, shape.key_width, [&](int64_t k, int r) { return queries[r * a.query_stride + k]; },
          [&](int64_t k, int v) { return load(a.transposed_keys + k * padded + s + v * kLanes); });
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) store(weights + r * padded + s + v * kLanes, sums[r][v] * shape.scale);
    });
  for (int r = 0; r < R; ++r) softmax_row(weights + r * padded, a.count);
  sum_values<R>(
      shape, weights, a.count, [&](int64_t s) { return a.values + s * a.value_stride; },
      a.outputs + row * a.output_stride, a.output_stride);
}

template <class T>
void attend_all(const AttentionHead& shape, const AttendArguments<T>& a, float* weights) {
  for (int64_t row = 0; row < a.rows; row += kRows)
    with_constant<kRows>(a.rows - row, [&](auto rows) {
      attend_rows<decltype(rows)::value>(shape, a, row, weights + row * padded_keys(a.count));
    });
}

// The number of scores that are computed at a time.
#if defined(__AVX512F__)
constexpr int kScores = 4;

// The sums of the lanes of four vectors.
TRANSMUTE_INLINE __m128 sums_of_lanes(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                                   _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

TRANSMUTE_INLINE void store_scores(float* to, const Floats (&sums)[kScores][kParts], float scale) {
  _mm_storeu_ps(to, _mm_mul_ps(sums_of_lanes(sums[0][0], sums[1][0], sums[2][0], sums[3][0]), _mm_set1_ps(scale)));
}
#else
constexpr int kScores = 1;

TRANSMUTE_INLINE void store_scores(float* to, Floats (&sums)[kScores][kParts], float scale) {
  *to = sum_of(sums[0]) * scale;
}
#endif

template <class T>
void attend_scattered_one(const AttentionHead& shape, const AttendScatteredArguments<T>& a, float* weights) {
  for (int64_t i = 0; i < a.count; i += kScores) {
    // Past the last key, the first one is read again: softmax ignores those scores.
    const T* key[kScores];
    for (int64_t j = 0; j < kScores; ++j) key[j] = a.tokens[i + j < a.count ? i + j : 0].key + a.key_offset;
    Floats sums[kScores][kParts] = {};
    for_parts(
        shape.key_width, [&](int64_t k, int p, auto part) __attribute__((always_inline)) {
          const Floats query = load(a.query + k, part);
#pragma GCC unroll 4
          for (int j = 0; j < kScores; ++j) sums[j][p] = multiply_add(query, load(key[j] + k, part), sums[j][p]);
        });
    store_scores(weights + i, sums, shape.scale);
  }
  softmax_row(weights, a.count);
  sum_values<1>(
      shape, weights, a.count, [&](int64_t s) { return a.tokens[s].value + a.value_offset; }, a.output, 0);
}

template <class T>
constexpr AttendKernels<T> kTable = {attend_all<T>, attend_scattered_one<T>};

}  // namespace

template <class T>
const AttendKernels<T> AttendKernels<T>::TRANSMUTE_SIMD = kTable<T>;
template const AttendKernels<float> AttendKernels<float>::TRANSMUTE_SIMD;
template const AttendKernels<uint16_t> AttendKernels<uint16_t>::TRANSMUTE_SIMD;

}  // namespace inference
}  // namespace v0
}  // namespace transmute
