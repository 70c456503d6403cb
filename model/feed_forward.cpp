// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/feed_forward.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/feed_forward.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/initialization.h>

namespace transmute {
inline namespace v0 {

FeedForwardOptions feed_forward_options(const TransformerOptions& options, Stack stack) {
  return {options.d_model, options.d_ff, options.activation_dropout, branch_gain(options, stack), options.activation};
}

torch::Tensor activate(Activation activation, const torch::Tensor& x) {
  switch (activation) {
    case Activation::relu:
      return torch::relu(x);
    case Activation::swish:
      return torch::silu(x);
    case Activation::gelu:
      return torch::gelu(x);
    case Activation::gelu_tanh:
      return torch::gelu(x, "tanh");
    case Activation::gelu_sigmoid:
      break;
  }
  return x * torch::sigmoid(x * 1.702);
}

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options)
    : inner(register_module("inner", make_linear(options.d_model, options.d_ff, Bias::zero, options.gain))),
      outer(register_module("outer", make_linear(options.d_ff, options.d_model, Bias::zero, options.gain))),
      dropout_(options.dropout),
      activation_(options.activation) {}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  const SublayerOutput output = without_last_bias(x);
  return output.product + output.bias;
}

SublayerOutput FeedForwardImpl::without_last_bias(const torch::Tensor& x) {
  return {kernels::joined_linear(hidden(x), outer->weight), outer->bias};
}

torch::Tensor FeedForwardImpl::hidden(const torch::Tensor& x) {
  const double dropout = is_training() ? dropout_ : 0.0;
  if (activation_ == Activation::relu) return kernels::linear_relu_dropout(x, inner->weight, inner->bias, dropout);
  const torch::Tensor sum = kernels::with_bias(kernels::joined_linear(x, inner->weight), inner->bias);
  return kernels::dropout(activate(activation_, sum), dropout);
}

}  // namespace v0
}  // namespace transmute
