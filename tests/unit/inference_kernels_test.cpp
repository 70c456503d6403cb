#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/translation/inference/packed_linear.h>
#include <transmute/translation/inference/row_kernels.h>
#include <transmute/translation/top_candidates.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using inference::AttendArguments;
using inference::AttendScatteredArguments;
using inference::CachedToken;
using inference::HeadShape;
using inference::Instructions;
using inference::PackedLinear;
using inference::padded_keys;
using inference::ProductScratch;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// All that this machine has: on one with the best of them every kernel is tested.
std::vector<Instructions> available() {
  std::vector<Instructions> levels;
  for (int level = 0; level <= static_cast<int>(inference::best_instructions()); ++level)
    levels.push_back(static_cast<Instructions>(level));
  return levels;
}

std::vector<float> random_floats(int64_t count, uint32_t seed, float scale = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (auto& value : values) value = scale * normal(engine);
  return values;
}

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

double tolerance(InferencePrecision precision, const Exact& exact, const std::vector<float>& x,
                 const std::vector<float>& weight, int64_t inputs, int64_t row, int64_t output) {
  switch (precision) {
    case InferencePrecision::float32:
      return 1e-6 * exact.magnitude + 1e-6;
    case InferencePrecision::bfloat16:
      return 0x1p-7 * exact.magnitude + 1e-6;  // two factors, each to 8 bits
    case InferencePrecision::int8:
      break;
    case InferencePrecision::half:
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
  Instructions instructions;
  InferencePrecision precision;
};
std::vector<ProductCase> product_cases() {
  std::vector<ProductCase> cases;
  for (const Instructions instructions : available())
    for (const InferencePrecision precision :
         {InferencePrecision::float32, InferencePrecision::bfloat16, InferencePrecision::int8})
      cases.push_back({instructions, precision});
  return cases;
}

TEST(PackedLinear, IsTheProductInDoubleLoopsForAllShapesAndInstructions) {
  ProductScratch scratch;
  for (const auto& [instructions, precision] : product_cases())
    for (const int64_t outputs : {1, 31, 32, 40, 100})
      for (const int64_t inputs : {1, 5, 64, 130}) {
        const auto weight = random_floats(outputs * inputs, 1);
        const auto bias = random_floats(outputs, 2);
        const PackedLinear linear({{weight.data(), outputs}}, bias.data(), inputs, precision, instructions);
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
                  << "instructions " << static_cast<int>(instructions) << ", precision "
                  << inference_precision_name(precision) << ", " << rows << " x " << inputs << " x " << outputs;
            }
        }
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
    for (const auto& [instructions, precision] : product_cases())
      same({{{weight.data(), kOutputs}}, bias.data(), kInputs, precision, instructions},
           {parts, bias.data(), kInputs, precision, instructions});
    for (const Instructions instructions : available()) {
      PackedLinear whole(kOutputs, kInputs, InferencePrecision::int8, instructions),
          parted(kOutputs, kInputs, InferencePrecision::int8, instructions);
      whole.pack({{bytes.data(), kOutputs}}, bias.data(), bias.data());
      parted.pack(byte_parts, bias.data(), bias.data());
      same(whole, parted);
    }
  }
}

