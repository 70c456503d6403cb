// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <transmute/common/export.h>
#include <transmute/network/options.h>

#include <functional>
#include <utility>

namespace transmute {
inline namespace v0 {

/// LayerNorm over the last dimension (Ba, Kiros, Hinton, 2016). Parameters: weight [D] = 1, bias [D] = 0.
class TRANSMUTE_API LayerNormImpl : public torch::nn::Module {
 public:
  /// `epsilon` is added to the variance.
  LayerNormImpl(int64_t d_model, double epsilon);
  torch::Tensor forward(const torch::Tensor& x);  ///< x: [...,D]

  torch::Tensor weight;  ///< [D], initially 1
  torch::Tensor bias;    ///< [D], initially 0

 protected:
  double epsilon_;  ///< added to the variance
};
TORCH_MODULE(LayerNorm);

/// The output of a sub-layer: its last product and the bias to add to it (undefined: none). ResidualNorm adds the bias
/// together with the residual.
struct SublayerOutput {
  /// product: [B,T,D], bias: [D].
  SublayerOutput(torch::Tensor product, torch::Tensor bias = {}) : product(std::move(product)), bias(std::move(bias)) {}

  torch::Tensor product;  ///< [B,T,D]
  torch::Tensor bias;     ///< [D]
};

/// Residual connection, dropout and LayerNorm around a sub-layer (sections 3.1 and 5.4):
/// post: LayerNorm(x + Dropout(layer(x))); pre: x + Dropout(layer(LayerNorm(x))); deep: LayerNorm(alpha x +
/// Dropout(layer(x))) with alpha = residual_scale().
class TRANSMUTE_API ResidualNormImpl : public LayerNormImpl {
 public:
  /// `options` must be validated. `stack` determines alpha of NormPosition::deep.
  ResidualNormImpl(const TransformerOptions& options, Stack stack);

  /// x: [B,T,D]; `layer` maps [B,T,D] to [B,T,D].
  torch::Tensor forward(const torch::Tensor& x, const std::function<SublayerOutput(const torch::Tensor&)>& layer);

 private:
  NormPosition position_;
  double residual_scale_;
  double dropout_;
};
TORCH_MODULE(ResidualNorm);

}  // namespace v0
}  // namespace transmute
