// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/decoder.h>
#include <transmute/model/encoder.h>
#include <transmute/model/feed_forward.h>
#include <transmute/model/masks.h>
#include <transmute/model/positional_encoding.h>
#include <transmute/model/sublayer.h>
#include <transmute/tests/support/dropout_mask.h>
#include <transmute/tests/support/tensors.h>

#include <algorithm>
#include <cmath>

namespace transmute {
namespace {

using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::matrix_of;
using testing::random_tensor;

constexpr NormPosition kNormPositions[] = {NormPosition::post, NormPosition::pre, NormPosition::deep};
constexpr Stack kStacks[] = {Stack::encoder, Stack::decoder};

const char* name_of(NormPosition position) {
  if (position == NormPosition::deep) return "deep";
  return position == NormPosition::post ? "post" : "pre";
}

TransformerOptions small_options(NormPosition position = NormPosition::post) {
  TransformerOptions options;
  options.d_model = 6;
  options.num_heads = 2;
  options.d_k = 3;
  options.d_v = 5;
  options.d_ff = 11;
  options.num_encoder_layers = 3;  // another depth than the decoder's: DeepNorm's factors depend on both
  options.num_decoder_layers = 2;
  options.norm_position = position;
  options.dropout = 0;
  options.norm_epsilon = 1e-3;  // large enough that its place in the formula shows
  return options;
}

template <class Module>
Module randomized(Module module, torch::Dtype dtype = torch::kDouble) {
  testing::randomize_parameters(*module, 21);
  module->to(dtype);
  return module;
}

TEST(FeedForward, EqualsDoublePrecisionLoops) {
  const torch::Tensor x = random_tensor({3, 4, 6}, 1);
  for (const auto dtype : {torch::kDouble, torch::kFloat}) {
    FeedForward module = randomized(FeedForward(FeedForwardOptions{6, 11}), dtype);
    expect_near(module(x.to(dtype)),
                reference::feed_forward(Activation::relu, testing::weights_of(*module), "", matrix_of(x)),
                dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance);
  }
}

TEST(FeedForward, DropsActivationsAfterTheReLU) {
  const double probability = 0.4;
  FeedForward module = randomized(FeedForward(FeedForwardOptions{6, 11, probability}));
  const torch::Tensor x = random_tensor({1, 4, 6}, 1);
  const torch::Tensor kept = testing::dropout_mask(5, 44, probability);
  const kernels::DropoutScope scope(5);
  const torch::Tensor trained = module(x);
  const auto drop = [&](reference::DropoutSite, reference::Matrix& hidden) {
    for (size_t i = 0; i < hidden.values.size(); ++i)
      hidden.values[i] *= kept[static_cast<int64_t>(i)].item<bool>() ? 1 / (1 - probability) : 0;
  };
  expect_near(trained, reference::feed_forward(Activation::relu, testing::weights_of(*module), "", matrix_of(x), drop),
              kDoubleTolerance);
}

TEST(LayerNorm, EqualsDoublePrecisionLoops) {
  LayerNorm norm = randomized(LayerNorm(7, 1e-3));
  // The second row varies so little that epsilon decides, the third not at all.
  torch::Tensor x = random_tensor({1, 3, 7}, 1) + 3;
  x[0][1] = 2 + 1e-3 * x[0][0];
  x[0][2].fill_(5);
  expect_near(norm(x), reference::layer_norm(matrix_of(x), testing::weights_of(*norm), "", 1e-3), kDoubleTolerance);
  EXPECT_TRUE(torch::allclose(norm(x)[0][2], norm->bias));
}

TEST(ResidualNorm, EqualsDoublePrecisionLoopsInEveryPosition) {
  const torch::Tensor x = random_tensor({2, 3, 6}, 1);
  for (const NormPosition position : kNormPositions)
    for (const Stack stack : kStacks)
      for (const auto dtype : {torch::kDouble, torch::kFloat}) {
        SCOPED_TRACE(name_of(position));
        ResidualNorm module = randomized(ResidualNorm(small_options(position), stack), dtype);
        const torch::Tensor actual = module(x.to(dtype), [](const torch::Tensor& input) { return input * 3 + 1; });
        const auto expected = reference::residual_norm(small_options(position), testing::weights_of(*module), "", stack,
                                                       matrix_of(x), [](reference::Matrix input) {
                                                         for (double& value : input.values) value = value * 3 + 1;
                                                         return input;
                                                       });
        expect_near(actual, expected, dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance);
      }
}

TEST(ResidualNorm, DropsTheSublayersOutputAndNeverTheResidual) {
  for (const NormPosition position : kNormPositions) {
    SCOPED_TRACE(name_of(position));
    TransformerOptions options = small_options(position);
    options.dropout = 0.4;
    ResidualNorm module = randomized(ResidualNorm(options, Stack::decoder));
    const torch::Tensor x = random_tensor({1, 5, 6}, 1);
    const torch::Tensor kept = testing::dropout_mask(8, 30, options.dropout);
    const kernels::DropoutScope scope(8);
    const torch::Tensor actual = module(x, [](const torch::Tensor& input) { return input * 2; });
    const auto expected = reference::residual_norm(
        options, testing::weights_of(*module), "", Stack::decoder, matrix_of(x),
        [](reference::Matrix input) {
          for (double& value : input.values) value *= 2;
          return input;
        },
        [&](reference::DropoutSite, reference::Matrix& values) {
          for (size_t i = 0; i < values.values.size(); ++i)
            values.values[i] *= kept[static_cast<int64_t>(i)].item<bool>() ? 1 / (1 - options.dropout) : 0;
        });
    expect_near(actual, expected, kDoubleTolerance);
  }
}

TEST(PositionalEncoding, HoldsThePapersSinusoids) {
  const int64_t d_model = 10;
  const torch::Tensor positions = sinusoidal_positions(0, 3000, d_model);
  ASSERT_EQ(positions.sizes(), torch::IntArrayRef({3000, d_model}));
  EXPECT_EQ(positions.scalar_type(), torch::kFloat);
  for (const int64_t position : {0, 1, 2, 17, 511, 1024, 2999})
    for (int64_t i = 0; i < d_model; ++i)
      // Half a unit in the last place of a float32 below 1.
      EXPECT_NEAR(positions[position][i].item<double>(), reference::sinusoid(position, i, d_model), 6.1e-8)
          << position << ' ' << i;
}

TEST(PositionalEncoding, HasTheSinusoidsOfOtherPrograms) {
  // Hugging Face's Marian, d_model 6: 10000^(-2i/6) for i = 0, 1, 2; sines first.
  const torch::Tensor marian = sinusoidal_positions(0, 4, 6, {PositionLayout::halves, PositionFrequencies::paper, 0});
  for (int64_t i = 0; i < 3; ++i) {
    const double angle = 3 / std::pow(10000.0, 2.0 * static_cast<double>(i) / 6);
    EXPECT_NEAR(marian[3][i].item<double>(), std::sin(angle), 6.1e-8);
    EXPECT_NEAR(marian[3][3 + i].item<double>(), std::cos(angle), 6.1e-8);
  }
  // fairseq's, whose last frequency is 1/10000 and whose first position is 2.
  const torch::Tensor fairseq =
      sinusoidal_positions(0, 40, 6, {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2});
  for (const int64_t place : {0, 39})
    for (int64_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(place + 2) * std::pow(10000.0, -0.5 * static_cast<double>(i));
      EXPECT_NEAR(fairseq[place][i].item<double>(), std::sin(angle), 6.1e-8);
      EXPECT_NEAR(fairseq[place][3 + i].item<double>(), std::cos(angle), 6.1e-8);
    }
}

// Options of positional encodings alone.
TransformerOptions position_options(PositionalEncodingKind kind, int64_t d_model, int64_t max_positions) {
  TransformerOptions options;
  options.positional_encoding = kind;
  options.d_model = d_model;
  options.max_positions = max_positions;
  return options;
}

TEST(PositionalEncoding, SinusoidsGoOnBeyondTheirTable) {
  PositionalEncoding encoding(position_options(PositionalEncodingKind::sinusoidal, 8, 10));
  EXPECT_TRUE(encoding->parameters().empty());
  const torch::Tensor all = sinusoidal_positions(0, 40, 8);
  EXPECT_TRUE(torch::equal(encoding(0, 10), all.slice(0, 0, 10)));
  EXPECT_TRUE(torch::equal(encoding(3, 4), all.slice(0, 3, 7)));
  EXPECT_TRUE(torch::equal(encoding(7, 9), all.slice(0, 7, 16)));
  EXPECT_TRUE(torch::equal(encoding(39, 1), all.slice(0, 39, 40)));
  EXPECT_EQ(encoding(7, 9).scalar_type(), torch::kFloat);
}

// An attention cache computes them one by one, a text all at once.
TEST(PositionalEncoding, SinusoidsOfAPositionDoNotDependOnTheOthers) {
  const int64_t d_model = 64, length = 5000;
  for (const Sinusoids& sinusoids :
       {Sinusoids{}, Sinusoids{PositionLayout::halves, PositionFrequencies::tensor2tensor, 2}}) {
    const torch::Tensor all = sinusoidal_positions(0, length, d_model, sinusoids);
    for (int64_t first = 0; first < length; first += 7)
      for (const int64_t count : {1, 31, 33, 70}) {
        const torch::Tensor some = sinusoidal_positions(first, std::min(count, length - first), d_model, sinusoids);
        EXPECT_TRUE(torch::equal(some, all.slice(0, first, first + count))) << first << ' ' << count;
      }
  }
}

TEST(PositionalEncoding, TakesNoMemoryForEveryPositionThatAConfigNames) {
  PositionalEncoding encoding(position_options(PositionalEncodingKind::sinusoidal, 64, int64_t{1} << 24));
  EXPECT_LE(encoding->named_buffers()["sinusoids"].nbytes(), size_t{4096} * 64 * sizeof(float));
  EXPECT_TRUE(torch::equal(encoding(4000, 1000), sinusoidal_positions(4000, 1000, 64)));
}

TEST(PositionalEncoding, LearnedTableEndsWhereItEnds) {
  torch::manual_seed(4);
  const int64_t d_model = 64;
  PositionalEncoding encoding(position_options(PositionalEncodingKind::learned, d_model, 200));
  const torch::Tensor weight = encoding->named_parameters()["weight"];
  ASSERT_EQ(weight.sizes(), torch::IntArrayRef({200, d_model}));
  EXPECT_NEAR(weight.std().item<double>(), 1 / std::sqrt(64.0), 0.005);
  EXPECT_NEAR(weight.mean().item<double>(), 0, 0.005);
  EXPECT_TRUE(torch::equal(encoding(0, 200), weight));
  EXPECT_TRUE(torch::equal(encoding(5, 3), weight.slice(0, 5, 8)));
  EXPECT_THROW(encoding(0, 201), c10::ValueError);
  EXPECT_THROW(encoding(200, 1), c10::ValueError);
  encoding(5, 3).sum().backward();
  EXPECT_EQ(weight.grad().sum().item<double>(), 3.0 * d_model);
}

TEST(EncoderLayer, EqualsDoublePrecisionLoopsInEveryPosition) {
  const torch::Tensor x = random_tensor({2, 4, 6}, 1);
  const torch::Tensor mask = padding_mask(testing::ids_tensor({{1, 1, 1, 1}, {1, 1, 0, 0}}), 0);
  for (const NormPosition position : kNormPositions) {
    SCOPED_TRACE(name_of(position));
    const TransformerOptions options = small_options(position);
    EncoderLayer layer = randomized(EncoderLayer(options));
    const AttentionResult result = layer(x, mask, ReturnWeights::yes);
    ASSERT_EQ(result.weights.sizes(), torch::IntArrayRef({2, 2, 4, 4}));
    EXPECT_FALSE(layer(x, mask).weights.defined());
    for (int64_t b = 0; b < 2; ++b)
      expect_near(result.output[b],
                  reference::encoder_layer(options, testing::weights_of(*layer), "", matrix_of(x[b]),
                                           [&](int64_t, int64_t key) { return b == 0 || key < 2; }),
                  kDoubleTolerance);
  }
}

TEST(DecoderLayer, EqualsDoublePrecisionLoopsInEveryPosition) {
  const torch::Tensor x = random_tensor({2, 3, 6}, 1);
  const torch::Tensor memory = random_tensor({2, 4, 6}, 2);
  const torch::Tensor mask = padding_mask(testing::ids_tensor({{1, 1, 1, 1}, {1, 1, 1, 0}}), 0);
  for (const NormPosition position : kNormPositions) {
    SCOPED_TRACE(name_of(position));
    const TransformerOptions options = small_options(position);
    DecoderLayer layer = randomized(DecoderLayer(options));
    const auto result = layer(x, memory, causal_mask(3, torch::kCPU), mask, ReturnWeights::yes);
    ASSERT_EQ(result.self_weights.sizes(), torch::IntArrayRef({2, 2, 3, 3}));
    ASSERT_EQ(result.cross_weights.sizes(), torch::IntArrayRef({2, 2, 3, 4}));
    for (int64_t b = 0; b < 2; ++b)
      expect_near(
          result.output[b],
          reference::decoder_layer(options, testing::weights_of(*layer), "", matrix_of(x[b]), matrix_of(memory[b]),
                                   [&](int64_t, int64_t key) { return b == 0 || key < 3; }),
          kDoubleTolerance);
  }
}

TEST(Stacks, NormalizeOnceMoreAtTheEndOnlyWhenPre) {
  for (const NormPosition position : kNormPositions) {
    SCOPED_TRACE(name_of(position));
    const bool pre = position == NormPosition::pre;
    EXPECT_EQ(Encoder(small_options(position))->named_parameters().contains("norm.weight"), pre);
    EXPECT_EQ(Decoder(small_options(position))->named_parameters().contains("norm.weight"), pre);
  }
}

TEST(Stacks, ReturnEachLayersWeightsOnRequest) {
  Encoder encoder = randomized(Encoder(small_options()));
  Decoder decoder = randomized(Decoder(small_options()));
  const torch::Tensor mask = torch::ones({1, 1, 1, 4}, torch::kBool);
  const torch::Tensor x = random_tensor({1, 4, 6}, 1);
  EXPECT_TRUE(encoder(x, mask).self_weights.empty());
  const EncoderOutput encoded = encoder(x, mask, ReturnWeights::yes);
  ASSERT_EQ(encoded.self_weights.size(), 3u);
  EXPECT_FALSE(torch::allclose(encoded.self_weights[0], encoded.self_weights[1]));
  EXPECT_TRUE(decoder(x, encoded.memory, mask).cross_weights.empty());
  const DecoderOutput decoded = decoder(x, encoded.memory, mask, ReturnWeights::yes);
  EXPECT_EQ(decoded.self_weights.size(), 2u);
  EXPECT_EQ(decoded.cross_weights.size(), 2u);
}

}  // namespace
}  // namespace transmute
