// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/model/module_weights.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Copies into each tensor of `own` the one of `values` that has its name.
/// @param path the file that the values come from, for the message
/// @throws std::runtime_error naming the first that is missing or has another shape.
void restore_tensors(const NamedTensors& own, const NamedTensors& values, const std::string& path);

/// The parameters that Adam trains and both moments of their gradients, which lie in one block of memory each: matrices
/// first, then vectors.
struct AdamMoments {
  /// Moments of zero. On the CPU, parameters must be contiguous.
  explicit AdamMoments(NamedTensors trained);

  /// Joins a tensor for each parameter into one of [elements], in the moments' order.
  torch::Tensor joined(const std::vector<torch::Tensor>& by_parameter) const;
  /// Views of the same memory, by parameter.
  std::vector<torch::Tensor> parted(const torch::Tensor& joined) const;

  /// For checkpoints.
  NamedTensors state() const;
  /// @throws std::runtime_error naming `path` if the state does not fit the parameters.
  void restore(const NamedTensors& state, const std::string& path);

  NamedTensors parameters;
  std::vector<size_t> order;                    ///< order of the parameters in the joined tensors
  int64_t matrix_elements = 0;                  ///< elements of all matrices
  torch::Tensor all_means, all_variances;       ///< joined tensors
  std::vector<torch::Tensor> means, variances;  ///< the same memory, by parameter
};

}  // namespace v0
}  // namespace transmute
