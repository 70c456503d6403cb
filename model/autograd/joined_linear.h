// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// The products of one input with several matrices, side by side: x Wᵢᵀ, [...,sum of outputs], computed as one product.
/// x: [...,D], weights: [outputᵢ,D]. Matrices that are adjacent in memory, as join() makes them, are used in place;
/// others are copied together first. `second` and `third` may be undefined.
torch::Tensor joined_linear(const torch::Tensor& x, const torch::Tensor& first, const torch::Tensor& second = {},
                            const torch::Tensor& third = {});

/// torch::linear with a bias of any type (or undefined): in training the matrix may be bfloat16, next to float32
/// biases.
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias);

/// The rows of several matrices, [outputᵢ,D], as one matrix; without a copy if they are adjacent in memory.
torch::Tensor joined_rows(const std::vector<torch::Tensor>& weights);

/// Moves the values of some parameters into one block of memory, next to each other.
void join(const std::vector<torch::Tensor>& parameters);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
