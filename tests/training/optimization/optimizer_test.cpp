// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/tensors.h>
#include <transmute/training/optimization/ema.h>
#include <transmute/training/optimization/optimizer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_tensor;

// Two parameters, the second larger than one chunk.
NamedTensors small_and_large() {
  return {{"small", random_tensor({3, 5}, 1).to(torch::kFloat)},
          {"large", random_tensor({70000}, 2).to(torch::kFloat)}};
}

std::vector<torch::Tensor> gradients_of(uint64_t seed, double scale = 1) {
  return {(random_tensor({3, 5}, seed) * scale).to(torch::kFloat),
          (random_tensor({70000}, seed + 1) * scale).to(torch::kFloat)};
}

TEST(Adam, ReturnsTheNormOfTheSummedGradientBeforeClipping) {
  WorkerCrew workers(1);
  for (const double clip_norm : {0.0, 1.0}) {
    AdamOptions options;
    options.clip_norm = clip_norm;
    Adam adam(small_and_large(), options);
    const auto first = gradients_of(10);
    const auto second = gradients_of(20);
    double squares = 0;
    for (size_t p = 0; p < 2; ++p)
      squares += (first[p].to(torch::kDouble) + second[p].to(torch::kDouble)).square().sum().item<double>();
    const double norm = adam.update({gradients_of(10), gradients_of(20)}, 0.1, workers);
    EXPECT_NEAR(norm / std::sqrt(squares), 1, 1e-6);
    EXPECT_EQ(adam.steps(), 1);
  }
}

TEST(Adam, LeavesEverythingAsItWasWhereTheNormIsNotFinite) {
  WorkerCrew workers(1);
  const NamedTensors parameters = small_and_large();
  Adam adam(parameters, {});
  adam.update({gradients_of(10)}, 0.1, workers);
  std::vector<torch::Tensor> before;
  for (const auto& [name, tensor] : parameters) before.push_back(tensor.clone());
  for (const auto& [name, tensor] : adam.state()) before.push_back(tensor.clone());

  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto gradients = gradients_of(20);
    gradients[1][69999] = bad;
    EXPECT_FALSE(std::isfinite(adam.update({gradients}, 0.1, workers)));
  }
  EXPECT_EQ(adam.steps(), 1);
  size_t i = 0;
  for (const auto& [name, tensor] : parameters) EXPECT_TRUE(torch::equal(tensor, before[i++])) << name;
  for (const auto& [name, tensor] : adam.state()) EXPECT_TRUE(torch::equal(tensor, before[i++])) << name;
}

TEST(Adam, GivesTheSameBitsWithAnyNumberOfThreads) {
  const auto trained = [](int threads) {
    WorkerCrew workers(threads);
    AdamOptions options;
    options.clip_norm = 1;
    const NamedTensors parameters = small_and_large();
    Adam adam(parameters, options);
    for (uint64_t step = 0; step < 5; ++step)
      adam.update({gradients_of(10 + step), gradients_of(40 + step), gradients_of(70 + step)}, 0.1, workers);
    return parameters;
  };
  const NamedTensors one = trained(1);
  const NamedTensors three = trained(3);
  for (size_t p = 0; p < one.size(); ++p) EXPECT_TRUE(torch::equal(one[p].second, three[p].second));
}

TEST(Adam, DoesInLibTorchsOperationsWhatFusedAdamDoes) {
  WorkerCrew workers(1);
  for (const double clip_norm : {0.0, 0.5}) {
    AdamOptions options;
    options.clip_norm = clip_norm;
    options.weight_decay = 0.1;
    const NamedTensors fused_parameters = small_and_large(), parameters = small_and_large();
    Adam fused(fused_parameters, options);
    Adam in_operations(parameters, options);
    for (uint64_t step = 0; step < 5; ++step) {
      auto gradients = gradients_of(10 + step);
      auto same = gradients_of(10 + step);
      if (step == 1) gradients[0] = same[0] = torch::Tensor();
      if (step == 3) gradients[1][7] = same[1][7] = std::numeric_limits<float>::infinity();
      const double expected = fused.update({gradients}, 0.1, workers);
      const double found =
          in_operations.start_update(same, 0.1, torch::zeros({})).norms.to(torch::kDouble).norm().item<double>();
      if (std::isfinite(expected)) {
        EXPECT_NEAR(found / expected, 1, 1e-5);
      } else {
        EXPECT_FALSE(std::isfinite(found));
      }
      EXPECT_EQ(in_operations.steps(), fused.steps());
    }
    for (size_t p = 0; p < parameters.size(); ++p)
      EXPECT_TRUE(torch::allclose(parameters[p].second, fused_parameters[p].second, 1e-4, 1e-5)) << parameters[p].first;
  }
}

