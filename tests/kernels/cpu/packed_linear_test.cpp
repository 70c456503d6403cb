// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/packed_linear.h>
#include <transmute/network/int8_panels.h>
#include <transmute/tests/support/inference_kernels.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using inference::PackedLinear;
using inference::ProductScratch;
using kernels::available_simd;
using kernels::Simd;
using kernels::SimdLimit;
using testing::random_floats;

// A product in double, beside the sum of the terms' magnitudes, by which rounding is measured.
struct Exact {
  double value;
  double magnitude;
};
Exact exact_product(const std::vector<float>& x, const std::vector<float>& weight, int64_t inputs, int64_t row,
                    int64_t output) {
  Exact exact{0, 0};
  for (int64_t i = 0; i < inputs; ++i) {
    const double term = static_cast<double>(x[static_cast<size_t>(row * inputs + i)]) *
                        static_cast<double>(weight[static_cast<size_t>(output * inputs + i)]);
    exact.value += term;
    exact.magnitude += std::fabs(term);
  }
  return exact;
}

float largest_of_row(const std::vector<float>& x, int64_t width, int64_t row) {
  float largest = 0;
  for (int64_t i = 0; i < width; ++i) largest = std::max(largest, std::fabs(x[static_cast<size_t>(row * width + i)]));
  return largest;
}

double tolerance(Precision precision, const Exact& exact, const std::vector<float>& x, const std::vector<float>& weight,
                 int64_t inputs, int64_t row, int64_t output) {
  switch (precision) {
    case Precision::float32:
      return 1e-6 * exact.magnitude + 1e-6;
    case Precision::bfloat16:
      return 0x1p-7 * exact.magnitude + 1e-6;  // two factors, each to 8 bits
    case Precision::int8:
      break;
    case Precision::half:
      throw std::invalid_argument("there is no PackedLinear of half");
  }
  // Half a step on either side of each factor.
  double bound = 1e-5;
  const double step_x = largest_of_row(x, inputs, row) / 127.0;
  const double step_w = largest_of_row(weight, inputs, output) / 127.0;
  for (int64_t i = 0; i < inputs; ++i)
    bound += std::fabs(x[static_cast<size_t>(row * inputs + i)]) * step_w / 2 +
             std::fabs(weight[static_cast<size_t>(output * inputs + i)]) * step_x / 2 + step_x * step_w / 4;
  return 1.001 * bound;
}

struct ProductCase {
  Simd simd;
  Precision precision;
};
std::vector<ProductCase> product_cases() {
  std::vector<ProductCase> cases;
  for (const Simd simd : available_simd())
    for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8})
      cases.push_back({simd, precision});
  return cases;
}

TEST(PackedLinear, IsTheProductInDoubleLoopsForAllShapesAndInstructions) {
  ProductScratch scratch;
  for (const auto& [simd, precision] : product_cases())
    for (const int64_t outputs : {1, 31, 32, 40, 100})
      for (const int64_t inputs : {1, 5, 64, 130}) {
        const auto weight = random_floats(outputs * inputs, 1);
        const auto bias = random_floats(outputs, 2);
        const SimdLimit limit(simd);
        const PackedLinear linear({{weight.data(), outputs}}, bias.data(), inputs, precision);
        for (const int64_t rows : {1, 2, 7, 12, 13, 16, 17, 33, 50}) {
          const auto x = random_floats(rows * inputs, 3);
          const auto residual = random_floats(rows * outputs, 4);
          std::vector<float> y(residual);
          linear.apply(x.data(), rows, y.data(), {y.data(), true}, scratch);
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t output = 0; output < outputs; ++output) {
              const Exact exact = exact_product(x, weight, inputs, row, output);
              const auto at = static_cast<size_t>(row * outputs + output);
              const double whole = exact.value + static_cast<double>(bias[static_cast<size_t>(output)]) +
                                   static_cast<double>(residual[at]);
              ASSERT_NEAR(y[at], std::max(whole, 0.0),
                          tolerance(precision, exact, x, weight, inputs, row, output) + 1e-6)
                  << "simd " << static_cast<int>(simd) << ", precision " << precision_name(precision) << ", " << rows
                  << " x " << inputs << " x " << outputs;
            }
        }
      }
}

TEST(PackedLinear, GivesNoNumbersForARowThatHasOneThatIsNone) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 40, kInputs = 200, kRows = 3;
  const auto weight = random_floats(kOutputs * kInputs, 1);
  for (const auto& [simd, precision] : product_cases())
    for (const float none : {std::nanf(""), -std::nanf(""), std::numeric_limits<float>::infinity()})
      for (const int64_t at : {0, 40, 131, 199}) {
        const SimdLimit limit(simd);
        const PackedLinear linear({{weight.data(), kOutputs}}, nullptr, kInputs, precision);
        auto x = random_floats(kRows * kInputs, 3);
        x[static_cast<size_t>(kInputs + at)] = none;
        std::vector<float> y(kRows * kOutputs);
        linear.apply(x.data(), kRows, y.data(), {}, scratch);
        for (int64_t i = 0; i < kRows * kOutputs; ++i)
          ASSERT_EQ(std::isfinite(y[static_cast<size_t>(i)]), i / kOutputs != 1)
              << "simd " << static_cast<int>(simd) << ", precision " << precision_name(precision) << ", " << none
              << " at " << at;
      }
}

