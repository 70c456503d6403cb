// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/feed_forward.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/autograd/matrix_product.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

// Dropout(max(0, x weightᵀ + bias)), [N,F]; x: [N,D].
torch::Tensor inner_on_cpu(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                           const DropoutDraw& draw) {
  torch::Tensor hidden = matrix_product(x, weight.t());
  const MaskKeys mask(draw, hidden.numel());
  with_element_type(hidden, [&](auto element) {
    using T = decltype(element);
    active_kernels<RowKernels<T>>().relu_forward(data_of<T>(hidden), data_of<float>(bias), mask.view(), hidden.size(0),
                                                 hidden.size(1));
  });
  return hidden;
}

// Without dropout, cuBLAS adds the bias and applies ReLU while it writes the product.
torch::Tensor inner_on_gpu(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                           const DropoutDraw& draw) {
  if (draw.probability == 0)
    return at::_addmm_activation(bias.to(x.scalar_type()), x, weight.t(), 1, 1, /*use_gelu=*/false);
  torch::Tensor hidden = matrix_product(x, weight.t());
  const c10::DeviceGuard guard(x.device());
  cuda::sum_forward({cuda::element_of(hidden), nullptr, hidden.data_ptr(), data_of<float>(bias), /*relu=*/true,
                     draw.device_mask(), hidden.size(0), hidden.size(1)},
                    hidden.data_ptr(), cuda::current_stream());
  return hidden;
}

struct FusedInner : torch::autograd::Function<FusedInner> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& given_bias, double probability) {
    const torch::Tensor bias = as_float(given_bias);
    auto sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    const DropoutDraw draw = DropoutDraw::next(probability);
    const torch::Tensor rows = x.reshape({-1, x.size(-1)});
    const torch::Tensor hidden =
        (x.is_cuda() ? inner_on_gpu(rows, weight, bias, draw) : inner_on_cpu(rows, weight, bias, draw)).view(sizes);
    context->save_for_backward({x, weight, hidden});
    context->saved_data["scale"] = 1.0 / (1.0 - probability);
    return hidden;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &hidden = saved[2];
    const torch::Tensor incoming = gradients[0].contiguous();
    const int64_t columns = hidden.size(-1);
    const int64_t rows = row_count(hidden);
    const auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    const torch::Tensor gradient = torch::empty({rows, columns}, hidden.options());
    const torch::Tensor bias_gradient = torch::zeros({columns}, hidden.options().dtype(torch::kFloat));
    if (hidden.is_cuda()) {
      const c10::DeviceGuard guard(hidden.device());
      const torch::Tensor partial_sums = torch::empty({cuda::sum_scratch(rows, columns)}, bias_gradient.options());
      cuda::sum_backward(
          {cuda::element_of(hidden), incoming.data_ptr(), hidden.data_ptr(), {0, 0, scale}, rows, columns},
          gradient.data_ptr(), data_of<float>(partial_sums), data_of<float>(bias_gradient), cuda::current_stream());
    } else {
      with_element_type(hidden, [&](auto element) {
        using T = decltype(element);
        active_kernels<RowKernels<T>>().relu_backward(data_of<T>(hidden), scale, rows, columns, data_of<T>(incoming),
                                                      data_of<T>(gradient), data_of<float>(bias_gradient));
      });
    }
    const torch::Tensor weight_gradient = matrix_product(gradient.t(), x.reshape({rows, x.size(-1)}));  // [F,D]
    return {matrix_product(gradient, weight).view(x.sizes()), weight_gradient, bias_gradient, {}};
  }
};

}  // namespace

torch::Tensor linear_relu_dropout_plain(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                        double probability) {
  return kernels::dropout(torch::relu(kernels::linear(x, weight, bias)), probability);
}

torch::Tensor linear_relu_dropout(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                  double probability) {
  check_same_device({x, weight, bias});
  const bool has_rows = has_kernels(x) || (cuda::takes_rows(x) && weight.size(0) % cuda::kVector == 0);
  if (!has_rows || weight.scalar_type() != x.scalar_type())
    return linear_relu_dropout_plain(x, weight, bias, probability);
  return recorded<FusedInner>(x, weight, bias, probability);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
