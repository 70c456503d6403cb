// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// The micro_batch_tokens that suit a device: the activations of a small micro-batch fit into a CPU's caches, while a
/// GPU needs many rows at once.
constexpr int64_t default_micro_batch_tokens(bool on_gpu) {
  return on_gpu ? 32768 : 2048;
}

/// Options of a BatchStream.
struct BatchStreamOptions {
  int64_t batch_tokens = 25000;
  int64_t micro_batch_tokens = default_micro_batch_tokens(/*on_gpu=*/false);
  int64_t workers = 1;  ///< number of workers that share a batch, see cut_into_micro_batches
  uint64_t seed = 1;
  int64_t prefetch_threads = 1;  ///< threads that prepare batches ahead; 0: prepare each batch on demand
  /// This reader takes the batches `rank`, `rank + ranks`, …, counted from 0.
  int64_t rank = 0;
  int64_t ranks = 1;
};

/// Limits of the training pairs; longer and more unequal ones are left out.
struct LengthLimits {
  int64_t source_tokens = 256;
  int64_t target_tokens = 256;
  double ratio = 0;  ///< tokens of the longer side for each of the shorter, at most; 0: no limit
};

}  // namespace v0
}  // namespace transmute
