// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/cpu/rows.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// For each token two distributions p and q: Loss of p, and where `second_too` of q, plus
/// forward_weight · KL(p||q) + backward_weight · KL(q||p).
struct ConsistentLoss {
  Loss loss;
  bool second_too;
  float forward_weight;
  float backward_weight;
};

/// Sums over the tokens.
struct ConsistentSums {
  double cross_entropy;
  double divergence;  ///< weighted
};

/// Logits [V,2·columns]: the first of each token, then the second of each. Otherwise as RowKernels::loss_columns.
template <class T>
struct ConsistentLossKernels {
  ConsistentSums (*loss_columns)(T* logits, int64_t vocabulary, int64_t columns, const int64_t* targets,
                                 const ConsistentLoss& loss);

  static const ConsistentLossKernels baseline, avx2, avx512, avx512_bf16;
};

extern template struct ConsistentLossKernels<float>;
extern template struct ConsistentLossKernels<uint16_t>;

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
