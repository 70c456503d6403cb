// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/run_log.h>
#include <transmute/training/source_signal.h>
#include <transmute/training/step.h>
#include <transmute/training/stopwatch.h>

namespace transmute {
inline namespace v0 {

/// What a step report is made of. All of it must outlive the report.
struct StepReportParts {
  const TrainingConfig& config;
  const TrainState& state;
  const Stopwatch& clock;  ///< the run's time
  Steps& steps;
  Transformer& transformer;
  RunLog& log;
};

/// Rank 0's reports about its steps: the progress line after each, a line of metrics every now and then.
class StepReport {
 public:
  explicit StepReport(const StepReportParts& parts) : parts_(parts) {}

  void show_progress();
  /// Writes the metrics of the steps since the last ones, or since restart().
  void write_metrics();
  /// Starts a new span of steps.
  void restart();
  /// Whether the decoder did not see its source at the last record.
  bool is_collapsed() const;
  /// At the end of a translator's training whose decoder does not see its source.
  void warn_if_still_collapsed();
  /// Leaves the time since `pause` was made out of the present steps' speed.
  void leave_out(const Stopwatch& pause) { watch_.leave_out(pause); }

 private:
  Json metrics(double seconds);
  void measure_source_signal();

  StepReportParts parts_;
  Stopwatch watch_;
  std::optional<SourceSignal> signal_;
  bool warned_of_collapse_ = false;
};

}  // namespace v0
}  // namespace transmute
