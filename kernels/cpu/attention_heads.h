// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>
#include <transmute/kernels/simd/dropout_mask.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// One head of one sentence inside a tensor [B,L,…]: rows of `width` numbers, `stride` apart.
template <class T>
struct HeadView {
  T* data;
  int64_t stride;
};

/// The sizes that do not change from head to head.
struct HeadShape {
  int64_t queries, keys;  ///< T, S
  int64_t key_width;      ///< K
  int64_t value_width;    ///< Kv
  float scale;            ///< factor on the scores
  /// Keys that each query may attend to: the first extents[t], and of these only where allowed[t·allowed_stride + s]
  /// is set, if `allowed` is not null.
  const int32_t* extents;
  const bool* allowed;
  int64_t allowed_stride;
  MaskView mask;          ///< over [B,H,T,S]
  int64_t first_element;  ///< place of this head's [T,S] in the mask
};

/// Attention of one head at a time (Eq. 1), blockwise over the queries: scratch grows with S, not with T·S. The weights
/// are computed anew in the backward pass, as in Dao et al., "FlashAttention", 2022.
template <class T>
struct AttentionKernels {
  /// log_sums: [T], for the backward pass.
  void (*forward)(const HeadShape& shape, HeadView<const T> query, HeadView<const T> key, HeadView<const T> value,
                  HeadView<T> output, float* log_sums, float* scratch);
  void (*backward)(const HeadShape& shape, HeadView<const T> query, HeadView<const T> key, HeadView<const T> value,
                   HeadView<const T> gradient, const float* log_sums, HeadView<T> query_gradient,
                   HeadView<T> key_gradient, HeadView<T> value_gradient, float* scratch);
  /// The number of floats that `scratch` must hold for either pass.
  int64_t (*scratch_size)(const HeadShape& shape);

  static const AttentionKernels baseline, avx2, avx512, avx512_bf16;
};

extern template struct AttentionKernels<float>;
extern template struct AttentionKernels<uint16_t>;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
