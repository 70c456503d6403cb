// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/feed_forward.h>

#include <transmute/model/initialization.h>
#include <transmute/model/kernels/feed_forward.h>
#include <transmute/model/kernels/joined_linear.h>
#include <transmute/model/libtorch.h>

namespace transmute {
inline namespace v0 {

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options)
    : inner(register_module("inner", make_linear(options.d_model, options.d_ff, Bias::zero, options.gain))),
      outer(register_module("outer", make_linear(options.d_ff, options.d_model, Bias::zero, options.gain))),
      dropout_(options.dropout) {}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  const SublayerOutput output = without_last_bias(x);
  return output.product + output.bias;
}

SublayerOutput FeedForwardImpl::without_last_bias(const torch::Tensor& x) {
  const torch::Tensor hidden =
      kernels::linear_relu_dropout(x, inner->weight, inner->bias, is_training() ? dropout_ : 0.0);
  return {kernels::joined_linear(hidden, outer->weight), outer->bias};
}

}  // namespace v0
}  // namespace transmute
