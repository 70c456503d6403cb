// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/training/optimization/schedule.h>

#include <cmath>

namespace transmute {
namespace {

TEST(LearningRate, FollowsEquationThree) {
  const ScheduleOptions base;
  for (const int64_t step : {1, 2, 100, 3999, 4000, 4001, 100000}) {
    const double s = static_cast<double>(step);
    const double expected =
        step <= 4000 ? s / (std::sqrt(512.0) * 4000 * std::sqrt(4000.0)) : 1 / (std::sqrt(512.0) * std::sqrt(s));
    EXPECT_NEAR(learning_rate(step, base) / expected, 1, 1e-14) << step;
  }
  EXPECT_NEAR(learning_rate(4000, base), 6.98771e-4, 1e-9);  // 1 / sqrt(512 · 4000)
  ScheduleOptions scaled, wider;
  scaled.scale = 2.5;
  wider.d_model = 2048;
  EXPECT_DOUBLE_EQ(learning_rate(50, scaled), 2.5 * learning_rate(50, base));
  EXPECT_DOUBLE_EQ(learning_rate(50, wider), 0.5 * learning_rate(50, base));
}

TEST(LearningRate, PeaksAtTheEndOfTheWarmUp) {
  for (const int64_t warmup : {1, 7, 4000}) {
    ScheduleOptions options;
    options.warmup_steps = warmup;
    for (int64_t step = 1; step < 2 * warmup + 10; ++step) {
      if (step < warmup) {
        EXPECT_LT(learning_rate(step, options), learning_rate(step + 1, options)) << step;
      } else {
        EXPECT_GT(learning_rate(step, options), learning_rate(step + 1, options)) << step;
      }
    }
  }
}

TEST(LearningRate, OtherSchedulesRiseToThePeakAndFallInTheirWay) {
  ScheduleOptions options;
  options.warmup_steps = 100;
  options.peak = 0.02;
  options.floor = 0.001;
  options.last_step = 1100;
  const auto at = [&](Schedule schedule, int64_t step) {
    options.schedule = schedule;
    return learning_rate(step, options);
  };
  for (const Schedule schedule : {Schedule::inverse_sqrt, Schedule::cosine, Schedule::linear, Schedule::constant}) {
    EXPECT_DOUBLE_EQ(at(schedule, 1), 0.0002);
    EXPECT_DOUBLE_EQ(at(schedule, 50), 0.01);
    EXPECT_DOUBLE_EQ(at(schedule, 100), 0.02);
  }
  EXPECT_DOUBLE_EQ(at(Schedule::inverse_sqrt, 400), 0.01);
  EXPECT_DOUBLE_EQ(at(Schedule::cosine, 600), 0.0105);  // halfway
  EXPECT_NEAR(at(Schedule::cosine, 350), 0.001 + 0.019 * (1 + std::sqrt(0.5)) / 2, 1e-15);
  EXPECT_DOUBLE_EQ(at(Schedule::linear, 350), 0.001 + 0.019 * 0.75);
  for (const Schedule schedule : {Schedule::cosine, Schedule::linear})
    for (const int64_t step : {1100, 5000}) EXPECT_DOUBLE_EQ(at(schedule, step), 0.001);
  EXPECT_DOUBLE_EQ(at(Schedule::constant, 5000), 0.02);
}

}  // namespace
}  // namespace transmute
