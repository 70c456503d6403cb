#pragma once

#include <torch/types.h>
#include <transmute/common/threads.h>
#include <transmute/translation/tensor_file.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
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

  /// Has every update write bfloat16 copies of the parameters as well, in the same pass; writes them now. By parameter,
  /// undefined for none. On the CPU only.
  void keep_rounded(std::vector<torch::Tensor> copies, WorkerCrew& workers);

  int64_t steps() const { return step_; }

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
  void write_rounded(const Chunk& chunk);
  double update_in_operations(const std::vector<torch::Tensor>& gradients, double learning_rate);
  double clip_scale(double norm) const;

  NamedTensors parameters_;
  AdamOptions options_;
  std::vector<torch::Tensor> means_, variances_;
  std::vector<torch::Tensor> rounded_;  // bfloat16 copies
  std::vector<torch::Tensor> sums_;     // float32, of bfloat16 gradients
  std::vector<Chunk> chunks_;
  int64_t step_ = 0;
};

}  // namespace v0
}  // namespace transmute
