// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <utility>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// weight · (x - mean) / sqrt(variance + epsilon) + shift, over the last dimension (Ba, Kiros, Hinton, 2016).
struct NormParameters {
  torch::Tensor weight;  ///< [D]
  torch::Tensor shift;   ///< [D]
  double epsilon = 1e-6;
};

/// The branch that joins the residual stream: the last product of a sub-layer, its bias, and dropout over their sum.
struct Branch {
  torch::Tensor product;  ///< [...,D]
  torch::Tensor bias;     ///< [D] or undefined
  double dropout = 0;     ///< probability; 0 outside training
};

/// The residual stream, and the factor on it where a branch joins it (NormPosition::deep).
struct Residual {
  Residual(torch::Tensor stream, double scale = 1) : stream(std::move(stream)), scale(scale) {}

  torch::Tensor stream;  ///< [...,D]
  double scale;
};

/// residual + Dropout(product + bias): the pre-norm sub-layer. The fused functions of this file take float32 and
/// bfloat16, and half on GPUs, in one pass forward and one backward, on the CPU on the calling thread. Sums and
/// statistics are float32, and the dropout mask is recomputed. Other tensors, and norms of more than 2,048 columns on
/// GPUs, use the plain versions.
torch::Tensor residual_add(const torch::Tensor& residual, const Branch& branch);

/// LayerNorm(scale · stream + Dropout(product + bias)): the paper's sub-layer, where scale is 1.
torch::Tensor residual_norm(const Residual& residual, const Branch& branch, const NormParameters& norm);

/// LayerNorm(x).
torch::Tensor layer_norm(const torch::Tensor& x, const NormParameters& norm);

/// The same with LibTorch's own operations, for any device and type: the reference for the fused version.
torch::Tensor residual_add_plain(const torch::Tensor& residual, const Branch& branch);
torch::Tensor residual_norm_plain(const Residual& residual, const Branch& branch, const NormParameters& norm);
torch::Tensor layer_norm_plain(const torch::Tensor& x, const NormParameters& norm);

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
