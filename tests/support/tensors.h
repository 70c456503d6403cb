// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/reference.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {

/// Between tensors and the reference's plain vectors. A tensor of more than two dimensions keeps its last one
/// as columns, a vector becomes one row.
reference::Matrix matrix_of(const torch::Tensor& tensor);
torch::Tensor tensor_of(const reference::Matrix& matrix);  ///< [rows,columns] float64
std::vector<int64_t> ids_of(const torch::Tensor& ids);
torch::Tensor ids_tensor(const std::vector<std::vector<int64_t>>& rows);

reference::Weights weights_of(const torch::nn::Module& module);

/// Standard normal float64 numbers, a function of the sizes and the seed alone.
torch::Tensor random_tensor(torch::IntArrayRef sizes, uint64_t seed);

/// Ids from 1 to vocab_size - 1, so none is padding id 0.
torch::Tensor random_ids(torch::IntArrayRef sizes, int64_t vocab_size, uint64_t seed);

/// Draws every parameter anew from N(0, 0.5²), norms and biases too: initial values 0 and 1 would hide
/// mistakes.
void randomize_parameters(torch::nn::Module& module, uint64_t seed);

/// A network of such parameters, in eval mode.
Transformer random_transformer(const TransformerOptions& options, torch::Dtype dtype);

/// The tolerance of a float64 network beside the reference, whose sinusoids are exact: those of the module are float32
/// numbers.
double double_tolerance_of(const TransformerOptions& options);

/// Largest |actual - expected|; NaN where either has one, infinity where shapes differ.
double largest_difference(const torch::Tensor& actual, const torch::Tensor& expected);

/// Non-fatal failure where a difference exceeds `tolerance` or is NaN. The matrix stands for the last two
/// dimensions of a tensor whose other dimensions are 1.
void expect_near(const torch::Tensor& actual, const torch::Tensor& expected, double tolerance);
void expect_near(const torch::Tensor& actual, const reference::Matrix& expected, double tolerance);

/// Compares what `loss` (a float64 scalar) propagates back to `leaves` with central differences, for each
/// element.
void expect_gradients_match(const std::function<torch::Tensor()>& loss,
                            const std::vector<std::pair<std::string, torch::Tensor>>& leaves);

/// All parameters of a module as leaves.
std::vector<std::pair<std::string, torch::Tensor>> leaves_of(const torch::nn::Module& module);

/// Rounding of float64 in a few thousand operations on numbers near 1.
inline constexpr double kDoubleTolerance = 1e-11;

/// The same for float32: 6e-8 each, which a small network enlarges to some 1e-6.
inline constexpr double kFloatTolerance = 2e-5;

}  // namespace transmute::testing
