// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/ssru.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/autograd/recurrence.h>
#include <transmute/model/initialization.h>

namespace transmute {
inline namespace v0 {

SsruImpl::SsruImpl(int64_t d_model, double gain)
    : input(register_module("input", make_linear(d_model, d_model, Bias::none, gain))),
      forget(register_module("forget", make_linear(d_model, d_model, Bias::zero))) {
  if (weights_are_drawn()) kernels::join({input->weight, forget->weight});
}

torch::Tensor SsruImpl::forward(const torch::Tensor& x, const torch::Tensor& before) {
  const torch::Tensor projected = kernels::joined_linear(x, input->weight, forget->weight);  // [B,T,2D]
  return kernels::recurrence(projected, forget->bias, before);
}

}  // namespace v0
}  // namespace transmute
