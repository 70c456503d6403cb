// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/network/array.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

constexpr std::pair<NumberType, torch::Dtype> kHalves[] = {{NumberType::bfloat16, torch::kBFloat16},
                                                           {NumberType::float16, torch::kHalf}};

// Bits are compared, because NaN differs from itself.
void expect_same_bits(const Array& found, const torch::Tensor& expected) {
  ASSERT_TRUE(found.equals(to_array(expected))) << found.shape_text() << " of " << name_of(found.type());
}

Array numbers_up_to(std::vector<int64_t> shape) {
  Array array(std::move(shape));
  std::iota(array.floats(), array.floats() + array.count(), 0.0F);
  return array;
}

TEST(Array, WidensEveryHalfAndBfloat16AsLibTorchDoes) {
  for (const auto& [type, dtype] : kHalves) {
    Array all({1 << 16}, type);
    for (int64_t bits = 0; bits < all.count(); ++bits)
      static_cast<uint16_t*>(all.data())[bits] = static_cast<uint16_t>(bits);
    const Array found = all.to_float32();
    const torch::Tensor widened = to_tensor(all).to(torch::kFloat);
    const float* expected = widened.data_ptr<float>();
    for (int64_t bits = 0; bits < all.count(); ++bits) {
      const float value = expected[bits];
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(found.floats()[bits])) << name_of(type) << ' ' << bits;
      } else {
        EXPECT_EQ(found.floats()[bits], value) << name_of(type) << ' ' << bits;
        EXPECT_EQ(std::signbit(found.floats()[bits]), std::signbit(value)) << name_of(type) << ' ' << bits;
      }
    }
  }
}

// Floats with random bits, and the neighbors of each half and of each tie between two halves.
std::vector<float> floats_to_round() {
  std::vector<float> values;
  std::mt19937 random(1);
  const auto add_bits = [&](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    values.push_back(value);
  };
  for (int i = 0; i < 1'000'000; ++i) add_bits(static_cast<uint32_t>(random()));
  for (uint32_t upper = 0; upper < 1U << 16; ++upper)
    for (const uint32_t lower : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) add_bits(upper << 16 | lower);
  for (uint32_t half = 0; half < 1U << 19; ++half)  // the upper bits that half keeps or ties with, with each exponent
    for (const uint32_t lower : {0U, 0xfffU, 0x1000U, 0x1001U}) add_bits(half << 13 | lower);
  std::uniform_real_distribution<float> subnormal(-1e-4F, 1e-4F), around_the_largest(65000.0F, 66000.0F);
  for (int i = 0; i < 200'000; ++i) {
    values.push_back(subnormal(random));
    values.push_back(around_the_largest(random));
  }
  return values;
}

TEST(Array, RoundsToHalfAndBfloat16AsLibTorchDoes) {
  const std::vector<float> values = floats_to_round();
  const Array numbers = Array::of({static_cast<int64_t>(values.size())}, values);
  for (const auto& [type, dtype] : kHalves) {
    const Array found = rounded(numbers, type);
    const torch::Tensor expected = to_tensor(numbers).to(dtype);
    const auto* found_bits = static_cast<const uint16_t*>(found.data());
    const auto* expected_bits = static_cast<const uint16_t*>(expected.data_ptr());
    const torch::Tensor expected_is_nan = expected.isnan(), found_is_nan = to_tensor(found).isnan();
    EXPECT_TRUE(torch::equal(found_is_nan, expected_is_nan));
    const bool* is_nan = expected_is_nan.data_ptr<bool>();
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_TRUE(is_nan[i] || found_bits[i] == expected_bits[i]) << name_of(type) << " of " << values[i];
  }
  EXPECT_TRUE(rounded(numbers, NumberType::float32).equals(numbers));
  EXPECT_THROW(rounded(numbers, NumberType::int8), std::invalid_argument);
}

TEST(Array, BecomesFloat32FromEveryType) {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kLong, torch::kInt, torch::kShort, torch::kChar,
                           torch::kByte, torch::kBool}) {
    const torch::Tensor tensor = (torch::arange(-60, 60) * 1.37).to(dtype);
    expect_same_bits(to_array(tensor).to_float32(), tensor.to(torch::kFloat));
  }
}

TEST(Array, GivesRowsInTheSameMemory) {
  Array array = numbers_up_to({5, 2, 3});
  Array rows = array.rows(1, 3);
  expect_same_bits(rows, torch::arange(30, torch::kFloat).reshape({5, 2, 3}).slice(0, 1, 4));
  rows.floats()[0] = -1;
  EXPECT_EQ(array.floats()[6], -1);
  EXPECT_EQ(array.rows(5, 0).count(), 0);
  array = {};  // the rows keep the memory
  EXPECT_EQ(rows.floats()[1], 7);
  for (const auto& [begin, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 4}, {-1, 1}, {0, -1}, {4, 1}, {std::numeric_limits<int64_t>::max(), 2}, {1, int64_t{1} << 62}})
    EXPECT_THROW(rows.rows(begin, count), std::out_of_range) << begin << ' ' << count;
  EXPECT_THROW(Array({}, NumberType::float32).rows(0, 1), std::out_of_range);
}

