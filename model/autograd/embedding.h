// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The id of a position without a token: it gets the vector 0, plus its position's vector.
constexpr int64_t kNoToken = -1;

/// Options of `embed` for combining a token's vector with its position's.
struct EmbedOptions {
  double scale = 1;              ///< factor on the token's vector
  double dropout = 0;            ///< probability; 0 outside training
  bool sparse_gradient = false;  ///< the table's gradient as rows, which autograd adds onto a dense one
  bool has_gaps = false;         ///< some ids may be kNoToken
};

/// Dropout(scale · table[ids] + positions) (sections 3.4, 3.5 and 5.4). table: [V,D], ids: int64 [B,L], positions:
/// [L,D] or [1,D]; result: [B,L,D] in the table's type. float32 and bfloat16 take one pass forward and one backward,
/// whose sums over a token's places are float32.
torch::Tensor embed(const torch::Tensor& table, const torch::Tensor& ids, const torch::Tensor& positions,
                    const EmbedOptions& options);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor embed_plain(const torch::Tensor& table, const torch::Tensor& ids, const torch::Tensor& positions,
                          const EmbedOptions& options);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
