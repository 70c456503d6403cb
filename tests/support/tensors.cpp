// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/support/tensors.h>

#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace transmute::testing {

namespace {

torch::Generator generator(uint64_t seed) {
  return at::detail::createCPUGenerator(seed);
}

}  // namespace

reference::Matrix matrix_of(const torch::Tensor& tensor) {
  const torch::Tensor plain = tensor.detach().to(torch::kDouble).contiguous();
  const int64_t columns = plain.size(-1);
  reference::Matrix matrix(plain.numel() / columns, columns);
  std::copy_n(plain.data_ptr<double>(), plain.numel(), matrix.values.begin());
  return matrix;
}

torch::Tensor tensor_of(const reference::Matrix& matrix) {
  return torch::tensor(matrix.values, torch::kDouble).view({matrix.rows, matrix.columns});
}

std::vector<int64_t> ids_of(const torch::Tensor& ids) {
  const torch::Tensor plain = ids.contiguous();
  return {plain.data_ptr<int64_t>(), plain.data_ptr<int64_t>() + plain.numel()};
}

torch::Tensor ids_tensor(const std::vector<std::vector<int64_t>>& rows) {
  std::vector<torch::Tensor> tensors;
  for (const auto& row : rows) tensors.push_back(torch::tensor(row, torch::kLong));
  return torch::stack(tensors);
}

reference::Weights weights_of(const torch::nn::Module& module) {
  reference::Weights weights;
  for (const auto& parameter : module.named_parameters()) weights[parameter.key()] = matrix_of(parameter.value());
  return weights;
}

torch::Tensor random_tensor(torch::IntArrayRef sizes, uint64_t seed) {
  return torch::randn(sizes, generator(seed), torch::kDouble);
}

torch::Tensor random_ids(torch::IntArrayRef sizes, int64_t vocab_size, uint64_t seed) {
  return torch::randint(1, vocab_size, sizes, generator(seed), torch::kLong);
}

void randomize_parameters(torch::nn::Module& module, uint64_t seed) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : module.parameters()) parameter.copy_(random_tensor(parameter.sizes(), seed++) * 0.5);
}

Transformer random_transformer(const TransformerOptions& options, torch::Dtype dtype) {
  Transformer model(options);
  randomize_parameters(*model, 31);
  model->to(dtype);
  model->eval();
  return model;
}

double double_tolerance_of(const TransformerOptions& options) {
  return options.positional_encoding == PositionalEncodingKind::learned ? kDoubleTolerance : 2e-6;
}

double largest_difference(const torch::Tensor& actual, const torch::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) return std::numeric_limits<double>::infinity();
  const torch::Tensor difference = actual.detach().to(torch::kDouble) - expected.detach().to(torch::kDouble);
  return difference.abs().max().item<double>();  // max() propagates NaN
}

void expect_near(const torch::Tensor& actual, const torch::Tensor& expected, double tolerance) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const double difference = largest_difference(actual, expected);
  EXPECT_TRUE(difference <= tolerance) << "the largest difference is " << difference << ", not at most " << tolerance;
}

void expect_near(const torch::Tensor& actual, const reference::Matrix& expected, double tolerance) {
  ASSERT_EQ(actual.size(-1), expected.columns);
  expect_near(actual.reshape({-1, expected.columns}), tensor_of(expected), tolerance);
}

void expect_gradients_match(const std::function<torch::Tensor()>& loss,
                            const std::vector<std::pair<std::string, torch::Tensor>>& leaves) {
  for (const auto& [name, leaf] : leaves) {
    ASSERT_EQ(leaf.scalar_type(), torch::kDouble) << name;
    ASSERT_TRUE(leaf.is_leaf() && leaf.is_contiguous() && leaf.requires_grad()) << name;
    leaf.mutable_grad() = torch::Tensor();
  }
  loss().backward();

  const torch::NoGradGuard no_grad;
  // Truncation is of the order of step², cancellation of 1e-16 / step: both stay far below the tolerance.
  constexpr double kStep = 1e-6;
  constexpr double kTolerance = 2e-8;
  for (const auto& [name, leaf] : leaves) {
    const torch::Tensor gradient = leaf.grad().defined() ? leaf.grad().contiguous() : torch::zeros_like(leaf);
    double* values = leaf.data_ptr<double>();
    for (int64_t i = 0; i < leaf.numel(); ++i) {
      const double value = values[i];
      values[i] = value + kStep;
      const double above = loss().item<double>();
      values[i] = value - kStep;
      const double below = loss().item<double>();
      values[i] = value;
      const double numeric = (above - below) / (2 * kStep);
      const double analytic = gradient.data_ptr<double>()[i];
      const double allowed = kTolerance * std::max({1.0, std::abs(numeric), std::abs(above)});
      ASSERT_LE(std::abs(analytic - numeric), allowed)
          << name << "[" << i << "]: backward gives " << analytic << ", differences " << numeric;
    }
  }
}

std::vector<std::pair<std::string, torch::Tensor>> leaves_of(const torch::nn::Module& module) {
  std::vector<std::pair<std::string, torch::Tensor>> leaves;
  for (const auto& parameter : module.named_parameters()) leaves.emplace_back(parameter.key(), parameter.value());
  return leaves;
}

}  // namespace transmute::testing
