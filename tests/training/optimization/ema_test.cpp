// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/training/optimization/ema.h>

#include <cstdint>

namespace transmute {
namespace {

NamedTensors matrix_and_bias() {
  torch::manual_seed(4);
  return {{"matrix", torch::randn({5, 7})}, {"bias", torch::randn({7})}};
}

TEST(WeightAverage, SoonForgetsTheBeginning) {
  const WeightAverage average(matrix_and_bias(), 0.9);
  const auto on_device = [&](double step) {
    return average.share(torch::full({}, step, torch::kDouble)).item<double>();
  };
  for (const int64_t step : {1, 2, 10, 79, 80, 81, 100'000}) {
    const double expected = step < 80 ? 9.0 / (10.0 + static_cast<double>(step)) : 0.1;
    EXPECT_NEAR(average.share(step), expected, 1e-12) << step;
    EXPECT_NEAR(on_device(static_cast<double>(step)), expected, 1e-12) << step;
  }
}

TEST(WeightAverage, TakesTheWeightsPlaceAndGivesItBackBitForBit) {
  NamedTensors parameters = matrix_and_bias();
  const torch::Tensor before = parameters[0].second.clone();
  WeightAverage average(parameters, 0.9);
  parameters[0].second.add_(1);
  const torch::Tensor trained = parameters[0].second.clone();
  {
    const WeightAverage::InPlace in_place(&average);
    EXPECT_TRUE(torch::equal(parameters[0].second, before));
  }
  EXPECT_TRUE(torch::equal(parameters[0].second, trained));
  EXPECT_TRUE(torch::equal(average.values()[0].second, before));
  const WeightAverage::InPlace nothing(nullptr);
}

TEST(WeightAverage, OfAnotherModelIsRefused) {
  WeightAverage average(matrix_and_bias(), 0.9);
  const std::string message = testing::message_of<std::runtime_error>([&] {
    average.restore({{"matrix", torch::zeros({5, 7})}}, "a/file");
  });
  EXPECT_NE(message.find("a/file: has no \"bias\" of the model's shape"), std::string::npos) << message;
}

}  // namespace
}  // namespace transmute
