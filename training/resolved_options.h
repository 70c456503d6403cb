// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <transmute/training/config.h>
#include <transmute/training/trainer_options.h>

namespace transmute {
inline namespace v0 {

/// The device, threads and number types with which this process computes.
struct ResolvedOptions {
  torch::Device device;
  Precision precision;  ///< numeric type of the matrix products
  int workers;
  int64_t micro_batch_tokens;  ///< maximum number of padded tokens that are computed together
  bool overlaps_steps;         ///< whether a step begins before the last one's loss is known

  /// Maximum number of padded tokens in a micro-batch's pairs: half of micro_batch_tokens if each pair is computed
  /// twice for consistency.
  int64_t tokens_of_pairs(const TrainingOptions& training) const;
};

/// @throws std::invalid_argument if the options do not fit each other.
ResolvedOptions resolve_options(const TrainerOptions& options, const TrainingOptions& training);

/// True if the device multiplies bfloat16 numbers in hardware. GPUs do so from Ampere on.
bool has_bfloat16(torch::Device device);

/// The device of this process: "cuda" and "auto" name the GPU with this rank's local number.
torch::Device device_of(const TrainerOptions& options);

}  // namespace v0
}  // namespace transmute