TEST(Adam, StartsAnUpdateThatDoesNotHappenWhereTheLossIsNotFinite) {
  AdamOptions options;
  options.weight_decay = 0.1;
  options.clip_norm = 0.5;
  const NamedTensors parameters = small_and_large(), untouched = small_and_large();
  Adam adam(parameters, options);
  const torch::Tensor good = torch::tensor(3.0F), bad = torch::tensor(std::numeric_limits<float>::quiet_NaN());
  // Also as the very first one, before there is anything to correct moments by.
  EXPECT_FALSE(adam.start_update(gradients_of(10), 0.1, bad).happens.item<bool>());
  auto unsound = gradients_of(10);
  unsound[0][1][2] = std::numeric_limits<float>::infinity();
  const Adam::Started started = adam.start_update(unsound, 0.1, good);
  EXPECT_FALSE(started.happens.item<bool>());
  EXPECT_FALSE(std::isfinite(started.norms[0].item<float>()));
  EXPECT_NEAR(started.norms[1].item<float>() / gradients_of(10)[1].norm().item<float>(), 1, 1e-5);
  EXPECT_EQ(adam.steps(), 0);
  for (size_t p = 0; p < 2; ++p) EXPECT_TRUE(torch::equal(parameters[p].second, untouched[p].second));
  for (const auto& [name, moment] : adam.state()) EXPECT_TRUE(torch::equal(moment, torch::zeros_like(moment))) << name;

  // Then it is as if they had never been.
  Adam fresh(untouched, options);
  for (uint64_t step = 0; step < 3; ++step) {
    EXPECT_TRUE(adam.start_update(gradients_of(20 + step), 0.1, good).happens.item<bool>());
    adam.start_update(gradients_of(50), 0.1, bad);
    fresh.start_update(gradients_of(20 + step), 0.1, good);
  }
  EXPECT_EQ(adam.steps(), 3);
  for (size_t p = 0; p < 2; ++p) EXPECT_TRUE(torch::equal(parameters[p].second, untouched[p].second));
}

// FusedAdam and LibTorch's operations, beside the definition in double.
TEST(Adam, KeepsTheAverageOfTheWeightsAfterEachUpdate) {
  WorkerCrew workers(2);
  for (const bool fused : {true, false})
    for (const double decay : {0.5, 0.999}) {
      AdamOptions options;
      options.weight_decay = 0.1;
      const NamedTensors parameters = small_and_large();
      Adam adam(parameters, options);
      WeightAverage average(parameters, decay);
      adam.keep_average(average);
      const auto update = [&](const std::vector<torch::Tensor>& gradients) {
        if (fused)
          adam.update({gradients}, 0.1, workers);
        else
          adam.start_update(gradients, 0.1, torch::zeros({}));
      };
      std::vector<torch::Tensor> expected;
      for (const auto& [name, tensor] : parameters) expected.push_back(tensor.to(torch::kDouble));
      for (int step = 1; step <= 30; ++step) {
        // An update that does not happen leaves the average, too.
        auto unsound = gradients_of(100);
        unsound[0][1][2] = std::numeric_limits<float>::quiet_NaN();
        update(unsound);
        update(gradients_of(200 + static_cast<uint64_t>(step)));
        const double kept = std::min(decay, (1.0 + step) / (10.0 + step));
        for (size_t p = 0; p < parameters.size(); ++p)
          expected[p] = kept * expected[p] + (1 - kept) * parameters[p].second.to(torch::kDouble);
      }
      // Thirty roundings of float32 numbers of a few ones.
      for (size_t p = 0; p < parameters.size(); ++p)
        testing::expect_near(average.values()[p].second.reshape({1, -1}), expected[p].reshape({1, -1}), 1e-5);
    }
}

TEST(Adam, RefusesTheAverageOfOtherParameters) {
  Adam adam(small_and_large(), {});
  WeightAverage renamed({{"small", torch::zeros({3, 5})}, {"other", torch::zeros({70000})}}, 0.9);
  WeightAverage reshaped({{"small", torch::zeros({5, 3})}, {"large", torch::zeros({70000})}}, 0.9);
  WeightAverage incomplete({{"small", torch::zeros({3, 5})}}, 0.9);
  for (WeightAverage* average : {&renamed, &reshaped, &incomplete})
    EXPECT_THROW(adam.keep_average(*average), c10::ValueError);
}

