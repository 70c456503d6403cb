// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <functional>

namespace transmute {
inline namespace v0 {

/// Whether a layer keeps what its backward pass needs, or computes it once more there.
enum class Activations { kept, recomputed };

/// What a layer does with its input and, in a decoder, the encoder's output.
using LayerFunction = std::function<torch::Tensor(const torch::Tensor& x, const torch::Tensor& memory)>;

/// function(x, memory) without keeping what its backward pass needs: that calls it once more (Chen et al., "Training
/// Deep Nets with Sublinear Memory Cost", 2016). What stays in memory are x, `memory` and the result.
///
/// The second call draws the same dropout masks, so the gradients are the same as without, but for the order of
/// sums over several uses. Gradients of the
/// parameters that `function` knows by itself are accumulated into them; torch::autograd::grad does not see them.
/// Where neither x nor `memory`, which may be undefined, has a gradient, it is called once, and keeps what it needs.
/// @param function does the same whenever it is called
torch::Tensor recomputed(const LayerFunction& function, const torch::Tensor& x, const torch::Tensor& memory = {});

}  // namespace v0
}  // namespace transmute
