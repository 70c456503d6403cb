// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <limits>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// A key for random numbers of our own, from LibTorch's default generator: torch::manual_seed determines it.
inline uint64_t random_key() {
  return static_cast<uint64_t>(torch::randint(std::numeric_limits<int64_t>::max(), {1}, torch::kLong).item<int64_t>());
}

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
