#include <transmute/training/schedule.h>

#include <algorithm>
#include <cmath>

namespace transmute {
inline namespace v0 {

double learning_rate(int64_t step, const ScheduleOptions& options) {
  const auto s = static_cast<double>(step);
  const auto warmup = static_cast<double>(options.warmup_steps);
  return options.scale / std::sqrt(static_cast<double>(options.d_model)) *
         std::min(1.0 / std::sqrt(s), s * std::pow(warmup, -1.5));
}

}  // namespace v0
}  // namespace transmute
