// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/sublayer.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/residual.h>

namespace transmute {
inline namespace v0 {

LayerNormImpl::LayerNormImpl(int64_t d_model, double epsilon)
    : weight(register_parameter("weight", torch::ones({d_model}, torch::kFloat))),
      bias(register_parameter("bias", torch::zeros({d_model}, torch::kFloat))),
      epsilon_(epsilon) {}

torch::Tensor LayerNormImpl::forward(const torch::Tensor& x) {
  return kernels::layer_norm(x, {weight, bias, epsilon_});
}

ResidualNormImpl::ResidualNormImpl(const TransformerOptions& options, Stack stack)
    : LayerNormImpl(options.d_model, options.norm_epsilon),
      position_(options.norm_position),
      residual_scale_(residual_scale(options, stack)),
      dropout_(options.dropout) {}

torch::Tensor ResidualNormImpl::forward(const torch::Tensor& x,
                                        const std::function<SublayerOutput(const torch::Tensor&)>& layer) {
  const SublayerOutput output = layer(position_ == NormPosition::pre ? LayerNormImpl::forward(x) : x);
  const kernels::Branch branch{output.product, output.bias, is_training() ? dropout_ : 0.0};
  if (position_ == NormPosition::pre) return kernels::residual_add(x, branch);
  return kernels::residual_norm({x, residual_scale_}, branch, {weight, bias, epsilon_});
}

}  // namespace v0
}  // namespace transmute
