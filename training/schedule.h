// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/model/options.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// How the learning rate goes. All but `noam` rise linearly to the peak in the warm-up, then:
enum class Schedule {
  noam,          ///< Eq. 3 of the paper, which knows no peak but a scale
  inverse_sqrt,  ///< fall with the square root of the step: noam with a peak of one's own
  cosine,        ///< fall along half a cosine to the floor in the last step
  linear,        ///< fall linearly to the floor in the last step
  constant,      ///< stay
};

/// Parameters of a learning-rate schedule.
struct ScheduleOptions {
  int64_t d_model = TransformerOptions().d_model;  ///< width of the network, for noam
  int64_t warmup_steps = 4000;                     ///< steps in which the learning rate rises
  double scale = 1.0;                              ///< factor before Eq. 3
  Schedule schedule = Schedule::noam;              ///< shape of the curve
  double peak = 5e-4;                              ///< for all but noam
  double floor = 0;                                ///< for cosine and linear
  int64_t last_step = 100000;                      ///< for cosine and linear
};

/// The learning rate of a step; the first step is 1. Noam: scale · d_model^-0.5 · min(step^-0.5, step ·
/// warmup_steps^-1.5), Eq. 3.
TRANSMUTE_API double learning_rate(int64_t step, const ScheduleOptions& options);

}  // namespace v0
}  // namespace transmute
