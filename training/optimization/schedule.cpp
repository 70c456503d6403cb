// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/optimization/schedule.h>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {

double learning_rate(int64_t step, const ScheduleOptions& options) {
  const auto s = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup_steps);
  if (options.schedule == Schedule::noam)
    return options.scale / std::sqrt(static_cast<double>(options.d_model)) *
           std::min(1.0 / std::sqrt(s), s * std::pow(warmup, -1.5));
  if (step < options.warmup_steps) return options.peak * s / warmup;
  const double rest = std::max(1.0, static_cast<double>(options.last_step) - warmup);
  const double done = std::min(1.0, (s - warmup) / rest);
  const double fall = options.peak - options.floor;
  switch (options.schedule) {
    case Schedule::noam:
    case Schedule::constant:
      break;
    case Schedule::inverse_sqrt:
      return options.peak * std::sqrt(warmup / s);
    case Schedule::cosine:
      return options.floor + fall * (1 + std::cos(done * std::acos(-1.0))) / 2;
    case Schedule::linear:
      return options.floor + fall * (1 - done);
  }
  return options.peak;
}

}  // namespace v0
}  // namespace transmute