TEST(PackedLinear, HasTheSameBitsWhereSomeOutputsAreSelected) {
  ProductScratch scratch;
  const std::vector<std::vector<int64_t>> selections{{0}, {69, 3, 33, 3, 64}, {}};
  for (const auto& [instructions, precision] : product_cases()) {
    PackedLinear selection;  // in the same memory each time
    for (const int64_t inputs : {200, 64, 5})
      for (const bool with_bias : {true, false}) {
        constexpr int64_t kOutputs = 70;
        const auto weight = random_floats(kOutputs * inputs, 1);
        const auto bias = random_floats(kOutputs, 2);
        const PackedLinear linear({{weight.data(), kOutputs}}, with_bias ? bias.data() : nullptr, inputs, precision,
                                  instructions);
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

// What makes a translation independent of its neighbours.
TEST(PackedLinear, GivesARowTheSameBitsAmongAnyOthers) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 70, kInputs = 200, kRows = 2700;  // more than a second-level cache has
  const auto weight = random_floats(kOutputs * kInputs, 1);
  const auto x = random_floats(kRows * kInputs, 2);
  for (const auto& [instructions, precision] : product_cases()) {
    const PackedLinear linear({{weight.data(), kOutputs}}, nullptr, kInputs, precision, instructions);
    std::vector<float> alone(kRows * kOutputs);
    for (int64_t row = 0; row < kRows; ++row)
      linear.apply(x.data() + row * kInputs, 1, alone.data() + row * kOutputs, {}, scratch);
    for (const int64_t rows : std::initializer_list<int64_t>{2, 3, 5, 8, 11, 15, 16, 18, 31, 64, 500, kRows})
      for (const int64_t first : {int64_t{0}, kRows - rows}) {
        std::vector<float> together(static_cast<size_t>(rows * kOutputs));
        linear.apply(x.data() + first * kInputs, rows, together.data(), {}, scratch);
        ASSERT_TRUE(std::equal(together.begin(), together.end(), alone.begin() + first * kOutputs))
            << rows << " rows, instructions " << static_cast<int>(instructions) << ", "
            << inference_precision_name(precision);
      }
  }
}

TEST(PackedLinear, KeepsZerosAndTheirSignOfRelu) {
  ProductScratch scratch;
  const std::vector<float> weight(3 * 70, -1.0F), x(2 * 70, 0.0F);
  for (const auto& [instructions, precision] : product_cases()) {
    const PackedLinear linear({{weight.data(), 3}}, nullptr, 70, precision, instructions);
    std::vector<float> y(6, 5.0F);
    linear.apply(x.data(), 2, y.data(), {nullptr, true}, scratch);
    EXPECT_THAT(y, ::testing::Each(0.0F));
  }
}

TEST(PackedLinear, KeepsWhatIsNoNumberInItsRow) {
  ProductScratch scratch;
  constexpr int64_t kOutputs = 40, kInputs = 70, kRows = 20;
  const auto weight = random_floats(kOutputs * kInputs, 1);
  for (const Instructions instructions : available())
    for (const float wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::signaling_NaN()}) {
      const PackedLinear linear({{weight.data(), kOutputs}}, nullptr, kInputs, InferencePrecision::float32,
                                instructions);
      auto x = random_floats(kRows * kInputs, 2);
      x[17 * kInputs + 69] = wrong;
      std::vector<float> y(kRows * kOutputs);
      linear.apply(x.data(), kRows, y.data(), {}, scratch);
      for (int64_t i = 0; i < kRows * kOutputs; ++i)
        EXPECT_EQ(std::isfinite(y[static_cast<size_t>(i)]), i / kOutputs != 17)
            << "instructions " << static_cast<int>(instructions) << ", row " << i / kOutputs;
    }
}

TEST(PackedLinear, MultipliesIntegersWithoutOverflow) {
  // The largest magnitudes of either sign: 127 · 127 · 4096 a sum.
  ProductScratch scratch;
  constexpr int64_t kInputs = 4096;
  for (const Instructions instructions : available())
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> weight(kInputs, sign), x(kInputs, 1.0F);
      const PackedLinear linear({{weight.data(), 1}}, nullptr, kInputs, InferencePrecision::int8, instructions);
      float y = 0;
      linear.apply(x.data(), 1, &y, {}, scratch);
      EXPECT_NEAR(y, sign * kInputs, 1e-2);
    }
}

