// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

// The dense products of training. On CPUs, tile_product() computes those of float32 and bfloat16 on the calling thread
// if it can; if not, bfloat16 is multiplied in float32 and rounded once. LibTorch computes all others.

/// a b, [N,M]. a: [N,K], b: [K,M], of one type.
torch::Tensor matrix_product(const torch::Tensor& a, const torch::Tensor& b);

/// out = a b. out: [N,M], dense.
void multiply_into(torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b);

/// sum += a b. sum: [N,M], dense. In bfloat16 the product is rounded before it is added.
void add_product(torch::Tensor& sum, const torch::Tensor& a, const torch::Tensor& b);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
