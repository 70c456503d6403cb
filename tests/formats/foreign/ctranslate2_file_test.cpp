// SPDX-License-Identifier: Apache-2.0
// The model.bin of CTranslate2, written by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/zip_files.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::little_endian;
using testing::message_of;
using ::testing::StartsWith;
using testing::write_text;
using ACTranslate2File = testing::InFolder;

// A variable as model.bin has it since its fourth version, in float32.
std::string variable(const std::string& name, const std::vector<uint64_t>& sizes, const std::string& numbers,
                     char type = 0) {
  std::string bytes = little_endian(name.size() + 1, 2) + name + '\0' + static_cast<char>(sizes.size());
  for (const uint64_t size : sizes) bytes += little_endian(size, 4);
  return bytes + type + little_endian(numbers.size(), 4) + numbers;
}

std::string model_bin(uint64_t count, const std::string& variables) {
  return little_endian(6, 4) + little_endian(16, 2) + "TransformerSpec" + '\0' + little_endian(7, 4) +
         little_endian(count, 4) + variables + little_endian(0, 4);
}

TEST_F(ACTranslate2File, HasNoVariablesWithoutEnd) {
  std::string variables;
  for (int i = 0; i <= 100'000; ++i) variables += variable(std::to_string(i), {0}, "");
  write_text(folder_ / "model.bin", model_bin(100'001, variables));
  EXPECT_THAT(message_of<std::runtime_error>([&] { formats::CTranslate2File(folder_ / "model.bin"); }),
              AllOf(StartsWith((folder_ / "model.bin") + ": "), HasSubstr("100001 variables")));
}

// Small ones come from a buffer, large ones do not.
TEST_F(ACTranslate2File, ReadsVariablesOfEverySize) {
  std::string variables;
  const std::vector<uint64_t> counts{1, 3, 16'383, 16'384, 16'385, 40'000, 0, 7};
  for (size_t v = 0; v < counts.size(); ++v) {
    std::vector<float> numbers(counts[v]);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(v * 100'000 + i);
    variables += variable(std::to_string(v), {counts[v]},
                          {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)});
  }
  write_text(folder_ / "model.bin", model_bin(counts.size(), variables));
  formats::CTranslate2File file(folder_ / "model.bin");
  for (size_t v = 0; v < counts.size(); ++v) {
    const auto first = static_cast<int64_t>(v * 100'000);
    EXPECT_TRUE(torch::equal(to_tensor(file.take(std::to_string(v))),
                             torch::arange(first, first + static_cast<int64_t>(counts[v]), torch::kFloat)))
        << v;
  }
}

TEST_F(ACTranslate2File, HasAScaleForItsIntegers) {
  write_text(folder_ / "model.bin", model_bin(2, variable("a", {2}, "\1\2", 1) + variable("a_scale", {0}, "")));
  formats::CTranslate2File file(folder_ / "model.bin");
  EXPECT_THAT(message_of<std::runtime_error>([&] { file.take("a"); }),
              AllOf(StartsWith((folder_ / "model.bin") + ": "), HasSubstr("'a_scale' does not fit 'a'")));
}

std::string variable_of(const std::string& name, const torch::Tensor& values, char type) {
  const std::vector<uint64_t> sizes(values.sizes().begin(), values.sizes().end());
  return variable(name, sizes, {static_cast<const char*>(values.data_ptr()), values.nbytes()}, type);
}

// The types by CTranslate2's numbers. Its integers are the weights times the scales.
TEST_F(ACTranslate2File, GivesTheQuotientsOfItsIntegersBitForBit) {
  torch::manual_seed(4);
  const torch::Tensor bytes = torch::randint(-127, 128, {300, 70}, torch::kChar);
  const torch::Tensor shorts = torch::randint(-32768, 32768, {300, 70}, torch::kShort);
  const torch::Tensor scales = torch::rand({300}) * 500 + 0.1, scale = torch::full({1}, 1023.7F);
  const torch::Tensor half_scales = scales.to(torch::kHalf);
  write_text(
      folder_ / "model.bin",
      model_bin(9, variable_of("rows", bytes, 1) + variable_of("rows_scale", scales, 0) +
                       variable_of("half", bytes, 1) + variable_of("half_scale", half_scales, 4) +
                       variable_of("short", shorts, 2) + variable_of("short_scale", scale, 0) +
                       variable_of("plain", shorts, 2) + variable_of("bfloat16", scales.to(torch::kBFloat16), 5) +
                       variable_of("float16", half_scales, 4)));
  formats::CTranslate2File file(folder_ / "model.bin");
  const auto expect = [&](const char* name, const torch::Tensor& expected) {
    EXPECT_TRUE(file.take(name).equals(to_array(expected))) << name;
  };
  const torch::Tensor numbers = bytes.to(torch::kFloat), short_numbers = shorts.to(torch::kFloat);
  expect("rows", numbers / scales.unsqueeze(1));
  expect("half", numbers / half_scales.to(torch::kFloat).unsqueeze(1));
  expect("short", short_numbers / scale);
  expect("plain", short_numbers / 1000.0);
  expect("bfloat16", scales.to(torch::kBFloat16).to(torch::kFloat));
  expect("float16", half_scales.to(torch::kFloat));
  EXPECT_THAT(file.left(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace transmute
