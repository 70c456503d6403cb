// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The scores of one head of one sentence, scores[t,s] = Σ_a weight[a] tanh(query[t,a] + key[s,a]), without the [T,S,A]
/// hyperbolic tangents in memory: they are computed anew in the backward pass. Rows are contiguous.
template <class T>
struct AdditiveKernels {
  struct Head {
    const T* query;       ///< [T,A]
    const T* key;         ///< [S,A]
    const float* weight;  ///< [A]
    int64_t queries, keys, width;
  };
  /// scores: [T,S].
  void (*forward)(const Head& head, T* scores, float* scratch);
  /// gradient: [T,S]. The weight's gradient is added to weight_gradient.
  void (*backward)(const Head& head, const T* gradient, T* query_gradient, T* key_gradient, float* weight_gradient,
                   float* scratch);
  /// The number of floats that `scratch` must hold for either pass.
  int64_t (*scratch_size)(const Head& head);

  static const AdditiveKernels baseline, avx2, avx512, avx512_bf16;
};

extern template struct AdditiveKernels<float>;
extern template struct AdditiveKernels<uint16_t>;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
