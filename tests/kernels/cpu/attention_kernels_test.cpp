// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/kernels/cpu/attention_kernels.h>
#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/tests/support/inference_kernels.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace transmute {
namespace {

using inference::AttendArguments;
using inference::AttendScatteredArguments;
using inference::AttentionHead;
using inference::CachedToken;
using inference::padded_keys;
using kernels::available_simd;
using kernels::Simd;
using kernels::SimdLimit;
using testing::random_floats;

// softmax(scale q K^T) V of one query in double; the weights too.
struct ExactAttention {
  std::vector<double> output, weights;
};
ExactAttention exact_attention(const AttentionHead& shape, const float* query, const std::vector<const float*>& keys,
                               const std::vector<const float*>& values) {
  ExactAttention exact{std::vector<double>(static_cast<size_t>(shape.value_width)), {}};
  double sum = 0;
  for (const float* key : keys) {
    double score = 0;
    for (int64_t k = 0; k < shape.key_width; ++k) score += static_cast<double>(query[k]) * static_cast<double>(key[k]);
    exact.weights.push_back(std::exp(score * static_cast<double>(shape.scale)));
    sum += exact.weights.back();
  }
  for (auto& weight : exact.weights) weight /= sum;
  for (size_t i = 0; i < values.size(); ++i)
    for (size_t k = 0; k < exact.output.size(); ++k)
      exact.output[k] += exact.weights[i] * static_cast<double>(values[i][k]);
  return exact;
}

TEST(Attend, IsTheFormulaInDoubleLoops) {
  for (const Simd simd : available_simd())
    for (const int64_t key_width : {1, 16, 20, 64})
      for (const int64_t value_width : {1, 15, 48, 100})
        for (const int64_t count : {1, 15, 16, 17, 70})
          for (const int64_t rows : {1, 2, 3, 4, 9}) {
            const SimdLimit limit(simd);
            const AttentionHead shape{key_width, value_width, 0.3F};
            const int64_t stride = key_width + value_width + 3;
            const auto memory = random_floats(count * stride, 1);
            const auto queries = random_floats(rows * (key_width + 1), 2);
            const int64_t padded = padded_keys(count);
            std::vector<float> keys(static_cast<size_t>(key_width * padded));
            std::vector<float> weights(static_cast<size_t>(rows * padded));
            std::vector<float> outputs(static_cast<size_t>(rows * (value_width + 2)), 7.0F);
            inference::transpose_keys(memory.data(), stride, count, key_width, keys.data());
            AttendArguments<float> a;
            a.queries = queries.data();
            a.query_stride = key_width + 1;
            a.rows = rows;
            a.transposed_keys = keys.data();
            a.values = memory.data() + key_width;
            a.value_stride = stride;
            a.count = count;
            a.outputs = outputs.data();
            a.output_stride = value_width + 2;
            inference::attend(shape, a, weights.data());

            std::vector<const float*> key_rows, value_rows;
            std::vector<CachedToken<float>> tokens;
            std::vector<float> copy(memory);
            for (int64_t s = 0; s < count; ++s) {
              key_rows.push_back(memory.data() + s * stride);
              value_rows.push_back(key_rows.back() + key_width);
              tokens.push_back({copy.data() + s * stride - 2, copy.data() + s * stride - 5});
            }
            for (int64_t row = 0; row < rows; ++row) {
              const float* query = queries.data() + row * (key_width + 1);
              const ExactAttention exact = exact_attention(shape, query, key_rows, value_rows);
              std::vector<float> scattered(static_cast<size_t>(value_width)), own(static_cast<size_t>(padded));
              const AttendScatteredArguments<float> b{query, tokens.data(), count, 2, key_width + 5, scattered.data()};
              inference::attend_scattered(shape, b, own.data());
              for (int64_t k = 0; k < value_width; ++k) {
                const auto at = static_cast<size_t>(k);
                ASSERT_NEAR(outputs[static_cast<size_t>(row * (value_width + 2)) + at], exact.output[at], 1e-5);
                ASSERT_NEAR(scattered[at], exact.output[at], 1e-5);
              }
              for (int64_t s = 0; s < count; ++s)
                ASSERT_NEAR(weights[static_cast<size_t>(row * padded + s)], exact.weights[static_cast<size_t>(s)],
                            1e-6);
              ASSERT_EQ(outputs[static_cast<size_t>(row * (value_width + 2) + value_width)], 7.0F) << "not its own";
            }
          }
}

TEST(Attend, GivesZeroWhereThereIsNothingToAttendTo) {
  for (const Simd simd : available_simd()) {
    const SimdLimit limit(simd);
    const AttentionHead shape{4, 3, 1.0F};
    const std::vector<float> queries(8, 1.0F);
    std::vector<float> outputs(6, 7.0F), weights(16);
    AttendArguments<float> a{queries.data(), 4, 2, nullptr, nullptr, 3, 0, outputs.data(), 3};
    inference::attend(shape, a, weights.data());
    EXPECT_THAT(outputs, ::testing::Each(0.0F));
    std::fill(outputs.begin(), outputs.end(), 7.0F);
    inference::attend_scattered<float>(shape, {queries.data(), nullptr, 0, 0, 0, outputs.data()}, weights.data());
    EXPECT_THAT(std::vector<float>(outputs.begin(), outputs.begin() + 3), ::testing::Each(0.0F));
  }
}

TEST(Attend, StandsLargeScores) {
  for (const Simd simd : available_simd()) {
    const SimdLimit limit(simd);
    const AttentionHead shape{1, 1, 1.0F};
    const std::vector<float> keys{300.0F, -300.0F, 299.0F}, values{1.0F, 2.0F, 3.0F}, query{100.0F};
    std::vector<float> transposed(16), weights(16), output(1);
    inference::transpose_keys(keys.data(), 1, 3, 1, transposed.data());
    AttendArguments<float> a{query.data(), 1, 1, transposed.data(), values.data(), 1, 3, output.data(), 1};
    inference::attend(shape, a, weights.data());
    EXPECT_FLOAT_EQ(output[0], 1.0F);
  }
}

// bfloat16 holds small integers exactly: the same numbers from half the memory.
TEST(Attend, ReadsKeysAndValuesInBfloat16) {
  for (const Simd simd : available_simd())
    for (const int64_t width : {3, 16, 50})
      for (const int64_t count : {1, 9, 40}) {
        const SimdLimit limit(simd);
        const AttentionHead shape{width, width, 0.1F};
        auto memory = random_floats(count * width, 1, 5);
        for (auto& value : memory) value = std::round(value);
        const auto query = random_floats(width, 2);
        const auto size = static_cast<size_t>(width * padded_keys(count));
        std::vector<float> wide_keys(size), output(static_cast<size_t>(width)), expected(output);
        std::vector<float> weights(static_cast<size_t>(padded_keys(count)));
        std::vector<uint16_t> keys(size), values(memory.size());
        inference::transpose_keys(memory.data(), width, count, width, wide_keys.data());
        inference::transpose_keys(memory.data(), width, count, width, keys.data());
        inference::convert(memory.data(), count * width, values.data());
        const AttendArguments<float> wide{query.data(), width,           1,    wide_keys.data(), memory.data(), width,
                                          count,        expected.data(), width};
        inference::attend(shape, wide, weights.data());
        const AttendArguments<uint16_t> a{query.data(), width,         1,    keys.data(), values.data(), width,
                                          count,        output.data(), width};
        inference::attend(shape, a, weights.data());
        EXPECT_EQ(output, expected);
        std::vector<CachedToken<uint16_t>> tokens;
        for (int64_t i = 0; i < count; ++i) tokens.push_back({values.data() + i * width, values.data() + i * width});
        const AttendScatteredArguments<uint16_t> b{query.data(), tokens.data(), count, 0, 0, output.data()};
        inference::attend_scattered(shape, b, weights.data());
        // Its keys are its values here.
        const ExactAttention exact = [&] {
          std::vector<const float*> rows;
          for (int64_t i = 0; i < count; ++i) rows.push_back(memory.data() + i * width);
          return exact_attention(shape, query.data(), rows, rows);
        }();
        for (size_t k = 0; k < output.size(); ++k) EXPECT_NEAR(output[k], exact.output[k], 1e-4);
      }
}

}  // namespace
}  // namespace transmute