// softmax(scale q K^T) V of one query in double; the weights too.
struct ExactAttention {
  std::vector<double> output, weights;
};
ExactAttention exact_attention(const HeadShape& shape, const float* query, const std::vector<const float*>& keys,
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
  for (const Instructions instructions : available())
    for (const int64_t key_width : {1, 16, 20, 64})
      for (const int64_t value_width : {1, 15, 48, 100})
        for (const int64_t count : {1, 15, 16, 17, 70})
          for (const int64_t rows : {1, 2, 3, 4, 9}) {
            const HeadShape shape{key_width, value_width, 0.3F};
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
            inference::attend(shape, a, weights.data(), instructions);

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
              inference::attend_scattered(shape, b, own.data(), instructions);
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
  for (const Instructions instructions : available()) {
    const HeadShape shape{4, 3, 1.0F};
    const std::vector<float> queries(8, 1.0F);
    std::vector<float> outputs(6, 7.0F), weights(16);
    AttendArguments<float> a{queries.data(), 4, 2, nullptr, nullptr, 3, 0, outputs.data(), 3};
    inference::attend(shape, a, weights.data(), instructions);
    EXPECT_THAT(outputs, ::testing::Each(0.0F));
    std::fill(outputs.begin(), outputs.end(), 7.0F);
    inference::attend_scattered<float>(shape, {queries.data(), nullptr, 0, 0, 0, outputs.data()}, weights.data(),
                                       instructions);
    EXPECT_THAT(std::vector<float>(outputs.begin(), outputs.begin() + 3), ::testing::Each(0.0F));
  }
}

TEST(Attend, StandsLargeScores) {
  for (const Instructions instructions : available()) {
    const HeadShape shape{1, 1, 1.0F};
    const std::vector<float> keys{300.0F, -300.0F, 299.0F}, values{1.0F, 2.0F, 3.0F}, query{100.0F};
    std::vector<float> transposed(16), weights(16), output(1);
    inference::transpose_keys(keys.data(), 1, 3, 1, transposed.data());
    AttendArguments<float> a{query.data(), 1, 1, transposed.data(), values.data(), 1, 3, output.data(), 1};
    inference::attend(shape, a, weights.data(), instructions);
    EXPECT_FLOAT_EQ(output[0], 1.0F);
  }
}

// bfloat16 holds small integers exactly: the same numbers from half the memory.
TEST(Attend, ReadsKeysAndValuesInBfloat16) {
  for (const Instructions instructions : available())
    for (const int64_t width : {3, 16, 50})
      for (const int64_t count : {1, 9, 40}) {
        const HeadShape shape{width, width, 0.1F};
        auto memory = random_floats(count * width, 1, 5);
        for (auto& value : memory) value = std::round(value);
        const auto query = random_floats(width, 2);
        const auto size = static_cast<size_t>(width * padded_keys(count));
        std::vector<float> wide_keys(size), output(static_cast<size_t>(width)), expected(output);
        std::vector<float> weights(static_cast<size_t>(padded_keys(count)));
        std::vector<uint16_t> keys(size), values(memory.size());
        inference::transpose_keys(memory.data(), width, count, width, wide_keys.data());
        inference::transpose_keys(memory.data(), width, count, width, keys.data());
        inference::convert(memory.data(), count * width, values.data(), instructions);
        const AttendArguments<float> wide{query.data(), width,           1,    wide_keys.data(), memory.data(), width,
                                          count,        expected.data(), width};
        inference::attend(shape, wide, weights.data(), instructions);
        const AttendArguments<uint16_t> a{query.data(), width,         1,    keys.data(), values.data(), width,
                                          count,        output.data(), width};
        inference::attend(shape, a, weights.data(), instructions);
        EXPECT_EQ(output, expected);
        std::vector<CachedToken<uint16_t>> tokens;
        for (int64_t i = 0; i < count; ++i) tokens.push_back({values.data() + i * width, values.data() + i * width});
        const AttendScatteredArguments<uint16_t> b{query.data(), tokens.data(), count, 0, 0, output.data()};
        inference::attend_scattered(shape, b, weights.data(), instructions);
        // Its keys are its values here.
        const ExactAttention exact = [&] {
          std::vector<const float*> rows;
          for (int64_t i = 0; i < count; ++i) rows.push_back(memory.data() + i * width);
          return exact_attention(shape, query.data(), rows, rows);
        }();
        for (size_t k = 0; k < output.size(); ++k) EXPECT_NEAR(output[k], exact.output[k], 1e-4);
      }
}

TEST(LayerNormOfRows, IsTheFormulaInDoubleLoops) {
  for (const Instructions instructions : available())
    for (const int64_t width : {1, 7, 16, 100, 512})
      for (const float offset : {0.0F, 50.0F}) {
        constexpr int64_t kRows = 3;
        auto x = random_floats(kRows * width, 5);
        for (auto& value : x) value += offset;
        const auto weight = random_floats(width, 6);
        const auto bias = random_floats(width, 7);
        std::vector<float> y(x);
        inference::layer_norm(y.data(), kRows, width, weight.data(), bias.data(), 1e-6F, y.data(), instructions);
        for (int64_t row = 0; row < kRows; ++row) {
          double mean = 0, variance = 0;
          const float* from = x.data() + row * width;
          for (int64_t i = 0; i < width; ++i) mean += static_cast<double>(from[i]) / static_cast<double>(width);
          for (int64_t i = 0; i < width; ++i)
            variance += std::pow(static_cast<double>(from[i]) - mean, 2) / static_cast<double>(width);
          for (int64_t i = 0; i < width; ++i) {
            const auto at = static_cast<size_t>(i);
            const double expected =
                (static_cast<double>(from[i]) - mean) / std::sqrt(variance + 1e-6) * static_cast<double>(weight[at]) +
                static_cast<double>(bias[at]);
            ASSERT_NEAR(y[static_cast<size_t>(row * width + i)], expected, offset > 0 ? 5e-4 : 2e-5) << width;
          }
        }
      }
}

// The best continuations by sorting all of them.
std::vector<Candidate> sorted_candidates(const std::vector<std::vector<float>>& logits,
                                         const std::vector<double>& totals, size_t count) {
  std::vector<Candidate> all;
  for (size_t row = 0; row < logits.size(); ++row) {
    double sum = 0;
    for (const float logit : logits[row]) sum += std::exp(static_cast<double>(logit));
    for (size_t token = 0; token < logits[row].size(); ++token) {
      const auto id = static_cast<int64_t>(token);
      if (id == special_ids::kPad || id == special_ids::kUnknown || id == special_ids::kBegin) continue;
      all.push_back(
          {static_cast<int64_t>(row), id, totals[row] + static_cast<double>(logits[row][token]) - std::log(sum)});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; });
  all.resize(std::min(count, all.size()));
  return all;
}

TEST(CandidateFinder, FindsWhatSortingFinds) {
  for (const Instructions instructions : available())
    for (const int64_t vocabulary : {5, 16, 127, 128, 129, 1000, 8001})
      for (const size_t rows : {size_t{1}, size_t{4}})
        for (const size_t count : {size_t{2}, size_t{8}, size_t{300}}) {
          std::vector<std::vector<float>> logits;
          std::vector<double> totals;
          std::vector<CandidateRow> given;
          for (size_t row = 0; row < rows; ++row) {
            logits.push_back(random_floats(vocabulary, static_cast<uint32_t>(row + count), 3));
            logits.back()[row % 3] = 12;  // a reserved one that would win
            totals.push_back(-0.7 * static_cast<double>(row));
          }
          for (size_t row = 0; row < rows; ++row) given.push_back({{logits[row].data(), vocabulary}, totals[row]});
          CandidateFinder finder(instructions);
          const auto found = finder.best(given, count);
          const auto expected = sorted_candidates(logits, totals, count);
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-5);
            ASSERT_EQ(found[i].parent, expected[i].parent) << i;
            ASSERT_EQ(found[i].token, expected[i].token);
          }
          ASSERT_NEAR(finder.log_probability(given[0].logits, 3),
                      sorted_candidates({logits[0]}, {0.0}, logits[0].size())[0].log_probability +
                          static_cast<double>(logits[0][3]) -
                          static_cast<double>(*std::max_element(logits[0].begin() + 3, logits[0].end())),
                      1e-5);
        }
}

