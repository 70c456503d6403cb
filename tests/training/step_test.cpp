// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/training/step.h>

#include <limits>

namespace transmute {
namespace {

TEST(Divergence, IsFirstOfTheWeightsThenOfTheGradients) {
  ProcessGroup alone({}, torch::kCPU);
  NamedTensors parameters{{"first", torch::ones({2})}, {"second", torch::ones({2})}, {"third", torch::ones({2})}};
  EXPECT_EQ(where_not_finite(parameters, {false, false, false}, alone), "all gradients are finite");
  EXPECT_EQ(where_not_finite(parameters, {false, true, true}, alone),
            "gradients of 2 of 3 parameters are not finite, the first second");
  parameters[2].second[1] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(where_not_finite(parameters, {true, true, true}, alone), "the weights of third are not finite");
}

}  // namespace
}  // namespace transmute
