// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/adam.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/tensors.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

using testing::random_tensor;

constexpr int64_t kArraySizes[] = {0, 1, 2, 7, 15, 16, 17, 31, 33, 1000, 1023};
constexpr int64_t kGuards = 20;  // elements after the end, which must stay as they are

std::vector<float> random_floats(int64_t count, uint64_t seed, double scale = 1) {
  const torch::Tensor numbers = (random_tensor({count}, seed) * scale).to(torch::kFloat);
  return {numbers.data_ptr<float>(), numbers.data_ptr<float>() + count};
}

TEST(AddTo, AddsEachElementAndNothingBehindThem) {
  for (const int64_t size : kArraySizes) {
    std::vector<float> total = random_floats(size + kGuards, 1);
    const std::vector<float> addend = random_floats(size + kGuards, 2);
    const std::vector<float> before = total;
    active_kernels<RowKernels<float>>().add_to(total.data(), addend.data(), size);
    for (int64_t i = 0; i < size + kGuards; ++i)
      ASSERT_EQ(total[i], i < size ? before[i] + addend[i] : before[i]) << size << ' ' << i;
  }
}

TEST(SumOfSquares, AddsInDouble) {
  const auto sum_of_squares = active_kernels<AdamKernels>().sum_of_squares;
  for (const int64_t size : kArraySizes) {
    const std::vector<float> values = random_floats(size + kGuards, 1);
    long double sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += static_cast<long double>(values[i]) * values[i];
    EXPECT_NEAR(sum_of_squares(values.data(), size), static_cast<double>(sum), 1e-12) << size;
  }
  // Too large for float32, and a small number that float32 would lose beside a large one.
  const std::vector<float> extreme = {1e30f, 1e30f};
  EXPECT_NEAR(sum_of_squares(extreme.data(), 2) / 2e60, 1, 1e-6);
  const std::vector<float> uneven = {4096, 1.0f / 4096};
  EXPECT_EQ(sum_of_squares(uneven.data(), 2), 16777216.0 + 1.0 / 16777216);
}

AdamStep step_of_the_paper() {
  AdamStep step;
  step.beta1 = 0.9;
  step.beta2 = 0.98;
  step.epsilon = 1e-9;
  return step;
}

TEST(AdamUpdate, FollowsAlgorithmOneForEverySize) {
  std::vector<int64_t> sizes(std::begin(kArraySizes), std::end(kArraySizes));
  sizes.insert(sizes.end(), {2047, 2048, 5001});
  for (const Simd level : available_simd())
    for (const int64_t size : sizes) {
      const SimdLimit limit(level);
      const std::string where = "size " + std::to_string(size) + ", Simd " + std::to_string(static_cast<int>(level));
      std::vector<float> parameter = random_floats(size + kGuards, 1);
      std::vector<float> mean(size + kGuards), variance(size + kGuards), average = parameter;
      std::vector<uint16_t> rounded(size + kGuards);
      const std::vector<float> start = parameter;
      std::vector<double> exact(parameter.begin(), parameter.end()), exact_average = exact;
      std::vector<double> exact_mean(size), exact_variance(size);
      for (int64_t t = 1; t <= 20; ++t) {
        // Gradients down to epsilon's size: there its place in the formula shows.
        const double magnitude = t % 3 == 0 ? 1e-9 : t % 3 == 1 ? 1e-3 : 1;
        const std::vector<float> gradient = random_floats(size + kGuards, 100 + t, magnitude);
        AdamStep step = step_of_the_paper();
        step.learning_rate = 0.01 * static_cast<double>(t);
        step.step = t;
        step.gradient_scale = t % 2 == 0 ? 0.25 : 1;
        const double weight_decay = t % 5 == 0 ? 0.1 : 0;
        step.decay = step.learning_rate * weight_decay;
        step.average_share = 0.7 / static_cast<double>(t);
        active_kernels<AdamKernels>().update(
            {parameter.data(), mean.data(), variance.data(), gradient.data(), average.data(), rounded.data()}, size,
            step);
        for (int64_t i = 0; i < size; ++i) {
          const double g = gradient[i] * step.gradient_scale;
          exact_mean[i] = 0.9 * exact_mean[i] + 0.1 * g;
          exact_variance[i] = 0.98 * exact_variance[i] + 0.02 * g * g;
          const double corrected_mean = exact_mean[i] / (1 - std::pow(0.9, t));
          const double corrected_variance = exact_variance[i] / (1 - std::pow(0.98, t));
          exact[i] -=
              step.learning_rate * (weight_decay * exact[i] + corrected_mean / (std::sqrt(corrected_variance) + 1e-9));
          exact_average[i] += step.average_share * (exact[i] - exact_average[i]);
        }
      }
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_NEAR(parameter[i], exact[i], 5e-6) << where << ", element " << i;
        ASSERT_NEAR(average[i], exact_average[i], 5e-6) << where << ", element " << i;
        ASSERT_EQ(rounded[i], c10::BFloat16(parameter[i]).x) << where << ", element " << i;
      }
      for (int64_t i = size; i < size + kGuards; ++i) {
        ASSERT_EQ(parameter[i], start[i]) << where << ", element " << i;
        ASSERT_EQ(average[i], start[i]) << where << ", element " << i;
        ASSERT_EQ(rounded[i], 0) << where << ", element " << i;
      }
    }
}

TEST(AdamUpdate, IsTheSameWithAndWithoutWhatIsKeptBeside) {
  const int64_t size = 5001;
  const std::vector<float> start = random_floats(size, 1), gradient = random_floats(size, 2);
  AdamStep step = step_of_the_paper();
  step.learning_rate = 0.01;
  step.average_share = 0.3;
  const auto updated = [&](bool averages, bool rounds) {
    std::vector<float> parameter = start, mean(size), variance(size), average = start;
    std::vector<uint16_t> rounded(size);
    active_kernels<AdamKernels>().update({parameter.data(), mean.data(), variance.data(), gradient.data(),
                                          averages ? average.data() : nullptr, rounds ? rounded.data() : nullptr},
                                         size, step);
    EXPECT_EQ(average != start, averages);
    EXPECT_EQ(std::any_of(rounded.begin(), rounded.end(), [](uint16_t value) { return value != 0; }), rounds);
    return parameter;
  };
  const std::vector<float> alone = updated(false, false);
  EXPECT_EQ(updated(true, false), alone);
  EXPECT_EQ(updated(false, true), alone);
  EXPECT_EQ(updated(true, true), alone);
}

TEST(AdamUpdate, AddsEpsilonAfterTheBiasCorrection) {
  // One step from zero moments with gradient g: the corrected moments are g and g², the step is
  // rate · g / (g + epsilon), 2/3 of the rate where epsilon is half of g.
  float parameter = 0, mean = 0, variance = 0;
  const float gradient = 2e-9f;
  AdamStep step = step_of_the_paper();
  step.learning_rate = 0.3;
  active_kernels<AdamKernels>().update({&parameter, &mean, &variance, &gradient}, 1, step);
  EXPECT_NEAR(parameter, -0.2, 1e-6);
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
