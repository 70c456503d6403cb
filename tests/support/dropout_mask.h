// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/random.h>
#include <transmute/kernels/simd/dropout_mask.h>

#include <cmath>

namespace transmute::testing {

/// The first dropout mask in kernels::DropoutScope(key), element by element: [elements] bool, true where kept.
inline torch::Tensor dropout_mask(uint64_t key, int64_t elements, double probability) {
  constexpr int64_t kBlock = 1 << 16;  // elements that share a key
  const uint64_t mask_key = combine_keys(key, uint64_t{0});
  const double threshold = std::round(std::ldexp(probability, 32));
  torch::Tensor mask = torch::empty({elements}, torch::kBool);
  for (int64_t i = 0; i < elements; ++i)
    mask.data_ptr<bool>()[i] =
        kernels::hash_element(static_cast<uint32_t>(i % kBlock), combine_keys(mask_key, i / kBlock)) >= threshold;
  return mask;
}

}  // namespace transmute::testing
