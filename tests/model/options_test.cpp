// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/options.h>
#include <transmute/tests/support/errors.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kOverflowing[] = {int64_t{1} << 32, 4611686018427387936, std::numeric_limits<int64_t>::max()};

TEST(ValidatedOptions, BoundEverySize) {
  const std::pair<int64_t TransformerOptions::*, const char*> fields[] = {
      {&TransformerOptions::source_vocab_size, "source_vocab_size"},
      {&TransformerOptions::target_vocab_size, "target_vocab_size"},
      {&TransformerOptions::num_encoder_layers, "num_encoder_layers"},
      {&TransformerOptions::num_decoder_layers, "num_decoder_layers"},
      {&TransformerOptions::d_model, "d_model"},
      {&TransformerOptions::num_heads, "num_heads"},
      {&TransformerOptions::d_k, "d_k"},
      {&TransformerOptions::d_v, "d_v"},
      {&TransformerOptions::d_ff, "d_ff"},
      {&TransformerOptions::max_positions, "max_positions"}};
  for (const auto& [field, name] : fields)
    for (const int64_t value : kOverflowing) {
      TransformerOptions options;
      options.d_k = options.d_v = 64;
      options.*field = value;
      EXPECT_THAT(testing::message_of<std::invalid_argument>([&] { validated(options); }),
                  AllOf(HasSubstr(name), HasSubstr("at most")))
          << value;
    }
}

TEST(ValidatedOptions, BoundTheWidthOfAllHeads) {
  TransformerOptions options;
  options.num_heads = options.d_k = options.d_v = int64_t{1} << 20;
  EXPECT_THAT(testing::message_of<std::invalid_argument>([&] { validated(options); }),
              AllOf(HasSubstr("num_heads"), HasSubstr("d_k")));
}

TEST(ValidatedOptions, CountTheLargestNetworkWithoutOverflow) {
  TransformerOptions options;
  options.num_encoder_layers = options.num_decoder_layers = 1000;
  options.d_model = options.d_ff = options.d_k = options.d_v = int64_t{1} << 20;
  options.num_heads = 16;
  options.score_function = ScoreFunction::additive;
  options.source_vocab_size = options.target_vocab_size = options.max_positions = int64_t{1} << 24;
  EXPECT_GT(parameter_count(options), int64_t{1} << 56);
}

}  // namespace
}  // namespace transmute
