// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/threads.h>
#include <transmute/model/module_weights.h>
#include <transmute/training/optimization/adam_moments.h>
#include <transmute/training/optimization/adam_options.h>
#include <transmute/training/optimization/ema.h>
#include <transmute/training/optimization/fused_adam.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Adam (Kingma and Ba, 2015) over float32 parameters, with the sum of several workers' gradients and
/// clipping by global norm on the way. Sums are taken in a fixed order: the same gradients give the same
/// bits.
class Adam {
 public:
  /// `parameters` by name; on the CPU they must be contiguous.
  Adam(NamedTensors parameters, const AdamOptions& options);
  Adam(const Adam&) = delete;
  Adam& operator=(const Adam&) = delete;

  /// Updates the parameters. gradients[w][p] is worker w's share of the gradient of parameter p, undefined for none,
  /// float32 or bfloat16; the first worker's may be written to. Returns the norm of the whole gradient before clipping.
  /// A norm that is not finite leaves parameters and moments as they were.
  double update(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate, WorkerCrew& workers);

  /// An update that may still be queued on the device.
  struct Started {
    torch::Tensor norms;    ///< float32 [P], of the parameters' gradients before clipping
    torch::Tensor happens;  ///< a bool: all norms and the loss are finite
  };
  /// Updates the parameters by one worker's gradients without waiting for the device: on GPUs by kernels, elsewhere by
  /// LibTorch's operations. Leaves them as they were if the gradient's norm or `loss`, a scalar there, is not finite.
  Started start_update(const std::vector<torch::Tensor>& gradients, double learning_rate, const torch::Tensor& loss);

  /// Writes bfloat16 copies of the parameters, now and in the same pass as every update. `copies` has a tensor for each
  /// parameter, undefined if that parameter has no copy.
  void keep_rounded(std::vector<torch::Tensor> copies);

  /// Adds the weights to `average` after every update that is not skipped, on the CPU in the same pass. It must outlive
  /// this object.
  /// @throws c10::ValueError if it is of other parameters.
  void keep_average(WeightAverage& average);

  /// Steps taken so far. Synchronizes the device.
  int64_t steps() const;

  /// Both moments of each parameter, for checkpoints. The trainer saves the number of steps.
  NamedTensors state() const;
  /// @throws std::runtime_error naming `path` if the state does not fit the parameters.
  void restore(const NamedTensors& state, int64_t steps, const std::string& path);

 private:
  // Scalars, float64 but for the first.
  struct Decision {
    torch::Tensor happens, one_or_zero;
    torch::Tensor steps;   // taken with this one
    torch::Tensor factor;  // factor on the gradient
  };
  Decision decide(const torch::Tensor& norms, const torch::Tensor& loss);
  Started update_by_kernels(const std::vector<torch::Tensor>& gradients, double learning_rate,
                            const torch::Tensor& loss);
  Started update_by_operations(const std::vector<torch::Tensor>& gradients, double learning_rate,
                               const torch::Tensor& loss);
  void copy_rounded() const;

  AdamOptions options_;
  AdamMoments moments_;
  FusedAdam fused_;
  std::vector<torch::Tensor> rounded_;  // bfloat16 copies
  WeightAverage* average_ = nullptr;    // null: none
  int64_t step_ = 0;
  torch::Tensor steps_on_device_;  // float64; start_update counts there, from step_ on
};

}  // namespace v0
}  // namespace transmute
