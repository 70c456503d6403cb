// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/kernels/simd.h>

#include <cstdint>
#include <random>
#include <vector>

namespace transmute::testing {

using kernels::Simd;

// All that this machine has: on one with the best of them every kernel is tested.
inline std::vector<Simd> available() {
  std::vector<Simd> levels;
  for (int level = 0; level <= static_cast<int>(kernels::best_simd()); ++level)
    levels.push_back(static_cast<Simd>(level));
  return levels;
}

inline std::vector<float> random_floats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = scale * normal(engine);
  return values;
}

}  // namespace transmute::testing
