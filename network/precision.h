// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// Numeric type of matrix products and of stored matrices. Everything else in translation is float32 on the CPU; on
/// GPUs, activations, keys and values have this type too. Training keeps weights, optimizer state and sums in float32.
enum class Precision {
  float32,   ///< the trained weights
  bfloat16,  ///< half the memory for weights; fast on GPUs and on the CPUs that docs/translating.md names
  int8,      ///< a quarter of the memory; weights are scaled per output, activations per token; CPUs only
  half       ///< half the memory for weights, more precise than bfloat16 but with a smaller range; GPUs only
};

/// "float32", "bfloat16", "int8" or "half".
TRANSMUTE_API std::string precision_name(Precision precision);

/// @throws std::invalid_argument, listing the valid names, for any other name.
TRANSMUTE_API Precision precision_from_name(const std::string& name);

}  // namespace v0
}  // namespace transmute
