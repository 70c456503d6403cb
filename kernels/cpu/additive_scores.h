// SPDX-License-Identifier: Apache-2.0
#pragma once

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
  /// gradient: [T,S]. The weight's gradient is added to.
  void (*backward)(const Head& head, const T* gradient, T* query_gradient, T* key_gradient, float* weight_gradient,
                   float* scratch);
  /// Floats that `scratch` must hold for either.
  int64_t (*scratch_size)(const Head& head);
};

/// The kernels of active_simd().
template <class T>
const AdditiveKernels<T>& additive_kernels();
template <>
const AdditiveKernels<float>& additive_kernels();
template <>
const AdditiveKernels<uint16_t>& additive_kernels();

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
