// SPDX-License-Identifier: Apache-2.0
#include <transmute/kernels/cpu/attention_kernels.h>

#include <transmute/kernels/cpu/sum_of_lanes.h>
#include <transmute/kernels/simd/avx512.h>
#include <transmute/kernels/simd/vector_math.h>

#include <algorithm>
#include <limits>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Softmax of `count` scores in place; those after them, up to the padding, become 0.
TRANSMUTE_INLINE void softmax_row(float* scores, int64_t count) {
  const int64_t padded = padded_keys(count);
  for (int64_t i = count; i < padded; ++i) scores[i] = -std::numeric_limits<float>::infinity();
  float largest[kLanes];
  for (int64_t lane = 0; lane < kLanes; ++lane) largest[lane] = scores[lane];
  for (int64_t i = kLanes; i < padded; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane)
      largest[lane] = scores[i + lane] > largest[lane] ? scores[i + lane] : largest[lane];
  float top = largest[0];
  for (int64_t lane = 1; lane < kLanes; ++lane) top = largest[lane] > top ? largest[lane] : top;
  float sums[kLanes] = {};
  for (int64_t i = 0; i < padded; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float e = kernels::exp_of_negative(scores[i + lane] - top);
      scores[i + lane] = e;
      sums[lane] += e;
    }
  const float inverse = 1.0F / sum_of_lanes(sums);
  for (int64_t i = 0; i < padded; ++i) scores[i] *= inverse;
}

// One query's loops, for CPUs without AVX-512.
template <class T>
TRANSMUTE_INLINE void attend_loops(const AttentionHead& shape, const AttendArguments<T>& a, float* weights) {
  const int64_t padded = padded_keys(a.count);
  for (int64_t row = 0; row < a.rows; ++row) {
    const float* query = a.queries + row * a.query_stride;
    float* w = weights + row * padded;
    float* output = a.outputs + row * a.output_stride;
    std::fill_n(w, padded, 0.0F);
    for (int64_t k = 0; k < shape.key_width; ++k)
      for (int64_t s = 0; s < padded; ++s) w[s] += query[k] * kernels::load(a.transposed_keys[k * padded + s]);
    for (int64_t s = 0; s < padded; ++s) w[s] *= shape.scale;
    softmax_row(w, a.count);
    std::fill_n(output, shape.value_width, 0.0F);
    for (int64_t s = 0; s < a.count; ++s)
      for (int64_t k = 0; k < shape.value_width; ++k)
        output[k] += w[s] * kernels::load(a.values[s * a.value_stride + k]);
  }
}

