#include <gtest/gtest.h>
#include <transmute/model/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/training/ema.h>

#include <algorithm>

namespace transmute {
namespace {

NamedTensors two_parameters() {
  torch::manual_seed(4);
  return {{"matrix", torch::randn({5, 7})}, {"bias", torch::randn({7})}};
}

TEST(WeightAverage, IsTheDecayingMeanOfTheWeightsAfterEachStep) {
  for (const double decay : {0.5, 0.999}) {
    NamedTensors parameters = two_parameters();
    std::vector<double> expected;
    const auto numbers = [&](const NamedTensors& tensors) {
      std::vector<double> all;
      for (const auto& [name, tensor] : tensors)
        for (int64_t i = 0; i < tensor.numel(); ++i) all.push_back(tensor.data_ptr<float>()[i]);
      return all;
    };
    WeightAverage average(parameters, decay);
    expected = numbers(parameters);
    WorkerCrew crew(2);
    for (int step = 1; step <= 50; ++step) {
      for (auto& parameter : parameters) parameter.second.add_(torch::randn_like(parameter.second), 0.1);
      average.update(step, crew);
      const double kept = std::min(decay, (1.0 + step) / (10.0 + step));
      const std::vector<double> weights = numbers(parameters);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = kept * expected[i] + (1 - kept) * weights[i];
    }
    const std::vector<double> found = numbers(average.values());
    // Fifty roundings of float32 numbers of about 1.
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << decay;
  }
}

TEST(WeightAverage, StaysAsItIsWhereTheStepDidNotHappen) {
  NamedTensors parameters = two_parameters();
  WeightAverage gated(parameters, 0.9), plain(parameters, 0.9);
  WorkerCrew crew(1);
  for (int step = 1; step <= 5; ++step) {
    for (auto& parameter : parameters) parameter.second.add_(1);
    gated.update(step, crew, torch::tensor(false));
    gated.update(step, crew, torch::tensor(true));
    plain.update(step, crew);
  }
  for (size_t p = 0; p < parameters.size(); ++p)
    EXPECT_TRUE(torch::allclose(gated.values()[p].second, plain.values()[p].second));
}

TEST(WeightAverage, TakesTheWeightsPlaceAndGivesItBackBitForBit) {
  NamedTensors parameters = two_parameters();
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
  WeightAverage average(two_parameters(), 0.9);
  const std::string message = testing::message_of<std::runtime_error>([&] {
    average.restore({{"matrix", torch::zeros({5, 7})}}, "a/file");
  });
  EXPECT_NE(message.find("a/file: no \"bias\" of the model's shape"), std::string::npos) << message;
}

}  // namespace
}  // namespace transmute
