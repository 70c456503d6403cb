// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/common/threads.h>
#include <transmute/model/kernels/adam.h>
#include <transmute/translation/files/tensor_file.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

class WeightAverage;

struct AdamOptions {
  double beta1 = kernels::AdamStep().beta1;
  double beta2 = kernels::AdamStep().beta2;
  double epsilon = kernels::AdamStep().epsilon;
  double clip_norm = 0;     ///< 0: no clipping
  double weight_decay = 0;  ///< AdamW (Loshchilov and Hutter, 2019), of matrices; biases and norms keep their size
  bool fused = true;        ///< on the CPU, in one pass of our own; else, as on GPUs, in LibTorch's operations
};

/// Adam (Kingma and Ba, 2015) over float32 parameters, with the sum of several workers' gradients and
/// clipping by global norm on the way. Sums are taken in a fixed order: the same gradients give the same
/// bits.
class Adam {
 public:
  /// `parameters` by name; on the CPU they must be contiguous.
  Adam(NamedTensors parameters, const AdamOptions& options);

  /// One update. gradients[w][p] is worker w's share of the gradient of parameter p, undefined for none, float32 or on
  /// the CPU bfloat16; the first worker's may be written to. Returns the norm of the whole gradient before clipping. A
  /// norm that is not finite leaves parameters and moments as they were.
  double update(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate, WorkerCrew& workers);

  /// An update that the device may not have come to yet.
  struct Started {
    torch::Tensor norms;    ///< float32 [P], of the parameters' gradients before clipping
    torch::Tensor happens;  ///< a bool: all norms and the loss are finite
  };
  /// The update of one worker's gradients in LibTorch's operations, without waiting for the device. It does not happen
  /// where the norm of the whole gradient or `loss`, a scalar there, is not finite.
  Started start_update(const std::vector<torch::Tensor>& gradients, double learning_rate, const torch::Tensor& loss);

  /// Has every update write bfloat16 copies of the parameters as well, in the same pass; writes them now. By parameter,
  /// undefined for none. On the CPU only.
  void keep_rounded(std::vector<torch::Tensor> copies, WorkerCrew& workers);

  /// Has every update that happens take the weights after it into `average`, on the CPU in the same pass. It outlives
  /// this object. @throws c10::ValueError where it is of other parameters.
  void keep_average(WeightAverage& average);

  /// That were taken so far; waits for the device.
  int64_t steps() const;

  /// Both moments of each parameter, for checkpoints; the number of steps is the trainer's to keep.
  NamedTensors state() const;
  /// @throws std::runtime_error naming `path` where the state does not fit the parameters.
  void restore(const NamedTensors& state, int64_t steps, const std::string& path);

 private:
  struct Chunk {
    size_t parameter;
    int64_t begin, end;
  };
  double update_on_cpu(const std::vector<std::vector<torch::Tensor>>& gradients, double learning_rate,
                       WorkerCrew& workers);
  void* rounded_copy(const Chunk& chunk) const;                                // null: none
  torch::Tensor joined(const std::vector<torch::Tensor>& by_parameter) const;  // in order_, [elements]
  std::vector<torch::Tensor> parted(const torch::Tensor& joined) const;        // views, by parameter

  NamedTensors parameters_;
  AdamOptions options_;
  std::vector<size_t> order_;                     // of the parameters in what is joined: matrices, then vectors
  int64_t matrix_elements_ = 0;                   // of all matrices
  torch::Tensor all_means_, all_variances_;       // joined, [elements]
  std::vector<torch::Tensor> means_, variances_;  // the same memory, by parameter
  std::vector<torch::Tensor> rounded_;            // bfloat16 copies
  WeightAverage* average_ = nullptr;              // null: none
  std::vector<torch::Tensor> sums_;               // float32, of bfloat16 gradients
  std::vector<Chunk> chunks_;
  int64_t step_ = 0;
  torch::Tensor steps_on_device_;  // float64; start_update counts there, from step_ on
};

}  // namespace v0
}  // namespace transmute
