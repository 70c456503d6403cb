// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/joined_linear.h>

#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/autograd/matrix_product.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {

torch::Tensor joined_rows(const std::vector<torch::Tensor>& weights) {
  int64_t rows = 0;
  bool together = true;
  const int64_t columns = weights.front().size(1);
  const auto* next = static_cast<const char*>(weights.front().data_ptr());
  for (const auto& weight : weights) {
    together = together && weight.is_contiguous() && weight.data_ptr() == next &&
               weight.storage().is_alias_of(weights.front().storage());
    next += weight.numel() * weight.element_size();
    rows += weight.size(0);
  }
  return together ? weights.front().as_strided({rows, columns}, {columns, 1}) : torch::cat(weights);
}

namespace {

std::vector<torch::Tensor> defined_ones(const torch::Tensor& first, const torch::Tensor& second,
                                        const torch::Tensor& third) {
  std::vector<torch::Tensor> defined = {first};
  for (const auto& weight : {second, third})
    if (weight.defined()) defined.push_back(weight);
  return defined;
}

struct PackedLinear : torch::autograd::Function<PackedLinear> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& first, const MaybeTensor& second, const MaybeTensor& third) {
    context->save_for_backward({x, first, or_undefined(second), or_undefined(third)});
    const torch::Tensor weight = joined_rows(defined_ones(first, or_undefined(second), or_undefined(third)));
    auto sizes = x.sizes().vec();
    sizes.back() = weight.size(0);
    return matrix_product(x.reshape({-1, x.size(-1)}), weight.t()).view(sizes);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor& x = saved[0];
    const auto weights = defined_ones(saved[1], saved[2], saved[3]);
    const torch::Tensor gradient = gradients[0].reshape({-1, gradients[0].size(-1)});  // [N,outputs]
    const torch::Tensor to_weights =
        matrix_product(gradient.t(), x.reshape({gradient.size(0), x.size(-1)}));  // [outputs,D]
    torch::autograd::variable_list result = {
        matrix_product(gradient, joined_rows(weights)).view(x.sizes()), {}, {}, {}};
    int64_t row = 0;
    for (size_t i = 0; i < weights.size(); ++i) {
      result[i + 1] = to_weights.narrow(0, row, weights[i].size(0));
      row += weights[i].size(0);
    }
    return result;
  }
};

}  // namespace

torch::Tensor joined_linear(const torch::Tensor& x, const torch::Tensor& first, const torch::Tensor& second,
                            const torch::Tensor& third) {
  // Networks in float64 are used for second derivatives, which PackedLinear does not have.
  if (x.scalar_type() == torch::kDouble)
    return torch::linear(x, second.defined() ? torch::cat(defined_ones(first, second, third)) : first);
  return recorded<PackedLinear>(x, first, if_defined(second), if_defined(third));
}

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias) {
  return torch::linear(x, weight, bias.defined() ? bias.to(weight.scalar_type()) : bias);
}

void join(const std::vector<torch::Tensor>& parameters) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> flat;
  for (const auto& parameter : parameters) flat.push_back(parameter.detach().reshape(-1));
  const torch::Tensor together = torch::cat(flat);
  int64_t begin = 0;
  for (const auto& parameter : parameters) {
    torch::Tensor(parameter).set_data(together.narrow(0, begin, parameter.numel()).view(parameter.sizes()));
    begin += parameter.numel();
  }
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
