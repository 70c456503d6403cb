// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/heartbeat.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/progress.h>

#include <utility>

namespace transmute {
inline namespace v0 {

Heartbeat::Heartbeat(double seconds) : longest_(seconds), thread_([this] { watch(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

Heartbeat::Work::Work(Heartbeat* heartbeat, Describe describe) : heartbeat_(heartbeat) {
  if (heartbeat_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(heartbeat_->mutex_);
  outer_ = std::exchange(heartbeat_->describe_, std::move(describe));
  outer_start_ = std::exchange(heartbeat_->start_, Clock::now());
  if (!outer_) heartbeat_->last_line_ = Clock::now();
}

Heartbeat::Work::Work(Heartbeat* heartbeat, const char* name)
    : Work(heartbeat,
           [name](double seconds) { return fmt::format("{} ({} so far)", name, format_duration(seconds)); }) {}

Heartbeat::Work::~Work() {
  if (heartbeat_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(heartbeat_->mutex_);
  heartbeat_->describe_ = std::move(outer_);
  heartbeat_->start_ = outer_start_;
}

void Heartbeat::note_line() {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_line_ = Clock::now();
}

void Heartbeat::watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_) {
    ends_.wait_for(lock, longest_ / 60);
    if (ended_ || !describe_ || Clock::now() - last_line_ < longest_) continue;
    spdlog::info(describe_(std::chrono::duration<double>(Clock::now() - start_).count()));
    last_line_ = Clock::now();
  }
}

}  // namespace v0
}  // namespace transmute
