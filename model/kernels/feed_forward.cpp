// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/kernels/feed_forward.h>

#include <transmute/model/kernels/dropout.h>
#include <transmute/model/kernels/kernel_tensors.h>
#include <transmute/model/kernels/lanes/rows.h>
#include <transmute/model/kernels/row_products.h>
#include <transmute/model/libtorch.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

struct FusedInner : torch::autograd::Function<FusedInner> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& given_bias, double probability) {
    const torch::Tensor bias = as_float(given_bias);
    auto sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    torch::Tensor hidden = rows_by_transposed(x.reshape({-1, x.size(-1)}), weight).view(sizes);  // [...,F]
    const DropoutDraw draw = DropoutDraw::next(probability, true);
    const MaskKeys mask(draw, hidden.numel());
    with_element_type(hidden, [&](auto element) {
      using T = decltype(element);
      row_kernels<T>().relu_forward(data_of<T>(hidden), data_of<float>(bias), mask.view(),
                                    hidden.numel() / std::max<int64_t>(1, hidden.size(-1)), hidden.size(-1));
    });
    context->save_for_backward({x, weight, hidden});
    context->saved_data["scale"] = static_cast<double>(mask.view().scale);
    return hidden;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor &x = saved[0], &weight = saved[1], &hidden = saved[2];
    const torch::Tensor incoming = gradients[0].contiguous();
    const int64_t columns = hidden.size(-1);
    const int64_t rows = hidden.numel() / std::max<int64_t>(1, columns);
    const torch::Tensor gradient = torch::empty({rows, columns}, hidden.options());
    const torch::Tensor bias_gradient = torch::zeros({columns}, torch::kFloat);
    with_element_type(hidden, [&](auto element) {
      using T = decltype(element);
      row_kernels<T>().relu_backward(data_of<T>(hidden), static_cast<float>(context->saved_data["scale"].toDouble()),
                                     rows, columns, data_of<T>(incoming), data_of<T>(gradient),
                                     data_of<float>(bias_gradient));
    });
    const torch::Tensor weight_gradient = outer_products(gradient, x.reshape({rows, x.size(-1)}));  // [F,D]
    return {rows_by(gradient, weight).view(x.sizes()), weight_gradient, bias_gradient, {}};
  }
};

}  // namespace

torch::Tensor linear_relu_dropout_plain(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                        double probability) {
  return kernels::dropout(torch::relu(torch::linear(x, weight, bias.to(weight.scalar_type()))), probability, true);
}

torch::Tensor linear_relu_dropout(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                                  double probability) {
  if (!has_kernels(x) || weight.scalar_type() != x.scalar_type())
    return linear_relu_dropout_plain(x, weight, bias, probability);
  return FusedInner::apply(x, weight, bias, probability);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
