// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/kernels/cuda/device_kernels.h>
#include <transmute/kernels/simd/dropout_mask.h>

#include <cstdint>
#include <vector>

namespace torch::autograd {
struct AutogradContext;
}

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Makes the dropout masks of the calling thread a function of `key` and of how many masks were drawn before
/// in this scope, for as long as the object lives. Without a scope the masks come from LibTorch's default
/// generator.
///
/// Training opens one per (seed, step, micro-batch), so that a step can be repeated exactly, in any
/// thread.
class DropoutScope {
 public:
  struct State {
    uint64_t key = 0;
    uint64_t drawn = 0;  ///< number of masks drawn so far
    bool active = false;
  };

  explicit DropoutScope(uint64_t key);
  /// Continues a scope from one of its states: the next masks are those that followed it.
  explicit DropoutScope(const State& state);
  ~DropoutScope();
  DropoutScope(const DropoutScope&) = delete;
  DropoutScope& operator=(const DropoutScope&) = delete;

  /// The state of the calling thread's current scope, if there is one.
  static State state();

 private:
  State outer_;
};

/// Zeroes each element with probability `probability` and scales the others by 1 / (1 - probability); the identity if
/// it is 0, as outside of training. Srivastava et al., 2014; section 5.4.
///
/// The mask is a hash of (key, element number): nothing is stored for the backward pass, and the result depends neither
/// on the number of threads nor on the device. On GPUs, tensors that the kernels do not take have LibTorch's dropout.
torch::Tensor dropout(const torch::Tensor& input, double probability);

/// The dropout mask of a fused operation: its key, drawn in the forward pass and kept for the backward pass. Keys are
/// drawn in the order in which `dropout` draws them, so that the plain version has the same mask.
struct DropoutDraw {
  uint64_t key = 0;
  double probability = 0;

  /// Draws the key of the next mask; draws nothing if the probability is 0.
  static DropoutDraw next(double probability);

  /// Saves the draw for the backward pass, which reads it with saved().
  void save(torch::autograd::AutogradContext& context) const;
  static DropoutDraw saved(torch::autograd::AutogradContext& context);

  /// The mask in the form that the GPU kernels take.
  cuda::Mask device_mask() const;
};

/// A draw's mask over `elements` elements. The views point into this object.
class MaskKeys {
 public:
  MaskKeys(const DropoutDraw& draw, int64_t elements);
  MaskView view() const;

 private:
  std::vector<uint64_t> block_keys_;
  double probability_;
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
