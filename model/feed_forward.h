// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/pimpl.h>
#include <transmute/common/export.h>
#include <transmute/model/options.h>
#include <transmute/model/sublayer.h>

namespace transmute {
inline namespace v0 {

/// Sizes of the feed-forward network.
struct FeedForwardOptions {
  int64_t d_model = TransformerOptions().d_model;  ///< width of the residual stream, D
  int64_t d_ff = TransformerOptions().d_ff;        ///< inner width, F
  double dropout = 0.0;                            ///< after the ReLU
  double gain = 1.0;                               ///< gain of the initial weights, see branch_gain()
};

/// FFN(x) = max(0, x W1 + b1) W2 + b2, Eq. 2, the same at each position. Parameters: inner.weight [F,D],
/// inner.bias [F], outer.weight [D,F], outer.bias [D]; weights Xavier-uniform, biases 0.
class TRANSMUTE_API FeedForwardImpl : public torch::nn::Module {
 public:
  /// Draws the parameters.
  explicit FeedForwardImpl(const FeedForwardOptions& options);

  /// x: [...,D]; result: [...,D].
  torch::Tensor forward(const torch::Tensor& x);

  /// The same with the last bias still to be added. x: [B,T,D].
  SublayerOutput without_last_bias(const torch::Tensor& x);

  torch::nn::Linear inner{nullptr};  ///< W1 and b1
  torch::nn::Linear outer{nullptr};  ///< W2 and b2

 private:
  double dropout_;
};
TORCH_MODULE(FeedForward);

}  // namespace v0
}  // namespace transmute
