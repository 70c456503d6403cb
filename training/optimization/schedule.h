// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/options.h>

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// Learning-rate schedules. All rise linearly during the warm-up: `noam` to the maximum of Eq. 3, the others to
/// ScheduleOptions::peak. They differ in what follows the warm-up.
enum class Schedule {
  noam,          ///< falls with the inverse square root of the step, Eq. 3 of the paper
  inverse_sqrt,  ///< the same from a chosen peak
  cosine,        ///< falls along half a cosine, to the floor at the last step
  linear,        ///< falls linearly, to the floor at the last step
  constant,      ///< stays at the peak
};

/// True if the learning rate falls until the last step, to the floor.
inline bool has_floor(Schedule schedule) {
  return schedule == Schedule::cosine || schedule == Schedule::linear;
}

/// Parameters of a learning-rate schedule.
struct ScheduleOptions {
  int64_t d_model = TransformerOptions().d_model;  ///< width of the network, used by noam
  int64_t warmup_steps = 4000;                     ///< number of steps over which the learning rate rises
  double scale = 1.0;                              ///< factor on Eq. 3
  Schedule schedule = Schedule::noam;              ///< shape of the curve
  double peak = 5e-4;                              ///< used by all except noam
  double floor = 0;                                ///< used by cosine and linear
  int64_t last_step = 100000;                      ///< used by cosine and linear
};

/// The learning rate of a step, counted from 1. Noam: scale · d_model^-0.5 · min(step^-0.5, step ·
/// warmup_steps^-1.5), Eq. 3.
TRANSMUTE_API double learning_rate(int64_t step, const ScheduleOptions& options);

}  // namespace v0
}  // namespace transmute
