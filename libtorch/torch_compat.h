// SPDX-License-Identifier: Apache-2.0
#pragma once

// The differences between LibTorch 1.13 and 2.x, in one place.

#include <torch/csrc/autograd/variable.h>
#include <torch/types.h>
#include <torch/version.h>

#include <optional>
#include <utility>

#define TRANSMUTE_TORCH_FROM(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#if TRANSMUTE_TORCH_FROM(2, 5)
#include <ATen/Context.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#else
#include <c10/util/Optional.h>

#include <stdexcept>
#endif

namespace transmute {
inline namespace v0 {

/// A tensor that may be missing, as torch::autograd::Function takes it.
#if TRANSMUTE_TORCH_FROM(2, 5)
using MaybeTensor = std::optional<torch::Tensor>;
#else
using MaybeTensor = c10::optional<torch::Tensor>;
#endif

/// An owning pointer to a node of the autograd graph: a std::shared_ptr, in recent releases a c10::intrusive_ptr.
using AutogradNode =
    decltype(torch::autograd::impl::grad_accumulator(std::declval<const torch::autograd::Variable&>()));

/// Switches libuv off in c10d::TCPStoreOptions. It is the default from LibTorch 2.4 on, also in builds without libuv,
/// such as Debian's 2.6, which then refuse to open a store.
template <class StoreOptions>
void leave_out_libuv([[maybe_unused]] StoreOptions& options) {
#if TRANSMUTE_TORCH_FROM(2, 4)
  options.useLibUV = false;
#endif
}

/// LibTorch's own attention, which on GPUs never holds the weights: softmax(scale query key^T) with dropout, times
/// value. query: [B,H,T,K], key: [B,H,S,K], value: [B,H,S,Kv]; mask: bool, broadcastable to [B,H,T,S], or undefined. Of
/// a query that may attend to nothing the output is 0, as LibTorch has it from 2.5 on: there is none before.
#if TRANSMUTE_TORCH_FROM(2, 5)
constexpr bool kHasFusedAttention = true;
inline torch::Tensor fused_attention(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value,
                                     const torch::Tensor& mask, double dropout, double scale) {
  // cuDNN's attention makes a plan for each new shape, in up to half a second, and keeps all of them.
  [[maybe_unused]] static const bool is_without_cudnn = (at::globalContext().setSDPUseCuDNN(false), true);
  return at::scaled_dot_product_attention(query, key, value, mask.defined() ? MaybeTensor(mask) : MaybeTensor(),
                                          dropout,
                                          /*is_causal=*/false, scale);
}
#else
constexpr bool kHasFusedAttention = false;
inline torch::Tensor fused_attention(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                                     const torch::Tensor&, double, double) {
  throw std::logic_error("fused_attention is for LibTorch 2.5 and newer");
}
#endif

}  // namespace v0
}  // namespace transmute
