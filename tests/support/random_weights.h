// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/random.h>
#include <transmute/network/weights.h>

#include <cmath>
#include <cstdint>

namespace transmute::testing {

/// Weights of a network, drawn from `seed`: embeddings uniformly with variance 1/D, other matrices as Glorot and Bengio
/// (2010) do, biases 0, norms 1.
inline Weights random_weights(const TransformerOptions& options, uint64_t seed) {
  NamedArrays arrays;
  uint64_t drawn = 0;
  for (const auto& [name, shape] : parameter_shapes(options)) {
    Array array = Array::zeros(shape);
    const bool is_scale = shape.size() == 1 && name.find("norm.weight") != std::string::npos;
    const bool is_table = name.find("embedding") != std::string::npos;
    const double width = shape.size() < 2 ? 0
                         : is_table       ? std::sqrt(3.0 / static_cast<double>(shape[1]))
                                          : std::sqrt(6.0 / static_cast<double>(shape[0] + shape[1]));
    for (int64_t i = 0; i < array.count(); ++i)
      array.floats()[i] = is_scale ? 1.0F : static_cast<float>((2 * uniform(combine_keys(seed, ++drawn)) - 1) * width);
    arrays.emplace_back(name, std::move(array));
  }
  return {options, arrays, "random weights"};
}

}  // namespace transmute::testing
