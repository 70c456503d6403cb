// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <torch/types.h>

#include <functional>

namespace transmute {
inline namespace v0 {

/// A layer keeps its activations for the backward pass or recomputes them there.
enum class Activations { kept, recomputed };

/// A layer as a function of its input and, in a decoder, the encoder's output.
using LayerFunction = std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& memory)>;

/// Computes function(x, memory) without keeping its activations; the backward pass calls the function again (Chen et
/// al., "Training Deep Nets with Sublinear Memory Cost", 2016). Only x, `memory` and the result stay in memory.
///
/// The second call draws the same dropout masks, so the gradients equal those without recomputation, except for the
/// order of sums. Gradients of parameters that `function` captures are accumulated into them; torch::autograd::grad
/// does not see them. If neither x nor `memory` (which may be undefined) requires a gradient, the function is called
/// once and keeps its activations.
/// @param function must compute the same at each call
TRANSMUTE_API torch::Tensor recomputed(const LayerFunction& function, const torch::Tensor& x,
                                       const torch::Tensor& memory = {});

}  // namespace v0
}  // namespace transmute
