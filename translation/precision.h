// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Numeric type of matrix products, and of stored matrices. In translation everything else is float32 on the CPU; on
/// GPUs states, keys and values are of that type as well. In training weights, their updates and sums stay float32.
enum class Precision {
  float32,   ///< as trained
  bfloat16,  ///< half the memory of weights; fast on GPUs and on CPUs with AVX512-BF16 or AMX
  int8,      ///< a quarter; weights are scaled per output, activations per token; for CPUs
  half       ///< half the memory of weights, finer and of a smaller range than bfloat16; for GPUs
};

/// "float32", "bfloat16", "int8" or "half".
TRANSMUTE_API std::string precision_name(Precision precision);

/// @throws std::invalid_argument naming the ones there are.
TRANSMUTE_API Precision precision_from_name(const std::string& name);

}  // namespace v0
}  // namespace transmute
