// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/array.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The shape of an int8 matrix [outputs,inputs] as every instruction set's products read it, in panels:
/// [outputs/16][inputs/4][16 outputs][4 inputs], filled up with zeros to multiples of 32 outputs and 64 inputs.
std::vector<int64_t> int8_panels_shape(int64_t outputs, int64_t inputs);

/// matrix: int8 [outputs,inputs].
Array to_int8_panels(const Array& matrix);

/// panels: of int8_panels_shape(outputs, inputs). Returns [outputs,inputs].
Array from_int8_panels(const Array& panels, int64_t outputs, int64_t inputs);

}  // namespace v0
}  // namespace transmute
