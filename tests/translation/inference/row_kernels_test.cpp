// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/inference_kernels.h>
#include <transmute/translation/inference/row_kernels.h>

#include <cmath>
#include <vector>

namespace transmute {
namespace {

using kernels::available_simd;
using kernels::Simd;
using testing::random_floats;

TEST(LayerNormOfRows, IsTheFormulaInDoubleLoops) {
  for (const Simd simd : available_simd())
    for (const int64_t width : {1, 7, 16, 100, 512})
      for (const float offset : {0.0F, 50.0F}) {
        constexpr int64_t kRows = 3;
        auto x = random_floats(kRows * width, 5);
        for (auto& value : x) value += offset;
        const auto weight = random_floats(width, 6);
        const auto bias = random_floats(width, 7);
        std::vector<float> y(x);
        inference::layer_norm({weight.data(), bias.data(), width, 1e-6F}, y.data(), kRows, y.data(), simd);
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

}  // namespace
}  // namespace transmute
