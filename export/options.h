// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/precision.h>
#include <transmute/network/search_options.h>

#include <cstdint>
#include <optional>

namespace transmute {
inline namespace v0 {

/// The search of a forward() that translates; see SearchOptions.
struct TorchScriptSearch {
  int64_t beam_size = SearchOptions().beam_size;                ///< hypotheses kept per sentence
  double length_alpha = SearchOptions().length_alpha;           ///< exponent of the length penalty
  int64_t max_extra_length = SearchOptions().max_extra_length;  ///< maximum target length minus source length
};

/// Options of an export.
struct TorchScriptOptions {
  /// Numeric type of the weights and of the computation, except for softmax and log-probabilities: float32, bfloat16 or
  /// half. half is for GPUs: LibTorch before 2.1 cannot multiply half matrices on a CPU.
  Precision precision = Precision::float32;
  /// If set, forward() translates with these options, for servers that call it with tensors only.
  std::optional<TorchScriptSearch> forward_search{};
};

}  // namespace v0
}  // namespace transmute
