// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Dropout(max(0, x Wᵀ + bias)), the inner half of Eq. 2. x: [...,D], weight: [F,D], bias: [F]; result: [...,F].
/// `dropout`: probability; 0 outside training. In float32 and bfloat16 all but the product is one pass forward
/// and one backward.
torch::Tensor linear_relu_dropout(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                  double dropout);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor linear_relu_dropout_plain(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                        double dropout);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
