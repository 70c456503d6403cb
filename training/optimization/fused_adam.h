// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/training/optimization/adam_moments.h>
#include <transmute/training/optimization/adam_options.h>
#include <transmute/training/optimization/ema.h>

#include <vector>

namespace transmute {
inline namespace v0 {

/// Adam on the CPU in two passes over chunks of the parameters, by all workers: one sums the workers' gradients and
/// takes their norm, one updates parameters, moments and what is kept beside them.
class FusedAdam {
 public:
  explicit FusedAdam(AdamMoments& moments);

  /// One update, the one after `steps` others. See Adam::update for the gradients and what is returned.
  struct Update {
    const AdamOptions& options;
    double learning_rate;
    int64_t steps;
    const std::vector<torch::Tensor>& rounded;  ///< see Adam::keep_rounded
    WeightAverage* average;                     ///< null: none
  };
  double update(const std::vector<std::vector<torch::Tensor>>& gradients, const Update& update, WorkerCrew& workers);

 private:
  struct Chunk {
    size_t parameter;
    int64_t begin, end;
  };
  std::vector<torch::Tensor> memory_for_sums(const std::vector<std::vector<torch::Tensor>>& gradients);
  void add_shares(const std::vector<std::vector<torch::Tensor>>& gradients, const torch::Tensor& sum,
                  const Chunk& chunk) const;
  void update_parameters(const std::vector<torch::Tensor>& gradient, double norm, const Update& update,
                         WorkerCrew& workers);

  AdamMoments& moments_;
  std::vector<Chunk> chunks_;
  std::vector<torch::Tensor> sums_;  // float32, of bfloat16 gradients
};

}  // namespace v0
}  // namespace transmute
