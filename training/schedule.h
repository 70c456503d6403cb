#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {

struct ScheduleOptions {
  int64_t d_model = 512;
  int64_t warmup_steps = 4000;
  double scale = 1.0;  ///< factor before Eq. 3
};

/// scale · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5), Eq. 3. The first step is 1.
double learning_rate(int64_t step, const ScheduleOptions& options);

}  // namespace v0
}  // namespace transmute
