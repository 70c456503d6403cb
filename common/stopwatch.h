// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace transmute {
inline namespace v0 {

/// Measures wall time from its construction on.
class Stopwatch {
 public:
  /// @param earlier_seconds counted as well, for example those of a run's earlier sessions
  explicit Stopwatch(double earlier_seconds = 0) : earlier_seconds_(earlier_seconds) {}

  double seconds() const {
    return earlier_seconds_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  /// Does not count the time since `pause` was made.
  void leave_out(const Stopwatch& pause) { start_ += std::chrono::steady_clock::now() - pause.start_; }

 private:
  double earlier_seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace v0
}  // namespace transmute
