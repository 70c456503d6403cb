// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/transformer.h>
#include <transmute/training/config.h>
#include <transmute/training/data/batcher.h>
#include <transmute/training/distributed/gradient_sum.h>
#include <transmute/training/reporting/trace.h>

#include <atomic>
#include <memory>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Loss summed over tokens, in nats.
struct LossSum {
  double sum = 0;
  int64_t tokens = 0;
  double guidance = 0;    ///< the guided head's loss, without its weight
  double divergence = 0;  ///< divergence between two passes, without its weight
  void add(const LossSum& other);
};

/// A LossSum that may still be queued on the device.
struct PendingLoss {
  static constexpr int64_t kSums = 3;
  torch::Tensor sums;  ///< float64 [kSums]: the tokens' cross-entropy, guidance and divergence; undefined: zeros
  int64_t tokens = 0;
  void add(const PendingLoss& other);
  /// Waits for the device.
  LossSum read() const;
  /// Makes a LossSum of `values`, a copy of `sums` on the CPU.
  static LossSum read(const torch::Tensor& values, int64_t tokens);
};

/// Options for training a head's attention with Batch::alignment.
struct Guidance {
  double weight = 0;  ///< weight of its loss relative to that of the tokens; 0: no guidance
  int64_t layer = 0;  ///< layer of the decoder, counted from 0
  int64_t head = 0;   ///< counted from 0
};

/// Options of a Replicas.
struct ReplicaOptions {
  Precision precision = Precision::float32;     ///< float32 or bfloat16; evaluation is in float32
  Activations activations = Activations::kept;  ///< what the layers do with them in training
  ConsistencyOptions consistency = {};          ///< whether each batch goes through the network twice in training
  Guidance guidance = {};                       ///< the head that learns from Batch::alignment
};

/// One batch's share of a step's work.
struct StepInput {
  std::vector<Batch> micro_batches;  ///< in the order of cut_into_micro_batches
  int64_t step_target_tokens = 0;    ///< tokens of the whole step: the gradient is that of the loss per target token
  uint64_t dropout_key = 0;          ///< key for dropout
  bool is_last_of_step = true;
};

/// A copy of the network for each of W workers. Copies share the first one's parameters and have their own gradients.
/// Worker i mod W computes micro-batch i, so that sums are the same in every run.
///
/// With Precision::bfloat16, both passes use copies whose matrices are rounded to bfloat16, and cast nothing.
/// Activations and gradients are bfloat16 as well; sums and statistics are float32.
class Replicas {
 public:
  Replicas(Transformer transformer, torch::Device device, WorkerCrew& workers, const ReplicaOptions& options);
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Adds the batch's gradients to the workers' own. Returns the smoothed loss. `trace`, where not null, gets each
  /// worker's spans "forward" and "backward".
  PendingLoss accumulate_gradients(const StepInput& input, double label_smoothing, Trace* trace = nullptr);

  /// Number of micro-batches that have gone through accumulate_gradients(). May be called on any thread.
  int64_t micro_batches_done() const { return micro_batches_done_; }

  /// Makes the last batch of each step (see is_last_of_step) sum the gradients over all ranks too, each as soon as it
  /// is complete.
  void sum_over(ProcessGroup& group);
  /// Waits for the sums of all workers and ranks, by parameter. They may be written to.
  std::vector<torch::Tensor> sums_over_ranks() { return rank_sum_->finish(); }

  /// gradients[w][p], as Adam takes them.
  std::vector<std::vector<torch::Tensor>> gradients();
  void clear_gradients();

  /// The rounded matrices, by parameter, undefined if there is none: whoever changes parameters writes them too.
  const std::vector<torch::Tensor>& rounded_parameters() const { return rounded_; }

  /// Negative log-likelihood of a text, without dropout.
  LossSum evaluate(const ParallelText& text, int64_t micro_batch_tokens);

  Transformer& transformer() { return replicas_.front(); }

 private:
  void complete_own(size_t worker, size_t parameter);
  void complete_rest(size_t worker);
  void add_shares(size_t parameter, torch::Tensor& sum);
  TrainingLoss batch_loss(Transformer& replica, const Batch& batch, const LossOptions& options) const;
  void make_rounded_replicas();
  void set_gradients_aside(size_t worker);
  void set_aside(size_t worker, size_t parameter, torch::Tensor& gradient);

  std::atomic<int64_t> micro_batches_done_{0};
  torch::Device device_;
  WorkerCrew& workers_;
  const ReplicaOptions options_;
  std::vector<Transformer> replicas_;  // float32
  std::vector<Transformer> trained_;   // the same, or rounded
  std::vector<torch::Tensor> rounded_;
  // Float32 sums, by worker and parameter, of bfloat16 gradients where micro-batches are many.
  std::vector<std::vector<torch::Tensor>> float_gradients_;

  // Used with several ranks. Autograd's hooks report when a gradient has been accumulated.
  struct Completion {
    std::vector<torch::Tensor> parameters;
    std::vector<AutogradNode> accumulators;  // held here, because variables hold only weak references to them
    std::vector<bool> is_complete;           // by parameter, in this step
    bool awaited = false;                    // the step's last micro-batch is being computed
  };
  std::vector<Completion> completions_;  // by worker
  std::unique_ptr<GradientSum> rank_sum_;
};

}  // namespace v0
}  // namespace transmute
