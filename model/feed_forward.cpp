#include <transmute/model/feed_forward.h>

#include <torch/torch.h>
#include <transmute/model/kernels/dropout.h>

namespace transmute {

FeedForwardImpl::FeedForwardImpl(const FeedForwardOptions& options)
    : inner(register_module("inner", torch::nn::Linear(options.d_model, options.d_ff))),
      outer(register_module("outer", torch::nn::Linear(options.d_ff, options.d_model))),
      dropout_(options.dropout) {
  for (auto& linear : {inner, outer}) {
    torch::nn::init::xavier_uniform_(linear->weight);
    torch::nn::init::zeros_(linear->bias);
  }
}

torch::Tensor FeedForwardImpl::forward(const torch::Tensor& x) {
  return outer(kernels::dropout(torch::relu(inner(x)), dropout_, is_training()));
}

}  // namespace transmute