TEST(CandidateFinder, PrefersTheFirstOfEqualsAndLeavesOutWhatCannotBe) {
  for (const Instructions instructions : available()) {
    std::vector<float> equal(200, -kInfinity);
    for (const size_t token : {4, 5, 150, 199}) equal[token] = 1.0F;
    const std::vector<float> nothing(200, -kInfinity);
    CandidateFinder finder(instructions);
    const auto tokens = [](const std::vector<Candidate>& list) {
      std::vector<int64_t> ids;
      for (const auto& candidate : list) ids.push_back(candidate.token);
      return ids;
    };
    const LogitsRow good{equal.data(), 200}, bad{nothing.data(), 200};
    EXPECT_THAT(tokens(finder.best({{good, 0.0}}, 3)), ElementsAre(4, 5, 150));
    EXPECT_THAT(tokens(finder.best({{good, 0.0}, {good, 0.0}}, 6)), ElementsAre(4, 5, 150, 199, 4, 5));
    EXPECT_THAT(tokens(finder.best({{bad, 0.0}, {good, -9.0}}, 8)), ElementsAre(4, 5, 150, 199));
    EXPECT_THAT(tokens(finder.best({{{equal.data(), 150}, 0.0}}, 8)), ElementsAre(4, 5));
    EXPECT_THAT(finder.best({{bad, 0.0}}, 8), SizeIs(0));
  }
}

}  // namespace
}  // namespace transmute
