// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace transmute {
inline namespace v0 {

/// Logs from a thread of its own what a training is doing, whenever nothing has been logged for a while.
class Heartbeat {
 public:
  /// Describes the current work and how many seconds it has taken. Called on the thread of the heartbeat.
  using Describe = std::function<std::string(double seconds)>;

  /// @param seconds longest time without a line
  explicit Heartbeat(double seconds = 60);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  /// While it lives, the heartbeat describes this work. Nothing is logged while no Work exists.
  class Work {
   public:
    /// @param heartbeat null: nothing is logged
    Work(Heartbeat* heartbeat, Describe describe);
    /// Work that is described by its name alone, such as "validating".
    Work(Heartbeat* heartbeat, const char* name);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    using Clock = std::chrono::steady_clock;
    Heartbeat* heartbeat_;
    Describe outer_;
    Clock::time_point outer_start_;
  };

  /// Reports that a line has been logged, or drawn on a terminal.
  void note_line();

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::chrono::duration<double> longest_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;
  Describe describe_;  // empty: no work is in progress
  Clock::time_point start_ = Clock::now(), last_line_ = Clock::now();
  std::thread thread_;
};

}  // namespace v0
}  // namespace transmute
