// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Event.h>
#include <torch/types.h>
#include <transmute/common/stopwatch.h>
#include <transmute/model/module_weights.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/data/batch_stream.h>
#include <transmute/training/distributed/process_group.h>
#include <transmute/training/replicas.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A tensor that is copied to the host in the background. get() waits for this tensor only, not for work that the
/// device was given after it.
class HostCopy {
 public:
  explicit HostCopy(const torch::Tensor& tensor);
  /// Waits for the copy.
  const torch::Tensor& get();

 private:
  torch::Tensor values_;
  std::optional<c10::Event> arrival_;
};

/// The objects that Steps works with. All of them must outlive it.
struct StepParts {
  const TrainingConfig& config;
  ProcessGroup& group;
  WorkerCrew& workers;
  Replicas& replicas;
  Adam& optimizer;
  BatchStream& batches;
  const Stopwatch& clock;  ///< the run's time
};

struct StepOptions {
  /// True if a step begins before the last one's loss is known. For one process with one worker.
  bool overlap = false;
  std::function<int()> stop_signal;                ///< asked once in each step; 0: continue
  std::function<void(const std::string&)> report;  ///< gets a message about each step that is skipped; rank 0's
};

/// Takes one training step after another: reads batches, sums their gradients over workers and ranks, and updates the
/// weights. A step whose loss or gradient is not finite is skipped: the cursor in the text moves, nothing else. With
/// overlapping steps, the next step has started by then: it keeps the learning rate and the dropout of the step after
/// the skipped one.
class Steps {
 public:
  /// Sums since the last line of metrics.
  struct Totals {
    LossSum loss;
    int64_t source_tokens = 0;
  };

  /// @param state is updated by each step; it must outlive this object
  Steps(const StepParts& parts, TrainState& state, StepOptions options);

  /// Takes a step. With overlapping steps it completes the previous one, and completes the new one only if something is
  /// due after it.
  /// @param trace where not null, gets spans of the step's phases
  /// @returns whether state.step is now the step that was started; false if it was skipped or is pending.
  /// @throws std::runtime_error if more steps in a row were skipped than training.max_skipped_steps.
  bool take(Trace* trace);
  /// Completes the pending step, if there is one.
  void finish();

  /// The learning rate of a step. If training.max_minutes will end the training before training.max_steps, a schedule
  /// with a floor reaches it at that time, estimated from the speed so far.
  double learning_rate(int64_t step) const;
  int64_t batches_per_step() const { return parts_.config.training.accumulate_batches * parts_.group.size(); }

  /// The norm of the last step that ended.
  double gradient_norm() const { return gradient_norm_; }
  const Totals& totals() const { return totals_; }
  void clear_totals() { totals_ = {}; }
  /// The approximate share of the present step that this process has computed: micro-batches that are being computed
  /// count half. May be called on any thread.
  double share_of_step() const;
  /// Share of the present epoch that is done.
  double epoch_done() const { return epoch_done_; }
  /// Rank 0's clock after the last step, on all ranks.
  double agreed_seconds() const { return agreed_seconds_; }
  /// The signal that reached any rank; 0: none.
  int stopped_by() const { return stopped_by_; }
  /// A few pairs of the last step's text; nothing for a language model and on other ranks than the first.
  const std::optional<Batch>& sample() const { return sample_; }

 private:
  // A step whose loss may not be known yet.
  struct PendingStep {
    int64_t number = 0;
    int64_t epoch = 0, batch = 0;  // where its text ends
    int64_t source_tokens = 0;
    LossSum loss;
    double gradient_norm = 0;
    std::vector<bool> unsound;        // by parameter: whether its gradients are not finite; set where the norm is not
    std::optional<HostCopy> outcome;  // where set, holds what loss, gradient_norm and unsound will be made of
  };

  PendingStep begin(Trace* trace);
  PreparedBatch next_batch(Trace* trace);
  PendingLoss accumulate_gradients(std::vector<PreparedBatch> batches, int64_t step, Trace* trace);
  void update(PendingStep& step, const PendingLoss& own, Trace* trace);
  void start_update(PendingStep& step, const PendingLoss& loss, Trace* trace);
  LossSum exchange(const LossSum& own);
  int64_t last_step(int64_t step) const;
  bool must_be_awaited(int64_t step) const;
  bool await_pending();
  void skip(const PendingStep& step);

  const StepParts parts_;
  TrainState& state_;
  StepOptions options_;

  std::optional<PendingStep> pending_;
  Totals totals_;
  double gradient_norm_ = 0;
  double epoch_done_ = 0;
  std::atomic<int64_t> micro_batches_before_{0}, micro_batches_of_step_{1};  // of this process
  double agreed_seconds_;
  int stopped_by_ = 0;
  int64_t skipped_ = 0;  // in a row
  std::optional<Batch> sample_;
};

/// Says which numbers of a step are not finite: weights, gradients of this rank, or gradients of other ranks. Every
/// rank calls it after a step that diverged.
/// @param unsound by parameter: whether this rank's gradients are not finite
std::string where_not_finite(const NamedTensors& parameters, const std::vector<bool>& unsound, ProcessGroup& group);

}  // namespace v0
}  // namespace transmute
