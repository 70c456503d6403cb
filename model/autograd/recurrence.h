// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The cells of an SSRU at all positions, [B,T,D]: f = sigmoid(gate + gate_bias), cell = f (cell before it) + (1 - f)
/// input (Kim et al., 2019, section 3.1). input_and_gate: [B,T,2D], gate_bias: [D], first: the cells before the first
/// position, [B,D]; undefined: 0. In float32 and bfloat16 on CPUs, without `first`, one pass forward and one backward.
torch::Tensor recurrence(const torch::Tensor& input_and_gate, const torch::Tensor& gate_bias,
                         const torch::Tensor& first = {});

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version. The number of
/// operations grows with the logarithm of T.
torch::Tensor recurrence_plain(const torch::Tensor& input_and_gate, const torch::Tensor& gate_bias,
                               const torch::Tensor& first = {});

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