TEST(Adam, TakesGradientsThatAreMissingAsZero) {
  WorkerCrew workers(1);
  const auto trained = [&](bool missing) {
    const NamedTensors parameters = small_and_large();
    Adam adam(parameters, {});
    for (uint64_t step = 0; step < 3; ++step) {
      std::vector<std::vector<torch::Tensor>> gradients = {gradients_of(10 + step), gradients_of(40 + step)};
      // Parameter 0 has none from worker 0 in step 1 and from no worker in step 2; the large one from worker 0
      // alone.
      const auto drop = [&](size_t worker, size_t p) {
        gradients[worker][p] = missing ? torch::Tensor() : torch::zeros_like(gradients[worker][p]);
      };
      if (step >= 1) drop(0, 0);
      if (step >= 2) drop(1, 0);
      drop(1, 1);
      adam.update(gradients, 0.1, workers);
    }
    return parameters;
  };
  const NamedTensors zeros = trained(false);
  const NamedTensors missing = trained(true);
  for (size_t p = 0; p < 2; ++p) EXPECT_TRUE(torch::equal(missing[p].second, zeros[p].second)) << p;
}

TEST(Adam, ContinuesBitForBitFromItsState) {
  WorkerCrew workers(1);
  const NamedTensors parameters = small_and_large();
  Adam adam(parameters, {});
  for (uint64_t step = 0; step < 3; ++step) adam.update({gradients_of(10 + step)}, 0.1, workers);

  NamedTensors copies;
  for (const auto& [name, tensor] : parameters) copies.emplace_back(name, tensor.clone());
  NamedTensors state;
  for (const auto& [name, tensor] : adam.state()) state.emplace_back(name, tensor.clone());
  const std::vector<std::string> expected_names = {"small.mean", "small.variance", "large.mean", "large.variance"};
  ASSERT_EQ(state.size(), expected_names.size());
  for (size_t i = 0; i < state.size(); ++i) EXPECT_EQ(state[i].first, expected_names[i]);

  Adam resumed(copies, {});
  resumed.restore(state, 3, "checkpoint");
  EXPECT_EQ(resumed.steps(), 3);
  for (uint64_t step = 3; step < 6; ++step) {
    adam.update({gradients_of(10 + step)}, 0.1, workers);
    resumed.update({gradients_of(10 + step)}, 0.1, workers);
  }
  for (size_t p = 0; p < 2; ++p) EXPECT_TRUE(torch::equal(copies[p].second, parameters[p].second)) << p;
}

TEST(Adam, TakesBfloat16SharesAsTheNumbersThatTheyHold) {
  WorkerCrew workers(2);
  const auto rounded = [](uint64_t seed, torch::Dtype type) {
    std::vector<torch::Tensor> gradients;
    for (const auto& gradient : gradients_of(seed)) gradients.push_back(gradient.to(torch::kBFloat16).to(type));
    return gradients;
  };
  const auto trained = [&](torch::Dtype first, torch::Dtype second) {
    const NamedTensors parameters = small_and_large();
    Adam adam(parameters, {});
    for (uint64_t step = 0; step < 3; ++step)
      adam.update({rounded(10 + step, first), rounded(40 + step, second)}, 0.1, workers);
    return parameters;
  };
  const NamedTensors expected = trained(torch::kFloat, torch::kFloat);
  for (const auto first : {torch::kFloat, torch::kBFloat16})
    for (const auto second : {torch::kFloat, torch::kBFloat16}) {
      const NamedTensors actual = trained(first, second);
      for (size_t p = 0; p < 2; ++p) EXPECT_TRUE(torch::equal(actual[p].second, expected[p].second)) << p;
    }
}

TEST(Adam, RefusesTheStateOfAnotherModelByName) {
  const NamedTensors parameters = small_and_large();
  Adam adam(parameters, {});
  NamedTensors wrong_shape = adam.state();
  wrong_shape[3].second = torch::zeros({4});
  NamedTensors incomplete = adam.state();
  incomplete.pop_back();
  for (const auto& state : {wrong_shape, incomplete})
    EXPECT_THAT(message_of<std::runtime_error>([&] { adam.restore(state, 1, "run/checkpoint"); }),
                AllOf(HasSubstr("run/checkpoint"), HasSubstr("large.variance")));
  EXPECT_THROW(Adam({{"half", torch::zeros({3}, torch::kHalf)}}, {}), c10::ValueError);
  EXPECT_THROW(Adam({{"transposed", torch::zeros({3, 4}).t()}}, {}), c10::ValueError);
}

}  // namespace
}  // namespace transmute
