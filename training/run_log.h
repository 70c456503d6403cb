// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/common/progress.h>
#include <transmute/training/heartbeat.h>
#include <transmute/training/reporting/metrics_log.h>
#include <transmute/training/reporting/tensorboard.h>
#include <transmute/training/run_folder.h>

#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Writes events to the log, the progress line, `metrics.jsonl` and TensorBoard's files. Only rank 0 writes.
class RunLog {
 public:
  /// Makes a log that writes nothing.
  RunLog() = default;
  /// @param heartbeat is notified of every line
  void open(const RunFolder& folder, const ResumePoint& point, Heartbeat& heartbeat);

  void info(const std::string& text);
  void warn(const std::string& text);
  /// Writes a record of metrics.
  void record(Json record);
  std::vector<Json> records() const { return metrics_->records(); }

  /// True if a progress line is drawn. It replaces the log's lines about single steps.
  bool shows_progress() const { return metrics_ && progress_.visible(); }
  void show_progress(double done, const std::string& text);

 private:
  void begin_line();

  Heartbeat* heartbeat_ = nullptr;
  ProgressLine progress_;
  std::optional<MetricsLog> metrics_;
  std::optional<TensorBoardLog> tensorboard_;
};

}  // namespace v0
}  // namespace transmute