TEST(PackedLinear, TakesTheRowsOfSeveralMatrices) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 103, kInputs = 70, kRows = 5;
  const auto weight = random_floats(kOutputs * kInputs, 1);
  const auto bias = random_floats(kOutputs, 2);
  const auto x = random_floats(kRows * kInputs, 3);
  std::vector<int8_t> bytes;
  for (const float value : weight) bytes.push_back(static_cast<int8_t>(std::clamp(40 * value, -127.0F, 127.0F)));
  Array matrix({kOutputs, kInputs}, NumberType::int8);
  std::copy(bytes.begin(), bytes.end(), matrix.int8s());
  const Array panels = to_int8_panels(matrix);
  for (const auto& counts : std::vector<std::vector<int64_t>>{{1, 102}, {32, 64, 7}, {40, 0, 20, 43}}) {
    std::vector<inference::Rows<float>> parts;
    std::vector<inference::Rows<int8_t>> byte_parts;
    int64_t first = 0;
    for (const int64_t count : counts) {
      parts.push_back({weight.data() + first * kInputs, count});
      byte_parts.push_back({bytes.data() + first * kInputs, count});
      first += count;
    }
    ASSERT_EQ(first, kOutputs);
    const auto same = [&](const PackedLinear& whole, const PackedLinear& parted) {
      ASSERT_EQ(parted.outputs(), kOutputs);
      std::vector<float> expected(kRows * kOutputs), found(kRows * kOutputs);
      whole.apply(x.data(), kRows, expected.data(), {}, scratch);
      parted.apply(x.data(), kRows, found.data(), {}, scratch);
      EXPECT_EQ(found, expected);
    };
    for (const auto& [simd, precision] : product_cases()) {
      const SimdLimit limit(simd);
      same({{{weight.data(), kOutputs}}, bias.data(), kInputs, precision}, {parts, bias.data(), kInputs, precision});
    }
    for (const Simd simd : available_simd()) {
      const SimdLimit limit(simd);
      PackedLinear whole(kOutputs, kInputs, Precision::int8), parted(kOutputs, kInputs, Precision::int8);
      whole.pack({{bytes.data(), kOutputs}}, bias.data(), bias.data());
      parted.pack(byte_parts, bias.data(), bias.data());
      same(whole, parted);
      PackedLinear in_panels(kOutputs, kInputs, Precision::int8);
      in_panels.pack(panels, bias.data(), bias.data());
      same(whole, in_panels);
    }
  }
}

TEST(PackedLinear, HasTheSameBitsWhereSomeOutputsAreSelected) {
  ProductScratch scratch;
  const std::vector<std::vector<int64_t>> selections{{0}, {69, 3, 33, 3, 64}, {}};
  for (const auto& [simd, precision] : product_cases()) {
    PackedLinear selection;  // in the same memory each time
    for (const int64_t inputs : {200, 64, 5})
      for (const bool with_bias : {true, false}) {
        constexpr int64_t kOutputs = 70;
        const auto weight = random_floats(kOutputs * inputs, 1);
        const auto bias = random_floats(kOutputs, 2);
        const SimdLimit limit(simd);
        const PackedLinear linear({{weight.data(), kOutputs}}, with_bias ? bias.data() : nullptr, inputs, precision);
        std::vector<int64_t> all_but_one;
        for (int64_t output = kOutputs - 1; output > 0; --output) all_but_one.push_back(output);
        for (auto outputs : selections) {
          if (outputs.empty()) outputs = all_but_one;
          linear.select(outputs, selection);
          const auto width = static_cast<int64_t>(outputs.size());
          ASSERT_EQ(selection.outputs(), width);
          for (const int64_t rows : {1, 13, 40}) {
            const auto x = random_floats(rows * inputs, 3);
            std::vector<float> whole(static_cast<size_t>(rows * kOutputs)), some(static_cast<size_t>(rows * width));
            linear.apply(x.data(), rows, whole.data(), {}, scratch);
            selection.apply(x.data(), rows, some.data(), {}, scratch);
            for (int64_t row = 0; row < rows; ++row)
              for (int64_t c = 0; c < width; ++c)
                ASSERT_EQ(some[static_cast<size_t>(row * width + c)],
                          whole[static_cast<size_t>(row * kOutputs + outputs[static_cast<size_t>(c)])]);
          }
        }
      }
  }
}

