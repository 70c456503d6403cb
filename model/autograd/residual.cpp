// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/autograd/residual.h>

#include <c10/core/DeviceGuard.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/kernel_tensors.h>

namespace transmute {
inline namespace v0 {
namespace kernels {

namespace {

constexpr int64_t kMostLanes = 16;

torch::Tensor floats(int64_t count, torch::Device device = torch::kCPU) {
  return torch::empty({count}, torch::TensorOptions(device).dtype(torch::kFloat));
}

torch::Tensor zeros(int64_t count, bool wanted) {
  return wanted ? torch::zeros({count}, torch::kFloat) : torch::Tensor();
}

struct NormNumbers {
  double residual_scale;
  double epsilon;
};

template <class T>
typename RowKernels<T>::Norm norm_of(const torch::Tensor& residual, const torch::Tensor& x, const torch::Tensor& bias,
                                     const torch::Tensor& weight, const torch::Tensor& shift,
                                     const NormNumbers& numbers, const MaskKeys& mask) {
  return {data_of<T>(residual),
          data_of<T>(x),
          data_of<float>(bias),
          data_of<float>(weight),
          data_of<float>(shift),
          static_cast<float>(numbers.residual_scale),
          static_cast<float>(numbers.epsilon),
          mask.view(),
          row_count(x),
          x.size(-1)};
}

cuda::Norm device_norm(const torch::Tensor& residual, const torch::Tensor& x, const torch::Tensor& bias,
                       const torch::Tensor& weight, const torch::Tensor& shift, const NormNumbers& numbers,
                       const DropoutDraw& draw) {
  return {cuda::element_of(x),
          data_of<void>(residual),
          data_of<void>(x),
          data_of<float>(bias),
          data_of<float>(weight),
          data_of<float>(shift),
          static_cast<float>(numbers.residual_scale),
          static_cast<float>(numbers.epsilon),
          draw.device_mask(),
          row_count(x),
          x.size(-1)};
}

// Without a residual, this is the LayerNorm of x alone.
struct FusedNorm : torch::autograd::Function<FusedNorm> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const MaybeTensor& given_residual,
                               const torch::Tensor& given_x, const MaybeTensor& given_bias,
                               const torch::Tensor& given_weight, const torch::Tensor& given_shift,
                               double residual_scale, double epsilon, double probability) {
    const torch::Tensor residual = given_residual.has_value() ? given_residual->contiguous() : torch::Tensor();
    const torch::Tensor x = given_x.contiguous();
    const torch::Tensor bias = as_float(or_undefined(given_bias));
    const torch::Tensor weight = as_float(given_weight);
    const torch::Tensor shift = as_float(given_shift);
    const DropoutDraw draw = DropoutDraw::next(probability);
    torch::Tensor result = torch::empty_like(x);
    const int64_t rows = row_count(x);
    const torch::Tensor means = floats(rows, x.device());
    const torch::Tensor inverse_deviations = floats(rows, x.device());
    const NormNumbers numbers{residual_scale, epsilon};
    if (x.is_cuda()) {
      const c10::DeviceGuard guard(x.device());
      cuda::norm_forward(device_norm(residual, x, bias, weight, shift, numbers, draw), result.data_ptr(),
                         data_of<float>(means), data_of<float>(inverse_deviations), cuda::current_stream());
    } else {
      const MaskKeys mask(draw, x.numel());
      const torch::Tensor scratch = floats(x.size(-1));
      with_element_type(x, [&](auto element) {
        using T = decltype(element);
        active_kernels<RowKernels<T>>().norm_forward(norm_of<T>(residual, x, bias, weight, shift, numbers, mask),
                                                     data_of<T>(result), data_of<float>(means),
                                                     data_of<float>(inverse_deviations), data_of<float>(scratch));
      });
    }
    context->save_for_backward({residual, x, bias, weight, shift, means, inverse_deviations});
    context->saved_data["residual_scale"] = residual_scale;
    context->saved_data["epsilon"] = epsilon;
    draw.save(*context);
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const auto saved = context->get_saved_variables();
    const torch::Tensor &residual = saved[0], &x = saved[1], &bias = saved[2], &weight = saved[3], &shift = saved[4];
    const torch::Tensor gradient = gradients[0].contiguous();
    const DropoutDraw draw = DropoutDraw::saved(*context);
    const int64_t columns = x.size(-1);
    const torch::Tensor x_gradient = torch::empty_like(x);
    const NormNumbers numbers{context->saved_data["residual_scale"].toDouble(),
                              context->saved_data["epsilon"].toDouble()};
    // Without dropout and scale, the residual and x have the same gradient.
    const bool two = residual.defined() && (draw.probability > 0 || numbers.residual_scale != 1);
    const torch::Tensor residual_gradient = two ? torch::empty_like(x) : torch::Tensor();
    const torch::Tensor to_residual = !residual.defined() ? torch::Tensor() : two ? residual_gradient : x_gradient;
    if (x.is_cuda()) {
      const c10::DeviceGuard guard(x.device());
      const cuda::Norm norm = device_norm(residual, x, bias, weight, shift, numbers, draw);
      const torch::Tensor sums = floats(3 * columns, x.device());
      const torch::Tensor partial_sums = floats(cuda::norm_scratch(norm.rows, columns), x.device());
      cuda::norm_backward(norm, gradient.data_ptr(), data_of<float>(saved[5]), data_of<float>(saved[6]),
                          data_of<void>(residual_gradient), x_gradient.data_ptr(), data_of<float>(partial_sums),
                          data_of<float>(sums), cuda::current_stream());
      return {to_residual,
              x_gradient,
              bias.defined() ? sums.narrow(0, 2 * columns, columns) : torch::Tensor(),
              sums.narrow(0, 0, columns),
              sums.narrow(0, columns, columns),
              {},
              {},
              {}};
    }
    const MaskKeys mask(draw, x.numel());
    const torch::Tensor bias_gradient = zeros(columns, bias.defined());
    const torch::Tensor weight_gradient = zeros(columns, true);
    const torch::Tensor shift_gradient = zeros(columns, true);
    const torch::Tensor scratch = floats(2 * columns + kMostLanes);
    with_element_type(x, [&](auto element) {
      using T = decltype(element);
      active_kernels<RowKernels<T>>().norm_backward(
          norm_of<T>(residual, x, bias, weight, shift, numbers, mask), data_of<T>(gradient), data_of<float>(saved[5]),
          data_of<float>(saved[6]), data_of<T>(residual_gradient), data_of<T>(x_gradient),
          data_of<float>(bias_gradient), data_of<float>(weight_gradient), data_of<float>(shift_gradient),
          data_of<float>(scratch));
    });
    return {to_residual, x_gradient, bias_gradient, weight_gradient, shift_gradient, {}, {}, {}};
  }
};

struct FusedAdd : torch::autograd::Function<FusedAdd> {
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& given_residual,
                               const torch::Tensor& given_x, const MaybeTensor& given_bias, double probability) {
    const torch::Tensor residual = given_residual.contiguous();
    const torch::Tensor x = given_x.contiguous();
    const torch::Tensor bias = as_float(or_undefined(given_bias));
    const DropoutDraw draw = DropoutDraw::next(probability);
    torch::Tensor result = torch::empty_like(x);
    const int64_t columns = x.size(-1);
    const int64_t rows = row_count(x);
    if (x.is_cuda()) {
      const c10::DeviceGuard guard(x.device());
      cuda::sum_forward({cuda::element_of(x), residual.data_ptr(), x.data_ptr(), data_of<float>(bias), /*relu=*/false,
                         draw.device_mask(), rows, columns},
                        result.data_ptr(), cuda::current_stream());
    } else {
      const MaskKeys mask(draw, x.numel());
      with_element_type(x, [&](auto element) {
        using T = decltype(element);
        active_kernels<RowKernels<T>>().add_forward(data_of<T>(residual), data_of<T>(x), data_of<float>(bias),
                                                    mask.view(), rows, columns, data_of<T>(result));
      });
    }
    context->saved_data["has_bias"] = bias.defined();
    draw.save(*context);
    return result;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    check_first_derivative();
    const torch::Tensor gradient = gradients[0].contiguous();
    const DropoutDraw draw = DropoutDraw::saved(*context);
    const bool has_bias = context->saved_data["has_bias"].toBool();
    if (!has_bias && draw.probability == 0) return {gradient, gradient, {}, {}};
    const int64_t columns = gradient.size(-1);
    const int64_t rows = row_count(gradient);
    const torch::Tensor x_gradient = torch::empty_like(gradient);
    if (gradient.is_cuda()) {
      const c10::DeviceGuard guard(gradient.device());
      const auto on_device = [&](int64_t count) {
        return has_bias ? floats(count, gradient.device()) : torch::Tensor();
      };
      const torch::Tensor bias_gradient = on_device(columns);
      const torch::Tensor partial_sums = on_device(cuda::sum_scratch(rows, columns));
      cuda::sum_backward({cuda::element_of(gradient), gradient.data_ptr(), nullptr, draw.device_mask(), rows, columns},
                         x_gradient.data_ptr(), data_of<float>(partial_sums), data_of<float>(bias_gradient),
                         cuda::current_stream());
      return {gradient, x_gradient, bias_gradient, {}};
    }
    const MaskKeys mask(draw, gradient.numel());
    const torch::Tensor bias_gradient = zeros(columns, has_bias);
    with_element_type(gradient, [&](auto element) {
      using T = decltype(element);
      active_kernels<RowKernels<T>>().add_backward(data_of<T>(gradient), mask.view(), rows, columns,
                                                   data_of<T>(x_gradient), data_of<float>(bias_gradient));
    });
    return {gradient, x_gradient, bias_gradient, {}};
  }
};

void check(const torch::Tensor& x, const NormParameters& norm) {
  TORCH_CHECK_VALUE(x.dim() > 0 && norm.weight.dim() == 1 && norm.weight.size(0) == x.size(-1), "LayerNorm of ",
                    norm.weight.sizes(), " does not fit ", x.sizes());
  check_same_device({x, norm.weight, norm.shift});
}

void check(const torch::Tensor& residual, const Branch& branch) {
  TORCH_CHECK_VALUE(residual.sizes() == branch.product.sizes(), "a residual connection adds tensors of one shape, not ",
                    residual.sizes(), " and ", branch.product.sizes());
  check_same_device({residual, branch.product, branch.bias});
}

bool has_sums(const torch::Tensor& x) {
  return has_kernels(x) || cuda::takes_rows(x);
}

bool has_norms(const torch::Tensor& x) {
  return has_kernels(x) || (cuda::takes_rows(x) && x.size(-1) <= cuda::kMostNormColumns);
}

}  // namespace

