// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/aligned_buffer.h>
#include <transmute/kernels/cpu/attention_kernels.h>
#include <transmute/kernels/cpu/packed_linear.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// Keys and values of a batch, in such numbers.
template <class Number>
struct CacheMemory {
  std::vector<AlignedBuffer<Number>> cross_keys, cross_values;  // by layer
  std::vector<AlignedBuffer<Number>> blocks;                    // keys and values of the decoded tokens
  std::vector<Number*> free_blocks;
  std::vector<CachedToken<Number>> past, next_past;  // [rows][capacity]

  Number* take_block(int64_t size) {
    if (free_blocks.empty()) {
      blocks.emplace_back(size);
      free_blocks.push_back(blocks.back().data());
    }
    Number* block = free_blocks.back();
    free_blocks.pop_back();
    return block;
  }
};

/// Memory of one batch, kept for the next.
struct Workspace {
  ProductScratch scratch;
  AlignedBuffer<float> states, normed, projected, context, hidden, logits, weights, shortlisted_logits;
  std::vector<float> cells, next_cells;           // states of SSRUs: [rows][layers][D]
  std::vector<PackedLinear> shortlisted_outputs;  // by group of sentences
  std::tuple<CacheMemory<float>, CacheMemory<uint16_t>> caches;
};

/// The workspaces of a model: as many as there were batches at once.
class Workspaces : public std::enable_shared_from_this<Workspaces> {
 public:
  /// One that nobody uses. It comes back when the pointer goes.
  std::shared_ptr<Workspace> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(all_.size() + 1);  // so that none that comes back needs memory
      all_.push_back(std::make_unique<Workspace>());
      idle_.push_back(all_.back().get());
    }
    Workspace* workspace = idle_.back();
    idle_.pop_back();
    return {workspace, [self = shared_from_this()](Workspace* used) { self->give_back(used); }};
  }

 private:
  void give_back(Workspace* workspace) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(workspace);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> all_;
  std::vector<Workspace*> idle_;
};

}  // namespace inference
}  // namespace v0
}  // namespace transmute
