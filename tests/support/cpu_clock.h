// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/sanitizers.h>

#include <time.h>

#include <chrono>

namespace transmute::testing {

/// The CPU time of the calling thread, which other work on the machine does not change, as a clock of std::chrono's.
/// With a sanitizer a fifth of it: about what the thread would take without.
struct CpuClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CpuClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    timespec spent{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    constexpr int kSlowdown = kHasSanitizer ? 5 : 1;
    return time_point((std::chrono::seconds(spent.tv_sec) + std::chrono::nanoseconds(spent.tv_nsec)) / kSlowdown);
  }
};

/// The seconds of such time that `act` takes.
template <class Act>
double cpu_seconds_of(const Act& act) {
  const auto start = CpuClock::now();
  act();
  return std::chrono::duration<double>(CpuClock::now() - start).count();
}

}  // namespace transmute::testing
