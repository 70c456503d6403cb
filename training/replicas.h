#pragma once

#include <transmute/common/threads.h>
#include <transmute/model/transformer.h>
#include <transmute/training/batcher.h>
#include <transmute/training/config.h>

#include <vector>

namespace transmute {

/// Loss summed over tokens, in nats.
struct LossSum {
  double sum = 0;
  int64_t tokens = 0;
};

/// One batch's share of a step's work.
struct StepInput {
  std::vector<std::vector<size_t>> pieces;  ///< sentence pairs, as cut_into_pieces deals them out
  int64_t step_target_tokens = 0;           ///< of the whole step: the gradient is of the loss per target token
  uint64_t dropout_key = 0;                 ///< of this batch
  Precision precision = Precision::float32;
};

/// The network once per worker: all share the first one's parameters, each has gradients of its own. Piece i is
/// worker i mod W's, so that sums come out the same in every run.
class Replicas {
 public:
  Replicas(Transformer transformer, torch::Device device, WorkerCrew& workers);

  /// Adds the batch's gradients to the workers' own. Returns the smoothed loss.
  LossSum accumulate_gradients(const ParallelText& text, const StepInput& input, double label_smoothing);

  /// gradients[w][p], as Adam takes them.
  std::vector<std::vector<torch::Tensor>> gradients() const;
  void clear_gradients();

  /// Negative log-likelihood of a text, without dropout.
  LossSum evaluate(const ParallelText& text, int64_t piece_tokens);

  Transformer& transformer() { return replicas_.front(); }

 private:
  torch::Tensor batch_loss(Transformer& replica, const Batch& batch, double label_smoothing, Precision precision) const;

  torch::Device device_;
  WorkerCrew& workers_;
  std::vector<Transformer> replicas_;
};

}  // namespace transmute
