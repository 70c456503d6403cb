// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Generator.h>
#include <torch/types.h>

#include <mutex>

// LibTorch's own get_state() and set_state() leave the lock, which other threads' draws take, to the caller.
namespace transmute {
inline namespace v0 {

/// The state of a generator that other threads may be drawing from.
inline torch::Tensor generator_state(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

/// Sets the state of a generator that other threads may be drawing from.
inline void set_generator_state(at::Generator generator, const torch::Tensor& state) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

/// Seeds a generator that other threads may be drawing from.
inline void seed_generator(at::Generator generator, uint64_t seed) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_current_seed(seed);
}

}  // namespace v0
}  // namespace transmute