TEST(Array, GathersRowsInAnyOrder) {
  const torch::Tensor numbers = torch::arange(24, torch::kFloat).reshape({4, 3, 2});
  for (const auto dtype : {torch::kFloat, torch::kHalf, torch::kChar, torch::kDouble}) {
    const Array array = to_array(numbers.to(dtype));
    const std::vector<int64_t> rows{3, 0, 0, 2};
    expect_same_bits(array.gathered(rows), numbers.to(dtype).index_select(0, torch::tensor(rows)));
  }
  const Array array = to_array(numbers);
  EXPECT_THAT(array.gathered({}).shape(), ElementsAre(0, 3, 2));
  EXPECT_THROW(array.gathered({4}), std::out_of_range);
  EXPECT_THROW(array.gathered({-1}), std::out_of_range);
}

TEST(Array, IsTransposedInEveryTypeAndShape) {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kBFloat16, torch::kChar})
    for (const auto& [rows, columns] :
         std::vector<std::pair<int64_t, int64_t>>{{1, 1}, {3, 5}, {32, 64}, {33, 65}, {100, 1}, {0, 4}}) {
      const torch::Tensor matrix = torch::arange(rows * columns).reshape({rows, columns}).to(dtype);
      expect_same_bits(to_array(matrix).transposed(), matrix.t());
    }
  EXPECT_THROW(numbers_up_to({2, 3, 4}).transposed(), std::invalid_argument);
}

TEST(Array, IsJoinedAlongItsFirstDimension) {
  const torch::Tensor first = torch::rand({2, 3}), second = torch::rand({0, 3}), third = torch::rand({4, 3});
  expect_same_bits(Array::joined({to_array(first), to_array(second), to_array(third)}),
                   torch::cat({first, second, third}));
  EXPECT_THROW(Array::joined({to_array(first), to_array(torch::rand({2, 4}))}), std::invalid_argument);
  EXPECT_THROW(Array::joined({to_array(first), to_array(torch::rand({2, 3}, torch::kDouble))}), std::invalid_argument);
}

TEST(Array, TakesAnotherShapeOfTheSameCount) {
  EXPECT_THAT(numbers_up_to({2, 6}).reshaped({3, 4}).shape(), ElementsAre(3, 4));
  EXPECT_THROW(numbers_up_to({2, 6}).reshaped({3, 5}), std::invalid_argument);
  EXPECT_THROW(Array::of({3}, {1, 2}), std::invalid_argument);
}

TEST(Array, IsRefusedInImpossibleShapes) {
  constexpr int64_t kMuch = int64_t{1} << 62;
  EXPECT_THROW(Array({-1}), std::invalid_argument);
  EXPECT_THROW(Array({kMuch}), std::bad_alloc);
  EXPECT_THROW(Array({kMuch, kMuch}), std::bad_alloc);
  EXPECT_THROW(Array({0, kMuch, kMuch}), std::bad_alloc);
  EXPECT_THROW(Array({kMuch}, NumberType::int8), std::bad_alloc);  // fits the count, not a machine
  EXPECT_THROW(numbers_up_to({2}).reshaped({kMuch, 4}), std::bad_alloc);
  EXPECT_THROW(numbers_up_to({2}).int8s(), std::logic_error);
  EXPECT_THROW(Array({2}, NumberType::int8).floats(), std::logic_error);
}

TEST(Array, IsASingleNumberWithoutDimensions) {
  const Array array({}, NumberType::float32);
  EXPECT_TRUE(array.defined());
  EXPECT_EQ(array.count(), 1);
  EXPECT_EQ(array.shape_text(), "[]");
  EXPECT_FALSE(Array().defined());
}

TEST(AllFinite, FindsInfinityAndNaNAtAnyPlaceOfAnyType) {
  for (const auto dtype : {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16})
    for (const float value : {INFINITY, -INFINITY, NAN})
      for (const int64_t place : {0, 17, 99}) {
        const torch::Tensor tensor = torch::linspace(-60000, 60000, 100).to(dtype);
        const auto is_finite = [&] {
          const Array array = to_array(tensor);
          return all_finite(array.data(), static_cast<size_t>(array.count()), array.type());
        };
        EXPECT_TRUE(is_finite());
        tensor[place] = value;
        EXPECT_FALSE(is_finite()) << dtype << ' ' << value;
      }
  const double beyond_float32 = 1e300;
  EXPECT_FALSE(all_finite(&beyond_float32, 1, NumberType::float64));
}

TEST(ModuleWeights, ShareTheMemoryOfTensors) {
  torch::Tensor tensor = torch::arange(6, torch::kFloat).reshape({2, 3});
  const Array array = to_array(tensor);
  EXPECT_EQ(array.data(), tensor.data_ptr());
  EXPECT_EQ(to_tensor(array).data_ptr(), tensor.data_ptr());
  tensor = torch::Tensor();
  EXPECT_EQ(to_tensor(array)[1][2].item<float>(), 5);
  expect_same_bits(to_array(torch::arange(6).reshape({2, 3}).t()), torch::tensor({{0, 3}, {1, 4}, {2, 5}}));
}

}  // namespace
}  // namespace transmute
