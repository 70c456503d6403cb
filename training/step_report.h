// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/stopwatch.h>
#include <transmute/training/run_log.h>
#include <transmute/training/source_signal.h>
#include <transmute/training/step.h>

#include <atomic>
#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// The parts that a step report is made of. All of them must outlive the report.
struct StepReportParts {
  const TrainingConfig& config;
  const TrainState& state;
  const Stopwatch& clock;  ///< the run's time
  Steps& steps;
  Transformer& transformer;
  RunLog& log;
};

/// Rank 0's reports about its steps: the progress line after each, a line of metrics every now and then, and when the
/// training will end.
class StepReport {
 public:
  explicit StepReport(const StepReportParts& parts)
      : parts_(parts),
        first_step_(parts.state.step + 1),
        step_(first_step_),
        last_step_(first_estimate(parts.config)) {}

  /// Shows the progress line, and logs once, after the first steps, how long a step takes and when the training ends.
  void after_step();
  /// The training's place within a step, for the log of a training with slow steps. May be called on any thread.
  std::string describe_step() const;
  /// Writes the metrics of the steps since the last ones, or since restart().
  void write_metrics();
  /// Starts a new span of steps.
  void restart();
  /// True if the decoder did not see its source at the last record.
  bool is_collapsed() const;
  /// Logs a warning at the end of a translator's training if the decoder does not see its source.
  void warn_if_still_collapsed();
  /// Excludes the time since `pause` was made from the speed of the present steps.
  void leave_out(const Stopwatch& pause) { watch_.leave_out(pause); }

 private:
  static int64_t first_estimate(const TrainingConfig& config);
  int64_t estimated_last_step() const;
  Json metrics(double seconds);
  double seconds_left(double seconds_per_step) const;
  std::string plan(double seconds_per_step, double left) const;
  void show_progress();
  void measure_source_signal();

  StepReportParts parts_;
  Stopwatch watch_;
  const Stopwatch session_;   // since this start of the training
  const int64_t first_step_;  // that this start has made
  bool has_told_plan_ = false;
  std::atomic<int64_t> step_;       // that is under way
  std::atomic<int64_t> last_step_;  // of the training; estimated where training.max_epochs ends it, at first 0
  std::atomic<double> seconds_left_{0};
  std::optional<SourceSignal> signal_;
  bool warned_of_collapse_ = false;
};

}  // namespace v0
}  // namespace transmute
