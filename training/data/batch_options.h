// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace transmute {
inline namespace v0 {

/// The micro_batch_tokens that suit a device: a CPU's caches hold a small part's activations, a GPU takes many rows at
/// once.
constexpr int64_t default_micro_batch_tokens(bool on_gpu) {
  return on_gpu ? 8192 : 2048;
}

/// How a BatchStream makes batches of its text.
struct BatchStreamOptions {
  int64_t batch_tokens = 25000;
  int64_t micro_batch_tokens = default_micro_batch_tokens(/*on_gpu=*/false);
  int64_t workers = 1;  ///< workers that share a batch, see cut_into_micro_batches
  uint64_t seed = 1;
  int64_t prefetch_threads = 1;  ///< threads that prepare batches ahead; 0: each is prepared when it is asked for
  /// This reader takes the batches number `rank`, `rank + ranks` …, counted from the start.
  int64_t rank = 0;
  int64_t ranks = 1;
};

}  // namespace v0
}  // namespace transmute
