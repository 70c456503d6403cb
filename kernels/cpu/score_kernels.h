// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/kernels/simd/dispatch.h>

#include <cstddef>
#include <cstdint>

namespace transmute {
inline namespace v0 {
namespace kernels {

/// Passes over the logits of a hypothesis's next token, for one instruction set.
struct ScoreKernels {
  /// find_tops leaves the largest logit in each lane of a chunk, so that only a few chunks need to be read again.
  static constexpr int64_t kTopLanes = 16, kChunk = 8 * kTopLanes;

  /// tops: [⌈count / kChunk⌉,kTopLanes]. Returns the largest of all. NaN is passed over.
  float (*find_tops)(const float* logits, int64_t count, float* tops);
  /// Σ e^(logit - top), each to 2e-7; NaN where a logit is.
  float (*sum_exponentials)(const float* logits, int64_t count, float top);
  /// The index of the first value in [from, count) that is above `bar`, or `count` if there is none.
  int64_t (*next_above)(const float* values, int64_t from, int64_t count, float bar);

  /// A model's logits, and the numbers that turn them into log-probabilities.
  struct ModelRow {
    const float* logits;
    float normalizer;
  };
  /// log Σ_m p_m for each token, p_m being the probability that model m gives it; minus infinity where all are 0.
  void (*log_of_sums)(const ModelRow* models, size_t model_count, int64_t count, float* to);

  static const ScoreKernels baseline, avx2, avx512;
  static constexpr const ScoreKernels& avx512_bf16 = avx512;
};

}  // namespace kernels
}  // namespace v0
}  // namespace transmute
