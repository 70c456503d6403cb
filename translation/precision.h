#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// In which numbers translation on the CPU multiplies matrices; everything else is float32.
enum class InferencePrecision {
  float32,   ///< as trained
  bfloat16,  ///< half the memory of weights; fast on CPUs with AVX512-BF16 or AMX
  int8       ///< a quarter; weights are scaled per output, activations per token
};

/// "float32", "bfloat16" or "int8".
std::string inference_precision_name(InferencePrecision precision);

/// @throws std::invalid_argument naming the ones there are.
InferencePrecision inference_precision_from_name(const std::string& name);

}  // namespace v0
}  // namespace transmute
