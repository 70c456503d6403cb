// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/export.h>
#include <transmute/model/transformer.h>
#include <transmute/network/array.h>
#include <transmute/network/weights.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Named tensors in a file's order.
using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// A tensor on the CPU with the numbers of an array, whose memory it shares.
TRANSMUTE_API torch::Tensor to_tensor(const Array& array);

/// The numbers of a tensor. Memory is shared if the tensor is contiguous and on the CPU.
/// @throws std::invalid_argument if its type is none of NumberType
TRANSMUTE_API Array to_array(const torch::Tensor& tensor);

/// The arrays of tensors, as to_array() makes them.
TRANSMUTE_API NamedArrays to_arrays(const NamedTensors& tensors);

/// The tensors of arrays, as to_tensor() makes them.
TRANSMUTE_API NamedTensors to_tensors(const NamedArrays& arrays);

/// The parameters of a module, in the order and with the names of the file format.
TRANSMUTE_API NamedTensors parameters_of(const Transformer& transformer);

/// The same as plain arrays. float32 parameters on the CPU share their memory.
TRANSMUTE_API Weights weights_of(const Transformer& transformer);

/// A network as modules, in eval mode on the device, with parameters in float32 that need no gradient. Weights that are
/// stored in float32 share their memory with parameters on the CPU.
TRANSMUTE_API Transformer make_transformer(const Weights& weights, torch::Device device);

/// Copies values, stored in any type, into the module's parameters.
/// @throws std::runtime_error naming `path` and the first name or shape that does not fit.
TRANSMUTE_API void assign_parameters(Transformer& transformer, const NamedArrays& values, const std::string& path);

/// A second network with the same parameters, on the device of `numbers`, matrices in its type. Parameters share memory
/// if both are unchanged. Vectors and buffers stay float32.
TRANSMUTE_API Transformer replica_of(const Transformer& original, const torch::TensorOptions& numbers);

}  // namespace v0
}  // namespace transmute
