// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>
#include <transmute/libtorch/torch_compat.h>

#include <cstdint>
#include <initializer_list>
#include <utility>

// Conversions between tensors and the plain arrays that kernels/cpu/ takes.
namespace transmute {
inline namespace v0 {
namespace kernels {

/// True if the fused kernels take `x`: float32 or bfloat16 on the CPU.
inline bool has_kernels(const torch::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == torch::kFloat || x.scalar_type() == torch::kBFloat16);
}

/// The tensor's memory, or null if it is undefined. T is float, or uint16_t for the bits of bfloat16.
template <class T>
T* data_of(const torch::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

/// Calls body(T()) with the element type T of `x`, for which has_kernels() is true.
template <class Body>
auto with_element_type(const torch::Tensor& x, Body body) {
  return x.scalar_type() == torch::kFloat ? body(float()) : body(uint16_t());
}

inline MaybeTensor if_defined(const torch::Tensor& x) {
  return x.defined() ? MaybeTensor(x) : MaybeTensor();
}

inline torch::Tensor or_undefined(const MaybeTensor& x) {
  return x.has_value() ? *x : torch::Tensor();
}

/// Checks what the kernels rely on, because they get bare pointers. Undefined tensors are ignored.
/// @throws c10::ValueError if the tensors are on different devices
inline void check_same_device(std::initializer_list<torch::Tensor> tensors) {
  const torch::Tensor* first = nullptr;
  for (const torch::Tensor& x : tensors) {
    if (!x.defined()) continue;
    if (first == nullptr) first = &x;
    TORCH_CHECK_VALUE(x.device() == first->device(), "all tensors of an operation must be on one device, not on ",
                      first->device(), " and ", x.device());
  }
}

/// To be called by backward passes that fill their results in place, which cannot be differentiated again.
/// @throws c10::Error under create_graph
inline void check_first_derivative() {
  TORCH_CHECK(!torch::GradMode::is_enabled(),
              "fused operations and recomputed layers have no second derivative (create_graph); use a network in "
              "float64 that keeps its activations");
}

/// Calls F::apply if autograd records; otherwise calls F::forward directly, which saves a decoding step dozens of
/// nodes.
template <class F, class... Arguments>
torch::Tensor recorded(Arguments&&... arguments) {
  if (torch::GradMode::is_enabled()) return F::apply(std::forward<Arguments>(arguments)...);
  torch::autograd::AutogradContext context;
  return F::forward(&context, std::forward<Arguments>(arguments)...);
}

/// Converts one-dimensional parameters to the type in which the kernels read them, whatever the matrices' type is.
inline torch::Tensor as_float(const torch::Tensor& x) {
  return x.defined() ? x.to(torch::kFloat).contiguous() : x;
}

/// product + bias, in the product's type; the product itself if the bias is undefined.
inline torch::Tensor with_bias(const torch::Tensor& product, const torch::Tensor& bias) {
  return bias.defined() ? product + bias.to(product.scalar_type()) : product;
}

/// The number of rows of x, [...,columns], seen as a matrix.
inline int64_t row_count(const torch::Tensor& x) {
  return x.size(-1) == 0 ? 0 : x.numel() / x.size(-1);
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
