// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// A simpler simple recurrent unit, DecoderSelfAttention::ssru (Kim et al., "From Research to Production and Back:
/// Ludicrously Fast Neural Machine Translation", 2019, section 3.1): f = sigmoid(W_f x + b_f), c = f c + (1 - f) W x.
/// The sub-layer's output is relu(c).
///
/// Parameters: input.weight [D,D], forget.weight [D,D], forget.bias [D].
class TRANSMUTE_API SsruImpl : public torch::nn::Module {
 public:
  /// Initializes the parameters at random. `gain`: of the initial input matrix, see branch_gain().
  explicit SsruImpl(int64_t d_model, double gain = 1.0);

  /// The cells c at T positions, [B,T,D]. x: [B,T,D], before: the cells before the first of them, [B,D]; undefined at
  /// the beginning of a text, where they are 0.
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& before = {});

  torch::nn::Linear input{nullptr};   ///< W
  torch::nn::Linear forget{nullptr};  ///< W_f and b_f
};
TORCH_MODULE(Ssru);

}  // namespace v0
}  // namespace transmute
