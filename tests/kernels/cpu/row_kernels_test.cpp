// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/network/options.h>
#include <transmute/tests/support/inference_kernels.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using kernels::available_simd;
using kernels::Simd;
using kernels::simd_name;
using kernels::SimdLimit;
using testing::random_floats;

TEST(LayerNormOfRows, IsTheFormulaInDoubleLoops) {
  for (const Simd simd : available_simd())
    for (const int64_t width : {1, 7, 16, 100, 512})
      for (const float offset : {0.0F, 50.0F}) {
        const SimdLimit limit(simd);
        constexpr int64_t kRows = 3;
        auto x = random_floats(kRows * width, 5);
        for (auto& value : x) value += offset;
        const auto weight = random_floats(width, 6);
        const auto bias = random_floats(width, 7);
        std::vector<float> y(x);
        inference::layer_norm({weight.data(), bias.data(), width, 1e-6F}, y.data(), kRows, y.data());
        for (int64_t row = 0; row < kRows; ++row) {
          double mean = 0, variance = 0;
          const float* from = x.data() + row * width;
          for (int64_t i = 0; i < width; ++i) mean += static_cast<double>(from[i]) / static_cast<double>(width);
          for (int64_t i = 0; i < width; ++i)
            variance += std::pow(static_cast<double>(from[i]) - mean, 2) / static_cast<double>(width);
          for (int64_t i = 0; i < width; ++i) {
            const auto at = static_cast<size_t>(i);
            const double expected =
                (static_cast<double>(from[i]) - mean) / std::sqrt(variance + 1e-6) * static_cast<double>(weight[at]) +
                static_cast<double>(bias[at]);
            ASSERT_NEAR(y[static_cast<size_t>(row * width + i)], expected, offset > 0 ? 5e-4 : 2e-5) << width;
          }
        }
      }
}

// The functions as the papers write them (see Activation).
double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return std::max(0.0, x);
    case Activation::swish:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::gelu_sigmoid:
      return x / (1 + std::exp(-1.702 * x));
  }
  throw std::invalid_argument("no formula");
}

TEST(ActivationOfRows, IsTheFormulaInDouble) {
  std::vector<float> x;
  for (int i = -512; i <= 512; ++i) x.push_back(static_cast<float>(i) / 64);
  const auto count = static_cast<int64_t>(x.size());  // 25 rows of 41, or one
  for (const Simd simd : available_simd())
    for (const Activation activation :
         {Activation::relu, Activation::swish, Activation::gelu, Activation::gelu_tanh, Activation::gelu_sigmoid})
      for (const int64_t width : {count, int64_t{41}}) {
        const SimdLimit limit(simd);
        std::vector<float> y(x);
        inference::activate(activation, count / width, width, y.data());
        for (size_t i = 0; i < x.size(); ++i) {
          // The formula for Φ is right to 1.5e-7, the others' logistic function to a few roundings of float32; x is
          // their factor.
          EXPECT_NEAR(y[i], activated(activation, x[i]), 1e-6 + 1e-6 * std::abs(x[i]))
              << simd_name(simd) << ", activation " << static_cast<int>(activation) << " of " << x[i];
        }
      }
}

}  // namespace
}  // namespace transmute
