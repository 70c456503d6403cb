// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/sublayer.h>
#include <transmute/network/options.h>

namespace transmute {
inline namespace v0 {

/// Sizes of the feed-forward network.
struct FeedForwardOptions {
  int64_t d_model = TransformerOptions().d_model;  ///< width of the residual stream, D
  int64_t d_ff = TransformerOptions().d_ff;        ///< inner width, F
  double dropout = 0.0;                            ///< after the activation function
  double gain = 1.0;                               ///< gain of the initial weights, see branch_gain()
  Activation activation = Activation::relu;        ///< between the two matrices
};

/// Options of the feed-forward network in a layer of `stack`, from validated options of the network.
TRANSMUTE_API FeedForwardOptions feed_forward_options(const TransformerOptions& options, Stack stack);

/// Applies the function to each element of x.
TRANSMUTE_API torch::Tensor activate(Activation activation, const torch::Tensor& x);

/// FFN(x) = max(0, x W1 + b1) W2 + b2 (Eq. 2), or the same with another activation function, applied to each position.
/// Parameters: inner.weight [F,D], inner.bias [F], outer.weight [D,F], outer.bias [D]; weights
/// Xavier-uniform times FeedForwardOptions::gain, biases 0.
class TRANSMUTE_API FeedForwardImpl : public torch::nn::Module {
 public:
  /// Initializes the parameters at random.
  explicit FeedForwardImpl(const FeedForwardOptions& options);

  /// x: [...,D]; result: [...,D].
  torch::Tensor forward(const torch::Tensor& x);

  /// The same, but the last bias is returned instead of added. x: [B,T,D].
  SublayerOutput without_last_bias(const torch::Tensor& x);

  torch::nn::Linear inner{nullptr};  ///< W1 and b1
  torch::nn::Linear outer{nullptr};  ///< W2 and b2

 private:
  torch::Tensor hidden(const torch::Tensor& x);  // [...,F]

  double dropout_;
  Activation activation_;
};
TORCH_MODULE(FeedForward);

}  // namespace v0
}  // namespace transmute
