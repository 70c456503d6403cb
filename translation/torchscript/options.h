// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/precision.h>

#include <cstdint>
#include <optional>

namespace transmute {
inline namespace v0 {

/// The search of a forward() that translates; see SearchOptions.
struct TorchScriptSearch {
  int64_t beam_size = 4;
  double length_alpha = 0.6;
  int64_t max_extra_length = 50;
};

/// How a model is exported.
struct TorchScriptOptions {
  /// Numeric type of the stored weights: float32; bfloat16, which computes in bfloat16, softmax and log-probabilities
  /// aside; or half, for GPUs: LibTorch before 2.1 cannot multiply half matrices on a CPU.
  Precision precision = Precision::float32;
  /// Where set, forward() translates with these options, for servers that call it with tensors alone.
  std::optional<TorchScriptSearch> forward_search{};
};

}  // namespace v0
}  // namespace transmute