template <class T>
TRANSMUTE_INLINE void attend_scattered_loops(const AttentionHead& shape, const AttendScatteredArguments<T>& a,
                                             float* weights) {
  const float* query = a.query;
  for (int64_t i = 0; i < a.count; ++i) {
    const T* key = a.tokens[i].key + a.key_offset;
    float lanes[kLanes] = {};
    const int64_t whole = shape.key_width / kLanes * kLanes;
    for (int64_t k = 0; k < whole; k += kLanes)
      for (int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += query[k + lane] * kernels::load(key[k + lane]);
    for (int64_t k = whole; k < shape.key_width; ++k) lanes[k - whole] += query[k] * kernels::load(key[k]);
    weights[i] = sum_of_lanes(lanes) * shape.scale;
  }
  softmax_row(weights, a.count);
  std::fill_n(a.output, shape.value_width, 0.0F);
  for (int64_t i = 0; i < a.count; ++i) {
    const T* value = a.tokens[i].value + a.value_offset;
    for (int64_t k = 0; k < shape.value_width; ++k) a.output[k] += weights[i] * kernels::load(value[k]);
  }
}

template <class T>
void attend_baseline(const AttentionHead& shape, const AttendArguments<T>& a, float* weights) {
  attend_loops(shape, a, weights);
}
template <class T>
TRANSMUTE_TARGET_AVX2 void attend_avx2(const AttentionHead& shape, const AttendArguments<T>& a, float* weights) {
  attend_loops(shape, a, weights);
}
template <class T>
void attend_scattered_baseline(const AttentionHead& shape, const AttendScatteredArguments<T>& a, float* weights) {
  attend_scattered_loops(shape, a, weights);
}
template <class T>
TRANSMUTE_TARGET_AVX2 void attend_scattered_avx2(const AttentionHead& shape, const AttendScatteredArguments<T>& a,
                                                 float* weights) {
  attend_scattered_loops(shape, a, weights);
}

#if defined(__x86_64__)

using kernels::first_lanes;

// 16 numbers as float32, of which a mask may leave some out.
TRANSMUTE_TARGET_AVX512 inline __m512 load_lanes(const float* from) {
  return _mm512_loadu_ps(from);
}
TRANSMUTE_TARGET_AVX512 inline __m512 load_lanes(const float* from, __mmask16 lanes) {
  return _mm512_maskz_loadu_ps(lanes, from);
}
TRANSMUTE_TARGET_AVX512 inline __m512 widen(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
TRANSMUTE_TARGET_AVX512 inline __m512 load_lanes(const uint16_t* from) {
  return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
TRANSMUTE_TARGET_AVX512 inline __m512 load_lanes(const uint16_t* from, __mmask16 lanes) {
  return widen(_mm256_maskz_loadu_epi16(lanes, from));
}

// kernels::exp_of_negative, 16 at a time.
TRANSMUTE_TARGET_AVX512 inline __m512 exp_of_negative(__m512 x) {
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

TRANSMUTE_TARGET_AVX512 inline void softmax_row_avx512(float* scores, int64_t count) {
  const __m512 never = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 largest = never;
  for (int64_t i = 0; i < count; i += kLanes)
    largest = _mm512_max_ps(largest, _mm512_mask_loadu_ps(never, first_lanes(count - i), scores + i));
  const __m512 top = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
  __m512 sums = _mm512_setzero_ps();
  for (int64_t i = 0; i < count; i += kLanes) {
    const __m512 score = _mm512_mask_loadu_ps(never, first_lanes(count - i), scores + i);
    const __m512 e = exp_of_negative(_mm512_sub_ps(score, top));
    sums = _mm512_add_ps(sums, e);
    _mm512_storeu_ps(scores + i, e);
  }
  const __m512 inverse = _mm512_set1_ps(1.0F / _mm512_reduce_add_ps(sums));
  for (int64_t i = 0; i < count; i += kLanes)
    _mm512_storeu_ps(scores + i, _mm512_mul_ps(_mm512_loadu_ps(scores + i), inverse));
}

// Scores of kRows queries against kVectors groups of keys.
template <int kRows, int kVectors, class T>
TRANSMUTE_TARGET_AVX512 void score_keys(const AttentionHead& shape, const float* queries, int64_t stride, const T* keys,
                                        int64_t padded, float* weights) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  for (int64_t k = 0; k < shape.key_width; ++k, keys += padded) {
    __m512 key[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) key[v] = load_lanes(keys + v * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 query = _mm512_set1_ps(queries[r * stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_fmadd_ps(query, key[v], sums[r][v]);
    }
  }
  const __m512 scale = _mm512_set1_ps(shape.scale);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      _mm512_storeu_ps(weights + r * padded + v * kLanes, _mm512_mul_ps(sums[r][v], scale));
}

// Sums of values from `column` on, weighted for kRows queries; the last of kVectors may be partial.
template <int kRows, int kVectors, class T>
TRANSMUTE_TARGET_AVX512 void sum_values(const AttendArguments<T>& a, int64_t row, const float* weights, int64_t padded,
                                        int64_t column, __mmask16 last) {
  __m512 sums[kRows][kVectors];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_setzero_ps();
  const T* values = a.values + column;
  for (int64_t s = 0; s < a.count; ++s, values += a.value_stride) {
    __m512 value[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      value[v] = v + 1 < kVectors ? load_lanes(values + v * kLanes) : load_lanes(values + v * kLanes, last);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m512 weight = _mm512_set1_ps(weights[r * padded + s]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] = _mm512_fmadd_ps(weight, value[v], sums[r][v]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      _mm512_mask_storeu_ps(a.outputs + (row + r) * a.output_stride + column + v * kLanes,
                            v + 1 < kVectors ? __mmask16(0xffff) : last, sums[r][v]);
}

template <int kRows, class T>
TRANSMUTE_TARGET_AVX512 void attend_rows(const AttentionHead& shape, const AttendArguments<T>& a, int64_t row,
                                         float* weights) {
  const int64_t padded = padded_keys(a.count);
  const float* queries = a.queries + row * a.query_stride;
  for (int64_t s = 0; s < padded; s += 4 * kLanes) {
    const T* keys = a.transposed_keys + s;
    switch (std::min<int64_t>(4, (padded - s) / kLanes)) {
      case 1:
        score_keys<kRows, 1>(shape, queries, a.query_stride, keys, padded, weights + s);
        break;
      case 2:
        score_keys<kRows, 2>(shape, queries, a.query_stride, keys, padded, weights + s);
        break;
      case 3:
        score_keys<kRows, 3>(shape, queries, a.query_stride, keys, padded, weights + s);
        break;
      default:
        score_keys<kRows, 4>(shape, queries, a.query_stride, keys, padded, weights + s);
    }
  }
  for (int r = 0; r < kRows; ++r) softmax_row_avx512(weights + r * padded, a.count);
  for (int64_t column = 0; column < shape.value_width; column += 4 * kLanes) {
    const int64_t left = shape.value_width - column;
    const int64_t vectors = std::min<int64_t>(4, (left + kLanes - 1) / kLanes);
    const __mmask16 last = first_lanes(left - (vectors - 1) * kLanes);
    switch (vectors) {
      case 1:
        sum_values<kRows, 1>(a, row, weights, padded, column, last);
        break;
      case 2:
        sum_values<kRows, 2>(a, row, weights, padded, column, last);
        break;
      case 3:
        sum_values<kRows, 3>(a, row, weights, padded, column, last);
        break;
      default:
        sum_values<kRows, 4>(a, row, weights, padded, column, last);
    }
  }
}

template <class T>
void attend_avx512(const AttentionHead& shape, const AttendArguments<T>& a, float* weights) {
  const int64_t padded = padded_keys(a.count);
  int64_t row = 0;
  for (; row + 4 <= a.rows; row += 4) attend_rows<4>(shape, a, row, weights + row * padded);
  switch (a.rows - row) {
    case 3:
      return attend_rows<3>(shape, a, row, weights + row * padded);
    case 2:
      return attend_rows<2>(shape, a, row, weights + row * padded);
    case 1:
      return attend_rows<1>(shape, a, row, weights + row * padded);
    default:
      return;
  }
}

// The sums of the lanes of four vectors.
TRANSMUTE_TARGET_AVX512 inline __m128 sums_of_lanes(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512 all = _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
                                   _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
  return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

template <class T>
TRANSMUTE_TARGET_AVX512 void attend_scattered_avx512(const AttentionHead& shape, const AttendScatteredArguments<T>& a,
                                                     float* weights) {
  const __m128 scale = _mm_set1_ps(shape.scale);
  for (int64_t i = 0; i < a.count; i += 4) {
    // Behind the last key the first serves as well: softmax does not look there.
    const T* key[4];
    for (int64_t j = 0; j < 4; ++j) key[j] = a.tokens[i + j < a.count ? i + j : 0].key + a.key_offset;
    __m512 sums[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int64_t k = 0; k < shape.key_width; k += kLanes) {
      const __mmask16 lanes = first_lanes(shape.key_width - k);
      const __m512 q = _mm512_maskz_loadu_ps(lanes, a.query + k);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sums[j] = _mm512_fmadd_ps(q, load_lanes(key[j] + k, lanes), sums[j]);
    }
    _mm_storeu_ps(weights + i, _mm_mul_ps(sums_of_lanes(sums[0], sums[1], sums[2], sums[3]), scale));
  }
  softmax_row_avx512(weights, a.count);
  for (int64_t column = 0; column < shape.value_width; column += 4 * kLanes) {
    __mmask16 lanes[4];
    __m512 sums[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      lanes[v] = first_lanes(shape.value_width - column - v * kLanes);
      sums[v] = _mm512_setzero_ps();
    }
    for (int64_t i = 0; i < a.count; ++i) {
      const __m512 weight = _mm512_set1_ps(weights[i]);
      const T* value = a.tokens[i].value + a.value_offset + column;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sums[v] = _mm512_fmadd_ps(weight, load_lanes(value + v * kLanes, lanes[v]), sums[v]);
    }
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) _mm512_mask_storeu_ps(a.output + column + v * kLanes, lanes[v], sums[v]);
  }
}

#endif

}  // namespace

template <class T>
void transpose_keys(const float* keys, int64_t stride, int64_t count, int64_t width, T* to) {
  const int64_t padded = padded_keys(count);
  for (int64_t k = 0; k < width; ++k, to += padded) {
    for (int64_t s = 0; s < count; ++s) kernels::store(to + s, keys[s * stride + k]);
    for (int64_t s = count; s < padded; ++s) to[s] = 0;
  }
}

template <class T>
void attend(const AttentionHead& shape, const AttendArguments<T>& a, float* weights, kernels::Simd simd) {
  if (a.count == 0) {
    for (int64_t row = 0; row < a.rows; ++row) std::fill_n(a.outputs + row * a.output_stride, shape.value_width, 0.0F);
    return;
  }
#if defined(__x86_64__)
  if (simd >= kernels::Simd::avx512) return attend_avx512(shape, a, weights);
#endif
  void (*of_level)(const AttentionHead&, const AttendArguments<T>&, float*) =
      simd >= kernels::Simd::avx2 ? attend_avx2<T> : attend_baseline<T>;
  of_level(shape, a, weights);
}

template <class T>
void attend_scattered(const AttentionHead& shape, const AttendScatteredArguments<T>& a, float* weights,
                      kernels::Simd simd) {
  if (a.count == 0) {
    std::fill_n(a.output, shape.value_width, 0.0F);
    return;
  }
#if defined(__x86_64__)
  if (simd >= kernels::Simd::avx512) return attend_scattered_avx512(shape, a, weights);
#endif
  void (*of_level)(const AttentionHead&, const AttendScatteredArguments<T>&, float*) =
      simd >= kernels::Simd::avx2 ? attend_scattered_avx2<T> : attend_scattered_baseline<T>;
  of_level(shape, a, weights);
}

template void transpose_keys(const float*, int64_t, int64_t, int64_t, float*);
template void transpose_keys(const float*, int64_t, int64_t, int64_t, uint16_t*);
template void attend(const AttentionHead&, const AttendArguments<float>&, float*, kernels::Simd);
template void attend(const AttentionHead&, const AttendArguments<uint16_t>&, float*, kernels::Simd);
template void attend_scattered(const AttentionHead&, const AttendScatteredArguments<float>&, float*, kernels::Simd);
template void attend_scattered(const AttentionHead&, const AttendScatteredArguments<uint16_t>&, float*, kernels::Simd);

}  // namespace inference
}  // namespace v0
}  // namespace transmute