// This makes a translation independent of its neighbors.
TEST(PackedLinear, GivesARowTheSameBitsAmongAnyOthers) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 70, kInputs = 200, kRows = 2700;  // more than a second-level cache has
  const auto weight = random_floats(kOutputs * kInputs, 1);
  const auto x = random_floats(kRows * kInputs, 2);
  for (const auto& [simd, precision] : product_cases()) {
    const SimdLimit limit(simd);
    const PackedLinear linear({{weight.data(), kOutputs}}, nullptr, kInputs, precision);
    std::vector<float> alone(kRows * kOutputs);
    for (int64_t row = 0; row < kRows; ++row)
      linear.apply(x.data() + row * kInputs, 1, alone.data() + row * kOutputs, {}, scratch);
    for (const int64_t rows : std::initializer_list<int64_t>{2, 3, 5, 8, 11, 15, 16, 18, 31, 64, 500, kRows})
      for (const int64_t first : {int64_t{0}, kRows - rows}) {
        std::vector<float> together(static_cast<size_t>(rows * kOutputs));
        linear.apply(x.data() + first * kInputs, rows, together.data(), {}, scratch);
        ASSERT_TRUE(std::equal(together.begin(), together.end(), alone.begin() + first * kOutputs))
            << rows << " rows, simd " << static_cast<int>(simd) << ", " << precision_name(precision);
      }
  }
}

TEST(PackedLinear, KeepsZerosAndTheirSignOfRelu) {
  ProductScratch scratch;
  const std::vector<float> weight(3 * 70, -1.0F), x(2 * 70, 0.0F);
  for (const auto& [simd, precision] : product_cases()) {
    const SimdLimit limit(simd);
    const PackedLinear linear({{weight.data(), 3}}, nullptr, 70, precision);
    std::vector<float> y(6, 5.0F);
    linear.apply(x.data(), 2, y.data(), {nullptr, true}, scratch);
    EXPECT_THAT(y, ::testing::Each(0.0F));
  }
}

TEST(PackedLinear, KeepsWhatIsNoNumberInItsRow) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 40, kInputs = 70, kRows = 20;
  const auto weight = random_floats(kOutputs * kInputs, 1);
  for (const Simd simd : available_simd())
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::signaling_NaN()}) {
      const SimdLimit limit(simd);
      const PackedLinear linear({{weight.data(), kOutputs}}, nullptr, kInputs, Precision::float32);
      auto x = random_floats(kRows * kInputs, 2);
      x[17 * kInputs + 69] = wrong;
      std::vector<float> y(kRows * kOutputs);
      linear.apply(x.data(), kRows, y.data(), {}, scratch);
      for (int64_t i = 0; i < kRows * kOutputs; ++i)
        EXPECT_EQ(std::isfinite(y[static_cast<size_t>(i)]), i / kOutputs != 17)
            << "simd " << static_cast<int>(simd) << ", row " << i / kOutputs;
    }
}

TEST(PackedLinear, MultipliesIntegersWithoutOverflow) {
  // The largest magnitudes of either sign: 127 · 127 · 4096 a sum.
  ProductScratch scratch;
  constexpr int64_t kInputs = 4096;
  for (const Simd simd : available_simd())
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> weight(kInputs, sign), x(kInputs, 1.0F);
      const SimdLimit limit(simd);
      const PackedLinear linear({{weight.data(), 1}}, nullptr, kInputs, Precision::int8);
      float y = 0;
      linear.apply(x.data(), 1, &y, {}, scratch);
      EXPECT_NEAR(y, sign * kInputs, 1e-2);
    }
}

// transmute's own weights are -127 to 127; those of a file may be -128.
TEST(PackedLinear, MultipliesEveryByteThatAFileMayHold) {
  constexpr int64_t kInputs = 256, kOutputs = 3, kRows = 6;
  std::vector<int8_t> weight;
  for (int64_t i = 0; i < kOutputs * kInputs; ++i) weight.push_back(static_cast<int8_t>(i * (i / kInputs + 1) - 128));
  std::vector<float> x;  // whole numbers with a largest magnitude of 127, so that their scale is 1
  for (int64_t i = 0; i < kRows * kInputs; ++i) x.push_back(static_cast<float>((i * 7 + i / kInputs) % 255 - 127));
  const std::vector<float> scales(kOutputs, 1.0F);
  for (const Simd simd : available_simd()) {
    SCOPED_TRACE(kernels::simd_name(simd));
    const SimdLimit limit(simd);
    PackedLinear linear(kOutputs, kInputs, Precision::int8);
    linear.pack({{weight.data(), kOutputs}}, scales.data(), nullptr);
    std::vector<float> y(kRows * kOutputs);
    ProductScratch scratch;
    linear.apply(x.data(), kRows, y.data(), {}, scratch);
    for (int64_t row = 0; row < kRows; ++row)
      for (int64_t output = 0; output < kOutputs; ++output) {
        int64_t sum = 0;
        for (int64_t i = 0; i < kInputs; ++i)
          sum += weight[static_cast<size_t>(output * kInputs + i)] *
                 static_cast<int64_t>(x[static_cast<size_t>(row * kInputs + i)]);
        EXPECT_EQ(y[static_cast<size_t>(row * kOutputs + output)], static_cast<float>(sum)) << row << ' ' << output;
      }
  }
}

}  // namespace
}  // namespace transmute
