// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/network/int8_panels.h>

#include <cstdint>
#include <utility>

namespace transmute {
namespace {

TEST(Int8Panels, HoldFourInputsOfSixteenOutputsSideBySide) {
  for (const auto& [outputs, inputs] : {std::pair<int64_t, int64_t>{1, 1}, {32, 64}, {33, 65}, {70, 7}, {16, 200}}) {
    Array matrix({outputs, inputs}, NumberType::int8);
    for (int64_t i = 0; i < matrix.count(); ++i) matrix.int8s()[i] = static_cast<int8_t>(i % 251 - 125);
    const Array panels = to_int8_panels(matrix);
    EXPECT_EQ(panels.shape(), int8_panels_shape(outputs, inputs));
    const int64_t padded = (outputs + 31) / 32 * 32, filled = (inputs + 63) / 64 * 64;
    ASSERT_EQ(panels.count(), padded * filled);
    for (int64_t output = 0; output < padded; ++output)
      for (int64_t input = 0; input < filled; ++input) {
        const bool is_there = output < outputs && input < inputs;
        const int64_t place = output / 16 * 16 * filled + input / 4 * 64 + output % 16 * 4 + input % 4;
        ASSERT_EQ(panels.int8s()[place], is_there ? matrix.int8s()[output * inputs + input] : 0)
            << outputs << "x" << inputs << " at " << output << "," << input;
      }
    EXPECT_TRUE(from_int8_panels(panels, outputs, inputs).equals(matrix));
  }
}

}  // namespace
}  // namespace transmute
