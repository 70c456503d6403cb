// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/aligned_buffer.h>
#include <transmute/kernels/cpu/attention_kernels.h>
#include <transmute/kernels/cpu/packed_linear.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace inference {

/// The kinds of work in a batch, whose time is measured.
enum class Phase { encoder, decoder_products, decoder_attention, decoder_rest, output_product, count };

/// Measures a batch's time by phase: each call attributes the time since the last call to the phase that it names.
class PhaseClock {
 public:
  void start() { last_ = std::chrono::steady_clock::now(); }
  void end(Phase phase) {
    const auto now = std::chrono::steady_clock::now();
    nanoseconds_[static_cast<size_t>(phase)].fetch_add(
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - last_).count(), std::memory_order_relaxed);
    last_ = now;
  }
  double seconds(Phase phase) const { return static_cast<double>(nanoseconds_[static_cast<size_t>(phase)]) * 1e-9; }

 private:
  std::chrono::steady_clock::time_point last_;
  std::atomic<int64_t> nanoseconds_[static_cast<size_t>(Phase::count)] = {};
};

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
  PhaseClock clock;
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
  double seconds(Phase phase) {
    const std::lock_guard<std::mutex> lock(mutex_);
    double sum = 0;
    for (const auto& workspace : all_) sum += workspace->clock.seconds(phase);
    return sum;
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