torch::Tensor residual_add_plain(const torch::Tensor& residual, const Branch& branch) {
  return residual + kernels::dropout(with_bias(branch.product, branch.bias), branch.dropout);
}

torch::Tensor layer_norm_plain(const torch::Tensor& x, const NormParameters& norm) {
  return torch::layer_norm(x, {x.size(-1)}, norm.weight.to(x.scalar_type()), norm.shift.to(x.scalar_type()),
                           norm.epsilon);
}

torch::Tensor residual_norm_plain(const Residual& residual, const Branch& branch, const NormParameters& norm) {
  const torch::Tensor stream = residual.scale == 1 ? residual.stream : residual.stream * residual.scale;
  return layer_norm_plain(residual_add_plain(stream, branch), norm);
}

torch::Tensor residual_add(const torch::Tensor& residual, const Branch& branch) {
  check(residual, branch);
  if (!has_sums(residual) || branch.product.scalar_type() != residual.scalar_type())
    return residual_add_plain(residual, branch);
  return recorded<FusedAdd>(residual, branch.product, if_defined(branch.bias), branch.dropout);
}

torch::Tensor residual_norm(const Residual& residual, const Branch& branch, const NormParameters& norm) {
  check(residual.stream, branch);
  check(residual.stream, norm);
  if (!has_norms(residual.stream) || branch.product.scalar_type() != residual.stream.scalar_type())
    return residual_norm_plain(residual, branch, norm);
  return recorded<FusedNorm>(MaybeTensor(residual.stream), branch.product, if_defined(branch.bias), norm.weight,
                             norm.shift, residual.scale, norm.epsilon, branch.dropout);
}

torch::Tensor layer_norm(const torch::Tensor& x, const NormParameters& norm) {
  check(x, norm);
  if (!has_norms(x)) return layer_norm_plain(x, norm);
  return recorded<FusedNorm>(MaybeTensor(), x, MaybeTensor(), norm.weight, norm.shift, 1.0, norm.epsilon, 0.0);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
