// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/run_log.h>

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

void RunLog::open(const RunFolder& folder, const ResumePoint& point, Heartbeat& heartbeat) {
  heartbeat_ = &heartbeat;
  metrics_.emplace(folder.metrics(), point);
  tensorboard_.emplace(folder.tensorboard(), point.step);
}

void RunLog::begin_line() {
  progress_.clear();
  heartbeat_->note_line();
}

void RunLog::show_progress(double done, const std::string& text) {
  heartbeat_->note_line();
  progress_.show(done, text);
}

void RunLog::info(const std::string& text) {
  if (!metrics_) return;
  begin_line();
  spdlog::info(text);
}

void RunLog::warn(const std::string& text) {
  if (!metrics_) return;
  begin_line();
  spdlog::warn(text);
}

void RunLog::record(Json record) {
  metrics_->write(record);
  tensorboard_->add(record);
}

}  // namespace v0
}  // namespace transmute
