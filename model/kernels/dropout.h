#pragma once

#include <torch/types.h>

#include <cstdint>

namespace transmute::kernels {

/// Makes the dropout masks of the calling thread a function of `key` and of how many masks were drawn before
/// in this scope, for as long as the object lives. Without a scope the masks come from LibTorch's default
/// generator.
///
/// Training opens one per (seed, step, piece of the batch), so that a step can be repeated exactly, in any
/// thread.
class DropoutScope {
 public:
  explicit DropoutScope(uint64_t key);
  ~DropoutScope();
  DropoutScope(const DropoutScope&) = delete;
  DropoutScope& operator=(const DropoutScope&) = delete;

 private:
  uint64_t outer_key_;
  uint64_t outer_drawn_;
  bool outer_active_;
};

/// Zeroes each element with probability `probability` and scales the others by 1 / (1 - probability) while
/// `training`; otherwise the identity. Srivastava et al., 2014; section 5.4.
///
/// On the CPU the mask is a hash of (key, element number): nothing is stored for the backward pass, and the
/// result does not depend on the number of threads.
torch::Tensor dropout(const torch::Tensor& input, double probability, bool training);

/// The definition that `dropout` is tested against: the same mask, element by element. [n] of 0 and 1 as
/// bool.
torch::Tensor dropout_mask_reference(uint64_t key, int64_t elements, double probability);

}  // namespace transmute::kernels
