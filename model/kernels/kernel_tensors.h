// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/model/torch_compat.h>

#include <cstdint>
#include <type_traits>

// Between tensors and the plain arrays that the kernels of lanes/ take.
namespace transmute {
inline namespace v0 {
namespace kernels {

/// Whether the fused kernels take `x`: float32 or bfloat16 on the CPU.
inline bool has_kernels(const torch::Tensor& x) {
  return x.device().is_cpu() && (x.scalar_type() == torch::kFloat || x.scalar_type() == torch::kBFloat16);
}

/// float, or uint16_t for bfloat16's bits.
template <class T>
T* data_of(const torch::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.data_ptr()) : nullptr;
}

/// Calls body(T()) with the element type of `x`, which has_kernels.
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

/// One-dimensional parameters are float32 whatever the matrices are.
inline torch::Tensor as_float(const torch::Tensor& x) {
  return x.defined() ? x.to(torch::kFloat).contiguous() : x;
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
