// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/model/transformer.h>

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// A matrix of weights in bytes: number times its row's scale. The largest magnitude of a row is 127.
struct Int8Matrix {
  torch::Tensor numbers;  ///< int8 [outputs,inputs]
  torch::Tensor scales;   ///< float32 [outputs]
};

/// The nearest one. weight: float32 [outputs,inputs], on the CPU. The same numbers as those that int8 products are
/// made of.
Int8Matrix to_int8(const torch::Tensor& weight);

/// float32 [outputs,inputs].
torch::Tensor to_float32(const Int8Matrix& matrix);

/// Leaves a parameter with its module as bytes, for InferenceModel to take as they are. The parameter itself keeps its
/// shape, takes no memory and is not a number: LibTorch's operations can make nothing of such a network.
/// `parameter`: its name, as in the model's files.
void keep_int8(Transformer& transformer, const std::string& parameter, const Int8Matrix& matrix);

/// What was left so, among a Transformer's named_buffers(); nothing for other parameters.
std::optional<Int8Matrix> kept_int8(const torch::OrderedDict<std::string, torch::Tensor>& buffers,
                                    const std::string& parameter);

}  // namespace v0
}  // namespace transmute
