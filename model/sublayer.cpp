#include <transmute/model/sublayer.h>

#include <torch/torch.h>
#include <transmute/model/kernels/dropout.h>

namespace transmute {

LayerNormImpl::LayerNormImpl(int64_t d_model, double epsilon)
    : weight(register_parameter("weight", torch::ones({d_model}))),
      bias(register_parameter("bias", torch::zeros({d_model}))),
      epsilon_(epsilon) {}

torch::Tensor LayerNormImpl::forward(const torch::Tensor& x) {
  return torch::layer_norm(x, {weight.size(0)}, weight, bias, epsilon_);
}

ResidualNormImpl::ResidualNormImpl(const TransformerOptions& options)
    : LayerNormImpl(options.d_model, options.norm_epsilon),
      position_(options.norm_position),
      dropout_(options.dropout) {}

torch::Tensor ResidualNormImpl::forward(const torch::Tensor& x,
                                        const std::function<torch::Tensor(const torch::Tensor&)>& layer) {
  if (position_ == NormPosition::pre)
    return x + kernels::dropout(layer(LayerNormImpl::forward(x)), dropout_, is_training());
  return LayerNormImpl::forward(x + kernels::dropout(layer(x), dropout_, is_training()));
}

}  // namespace transmute
