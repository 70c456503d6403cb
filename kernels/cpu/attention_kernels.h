// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>
#include <transmute/kernels/simd/vector_math.h>

#include <cstdint>

// Attention of an inference step. Each row's result depends on that row alone, bit for bit.
namespace transmute {
inline namespace v0 {
namespace inference {

/// Keys come in groups of this size; the last group is padded with zeros.
constexpr int64_t kKeyGroup = 16;
TRANSMUTE_INLINE int64_t padded_keys(int64_t keys) {
  return (keys + kKeyGroup - 1) / kKeyGroup * kKeyGroup;
}

/// Keys and values are in float32, or in bfloat16 (uint16_t) where half the memory is worth more than 16 bits: what
/// long caches cost is the way to memory. All sums are float32.
///
/// Keys [count,width] (`stride` apart) as [width][padded_keys(count)], the layout of attend(). T is float or uint16_t.
template <class T>
void transpose_keys(const float* keys, int64_t stride, int64_t count, int64_t width, T* to) {
  const int64_t padded = padded_keys(count);
  for (int64_t k = 0; k < width; ++k, to += padded) {
    for (int64_t s = 0; s < count; ++s) kernels::store(to + s, keys[s * stride + k]);
    for (int64_t s = count; s < padded; ++s) to[s] = 0;
  }
}

/// One head's attention: `scale` multiplies the products of queries and keys before the softmax.
struct AttentionHead {
  int64_t key_width;
  int64_t value_width;
  float scale;
};

/// softmax(scale · q K^T) V for `rows` queries of one head of one sentence. With no key at all the result is 0.
/// queries: [rows,K], outputs: [rows,Kv], values: [count,Kv], each with its own stride.
template <class T>
struct AttendArguments {
  const float* queries;
  int64_t query_stride;
  int64_t rows;
  const T* transposed_keys;  ///< [K][padded_keys(count)]
  const T* values;
  int64_t value_stride;
  int64_t count;
  float* outputs;
  int64_t output_stride;
};
/// The addresses of the key and the value of one token in the first head of the first layer.
template <class T>
struct CachedToken {
  T* key;
  T* value;
};

/// The same for one query over tokens anywhere in memory: keys lie at `key_offset` and values at `value_offset` from
/// the addresses in `tokens`.
template <class T>
struct AttendScatteredArguments {
  const float* query;
  const CachedToken<T>* tokens;
  int64_t count;
  int64_t key_offset;
  int64_t value_offset;
  float* output;
};

template <class T>
struct AttendKernels {
  /// weights: [rows][padded_keys(count)], gets the softmax.
  void (*attend)(const AttentionHead& shape, const AttendArguments<T>& arguments, float* weights);
  /// weights: [padded_keys(count)].
  void (*attend_scattered)(const AttentionHead& shape, const AttendScatteredArguments<T>& arguments, float* weights);

  static const AttendKernels baseline, avx2, avx512;
  static constexpr const AttendKernels& avx512_bf16 = avx512;
};
extern template struct AttendKernels<float>;
extern template struct AttendKernels<uint16_t>;

template <class T>
void attend(const AttentionHead& shape, const AttendArguments<T>& arguments, float* weights) {
  kernels::active_kernels<AttendKernels<T>>().attend(shape, arguments, weights);
}
template <class T>
void attend_scattered(const AttentionHead& shape, const AttendScatteredArguments<T>& arguments, float* weights) {
  kernels::active_kernels<AttendKernels<T>>().attend_scattered(shape, arguments, weights);
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
