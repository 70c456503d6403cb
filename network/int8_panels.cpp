// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/int8_panels.h>

#include <transmute/kernels/simd/tile_layout.h>

#include <algorithm>
#include <cstring>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int64_t kGroup = 4;

int64_t rounded_up(int64_t count, int64_t multiple) {
  return (count + multiple - 1) / multiple * multiple;
}

// Calls copy(place in the matrix, place in the panels, numbers) for each group of an output's inputs.
template <class Copy>
void for_each_group(int64_t outputs, int64_t inputs, int64_t groups, const Copy& copy) {
  for (int64_t output = 0; output < outputs; ++output) {
    const int64_t panel = output / kernels::kTileRows, column = output % kernels::kTileRows;
    for (int64_t input = 0; input < inputs; input += kGroup)
      copy(output * inputs + input, ((panel * groups + input / kGroup) * kernels::kTileRows + column) * kGroup,
           static_cast<size_t>(std::min(kGroup, inputs - input)));
  }
}

}  // namespace

std::vector<int64_t> int8_panels_shape(int64_t outputs, int64_t inputs) {
  return {rounded_up(outputs, kernels::kPanel) / kernels::kTileRows,
          rounded_up(inputs, kernels::kTileRowBytes) / kGroup, kernels::kTileRows, kGroup};
}

Array to_int8_panels(const Array& matrix) {
  const int64_t outputs = matrix.size(0), inputs = matrix.size(1);
  Array panels(int8_panels_shape(outputs, inputs), NumberType::int8);
  std::fill_n(panels.int8s(), panels.count(), int8_t{0});
  for_each_group(outputs, inputs, panels.size(1), [&](int64_t from, int64_t to, size_t count) {
    std::memcpy(panels.int8s() + to, matrix.int8s() + from, count);
  });
  return panels;
}

Array from_int8_panels(const Array& panels, int64_t outputs, int64_t inputs) {
  Array matrix({outputs, inputs}, NumberType::int8);
  for_each_group(outputs, inputs, panels.size(1), [&](int64_t to, int64_t from, size_t count) {
    std::memcpy(matrix.int8s() + to, panels.int8s() + from, count);
  });
  return matrix;
}

}  // namespace v0
}  // namespace transmute
