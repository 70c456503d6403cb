// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/run_log.h>

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

namespace transmute {
inline namespace v0 {

void RunLog::open(const RunFolder& folder, const ResumePoint& point) {
  metrics_.emplace(folder.metrics(), point);
  tensorboard_.emplace(folder.tensorboard(), point.step);
}

void RunLog::info(const std::string& text) {
  if (!metrics_) return;
  progress_.clear();
  spdlog::info(text);
}

void RunLog::warn(const std::string& text) {
  if (!metrics_) return;
  progress_.clear();
  spdlog::warn(text);
}

void RunLog::record(Json record) {
  metrics_->write(record);
  tensorboard_->add(record);
}

}  // namespace v0
}  // namespace transmute
