// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/model/transformer.h>
#include <transmute/tokenizer/special_ids.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Records the operations that `body` starts on the device, and returns what starts them again, on the same memory;
/// empty if the device has no recordings. May call `body` more than once. Throws if the operations cannot be recorded.
using Recorder = std::function<std::function<void()>(const std::function<void()>& body, torch::Device device)>;

/// A Recorder of CUDA graphs. Empty for other devices, and where LibTorch's recordings disturb other threads.
std::function<void()> record_cuda_graph(const std::function<void()>& body, torch::Device device);

/// The sizes of a step: B, N, S, and C, the tokens for which each hypothesis has room.
struct StepShape {
  int64_t sentences = 0, hypotheses = 0, source = 0, length = 0;

  int64_t rows() const { return sentences * hypotheses; }
  bool operator==(const StepShape& other) const;
};

/// The smallest shape with room for these sizes among few, so that batches of similar sizes share a recording.
StepShape rounded_up(const StepShape& sizes);

/// A decoding step on memory of its own. Its operations and their shapes are the same at every position, so that it can
/// be recorded once and then be started as a whole: attention reads the room of all C tokens and hides those that are
/// not written yet, and sentences that have ended keep their places.
class FixedStep {
 public:
  /// For a transformer with self-attention. `cache`: one of its caches, whose type the step's memory has.
  FixedStep(Transformer transformer, const DecoderCache& cache, const StepShape& shape, Recorder record);
  FixedStep(const FixedStep&) = delete;
  FixedStep& operator=(const FixedStep&) = delete;

  const StepShape& shape() const { return shape_; }

  /// The memory that the tokens take.
  int64_t bytes() const { return bytes_; }

  /// Takes the tokens of a cache, which has at most `shape`.
  void load(const DecoderCache& cache);

  /// The step at `position`: the logits of the sentences at `places` [B'], [B',N,V], valid until the next call. ids:
  /// [B',N]; parents: [B',N], the hypothesis of the same sentence that each one continues.
  torch::Tensor run(int64_t position, const Ids& ids, const std::vector<int64_t>& parents,
                    const std::vector<int64_t>& places);

  /// A copy of the first `length` tokens of the sentences at `places` and of the hypotheses in `rows`, int64 on the
  /// device.
  DecoderCache cache(int64_t length, const torch::Tensor& places, const torch::Tensor& rows) const;

 private:
  // Beam search reorders the tokens from one side's memory to the other's.
  struct Side {
    std::vector<torch::Tensor> rooms;  // [B·N,H,C,K+Kv] of each layer
    torch::Tensor logits;              // [B,N,V] of a step that ends here
    std::function<void()> replay;      // that step, once it has been recorded
    bool has_run = false;
  };

  void compute(const Side& from, Side& to);

  Transformer transformer_;
  StepShape shape_;
  int64_t bytes_;
  Recorder record_;
  torch::Tensor numbers_;      // on the device: position [1], ids [B,N], parents [B,N], places [B]
  DecoderCache cache_;         // without the targets' tokens
  std::array<Side, 2> sides_;  // greedy search has one
  size_t current_ = 0;         // the side with the tokens
};

/// The steps that the batches of one model have used, for those that follow. Several threads may share it.
class FixedSteps {
 public:
  /// An empty `record`: the steps run without being recorded.
  explicit FixedSteps(Recorder record) : record_(std::move(record)) {}

  /// A step that nobody else uses; null if it were too large.
  std::unique_ptr<FixedStep> take(const Transformer& transformer, const DecoderCache& cache, const StepShape& shape);
  void give_back(std::unique_ptr<FixedStep> step);

  /// False once a recording has failed: steps of growing shapes are quicker then.
  bool usable() const { return usable_; }

 private:
  std::function<void()> record(const std::function<void()>& body, torch::Device device);

  Recorder record_;
  std::atomic<bool> usable_{true};
  std::mutex mutex_;                            // guards kept_
  std::list<std::unique_ptr<FixedStep>> kept_;  // the one used last is the first
};

}  // namespace v0
}  // namespace transmute
