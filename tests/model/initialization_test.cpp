// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/initialization.h>
#include <transmute/tests/support/default_dtype.h>
#include <transmute/tests/support/new_transformer.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

namespace transmute {
namespace {

using testing::new_transformer;
using testing::options_of;

// FNV-1a over names and bytes, in the order of the file format.
uint64_t hash_of(const Transformer& transformer) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](const void* data, size_t size) {
    const auto* bytes = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  };
  for (const auto& item : transformer->named_parameters()) {
    const torch::Tensor values = item.value().detach().contiguous();
    add(item.key().data(), item.key().size());
    add(values.data_ptr<float>(), static_cast<size_t>(values.numel()) * sizeof(float));
  }
  return hash;
}

// Share of the encoder output's squared norm that differs between the positions of a sentence.
double position_variance(const TransformerOptions& options) {
  Transformer transformer = new_transformer(options);
  transformer->eval();
  const torch::Tensor memory = transformer->encode(torch::randint(4, 200, {16, 14}, torch::kLong)).memory.detach();
  return ((memory - memory.mean(1, true)).square().sum() / memory.square().sum()).item<double>();
}

double deviation(const torch::nn::Linear& linear) {
  return linear->weight.std().item<double>();
}

double xavier_deviation(const torch::nn::Linear& linear) {
  return std::sqrt(2.0 / static_cast<double>(linear->weight.size(0) + linear->weight.size(1)));
}

TEST(Initialization, MakesLinearMapsOfTheGivenSize) {
  torch::nn::Linear linear = make_linear(3, 5, Bias::zero);
  EXPECT_EQ(linear->weight.sizes(), torch::IntArrayRef({5, 3}));
  EXPECT_TRUE(torch::equal(linear->bias, torch::zeros({5})));
  EXPECT_EQ(linear->options.in_features(), 3);
  EXPECT_EQ(linear->options.out_features(), 5);
  EXPECT_FALSE(make_linear(3, 5, Bias::none)->bias.defined());
  linear(torch::ones({2, 3})).sum().backward();
  EXPECT_TRUE(torch::equal(linear->weight.grad(), torch::full({5, 3}, 2.0)));
}

TEST(Initialization, IsLeftOutWhereWeightsAreToBeReplaced) {
  torch::Tensor weight = torch::zeros({4});
  {
    const UndrawnWeights outer;
    const UndrawnWeights inner;
    draw_uniform(weight, 1.0);
    draw_normal(weight, 1.0);
    EXPECT_TRUE(torch::equal(weight, torch::zeros({4})));
  }
  draw_uniform(weight, 1.0);
  EXPECT_FALSE(torch::equal(weight, torch::zeros({4})));
}

TEST(Initialization, IsTheSameFromReleaseToRelease) {
  // The meaning of a seed is a promise to those who keep their recipes: a change of these numbers is one for
  // CHANGELOG.md, and scripts/reproduce.sh.
  EXPECT_EQ(hash_of(new_transformer(options_of(2))), 9979224968181939012ULL);
  EXPECT_EQ(hash_of(new_transformer(options_of(2), 2)), 11116155356384131466ULL);
  EXPECT_EQ(hash_of(new_transformer(options_of(3, NormPosition::pre, Initialization::xavier))),
            14903253186891493222ULL);
}

TEST(Initialization, IsOfFloat32WhateverTheApplicationsDefaultTypeIs) {
  TransformerOptions options = options_of(2, NormPosition::pre);
  options.embedding_tying = EmbeddingTying::none;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.score_function = ScoreFunction::additive;
  options.output_bias = options.embedding_norm = true;
  for (const ScoreFunction function : {ScoreFunction::additive, ScoreFunction::bilinear}) {
    options.score_function = function;
    const uint64_t expected = hash_of(new_transformer(options));
    for (const torch::Dtype dtype : testing::kDefaultDtypes) {
      const testing::DefaultDtype of_the_application(dtype);
      const Transformer transformer = new_transformer(options);
      for (const auto& item : transformer->named_parameters())
        EXPECT_EQ(item.value().scalar_type(), torch::kFloat) << item.key() << ", " << dtype;
      EXPECT_EQ(hash_of(transformer), expected) << dtype;
    }
  }
}

// Networks whose weights are read draw none: an application opens a model while it draws.
TEST(Initialization, GivesNoNumberASecondTimeToOtherThreads) {
  std::atomic<bool> ended{false};
  std::thread maker([&] {
    const UndrawnWeights undrawn;
    for (int i = 0; i < 3000; ++i) make_linear(2, 2, Bias::zero);
    ended = true;
  });
  std::set<std::pair<double, double>> drawn;
  size_t draws = 0;
  for (; !ended; ++draws) {
    const torch::Tensor numbers = torch::rand({2}, torch::kDouble);
    drawn.emplace(numbers[0].item<double>(), numbers[1].item<double>());
  }
  maker.join();
  EXPECT_EQ(drawn.size(), draws);
}

TEST(Initialization, ScalesWhatJoinsTheResidualStream) {
  const TransformerOptions options = options_of(6);
  MultiHeadAttention attention(attention_options(options, Stack::encoder));
  FeedForward feed_forward(feed_forward_options(options, Stack::decoder));
  const double encoder_gain = 0.87 * std::pow(std::pow(6.0, 4) * 6, -1.0 / 16);  // 0.497
  const double decoder_gain = std::pow(12.0 * 6, -0.25);                         // 0.343
  for (const auto& linear : {attention->value, attention->output})
    EXPECT_NEAR(deviation(linear) / xavier_deviation(linear), encoder_gain, 0.02);
  for (const auto& linear : {attention->query, attention->key})
    EXPECT_NEAR(deviation(linear) / xavier_deviation(linear), 1, 0.03);
  for (const auto& linear : {feed_forward->inner, feed_forward->outer})
    EXPECT_NEAR(deviation(linear) / xavier_deviation(linear), decoder_gain, 0.02);

  const TransformerOptions plain = options_of(6, NormPosition::post, Initialization::xavier);
  MultiHeadAttention unscaled(attention_options(plain, Stack::encoder));
  for (const auto& linear : {unscaled->query, unscaled->key, unscaled->value, unscaled->output})
    EXPECT_NEAR(deviation(linear) / xavier_deviation(linear), 1, 0.03);
}

TEST(Initialization, TakesDeepNormsFactorsFromTheDepths) {
  TransformerOptions options = options_of(12, NormPosition::deep);
  EXPECT_NEAR(residual_scale(options, Stack::encoder), 1.760, 1e-3);  // 0.81 · (12^4 · 12)^(1/16)
  EXPECT_NEAR(residual_scale(options, Stack::decoder), 2.449, 1e-3);  // 36^(1/4)
  EXPECT_NEAR(branch_gain(options, Stack::encoder), 0.400, 1e-3);
  EXPECT_NEAR(branch_gain(options, Stack::decoder), 0.289, 1e-3);
  // Equal depths would not show which of the two a formula takes.
  TransformerOptions deep_encoder = options_of(6, NormPosition::deep);
  deep_encoder.num_decoder_layers = 2;
  EXPECT_NEAR(residual_scale(deep_encoder, Stack::encoder), 1.324, 1e-3);  // 0.81 · (6^4 · 2)^(1/16)
  EXPECT_NEAR(residual_scale(deep_encoder, Stack::decoder), 1.565, 1e-3);  // 6^(1/4)
  EXPECT_NEAR(branch_gain(deep_encoder, Stack::encoder), 0.532, 1e-3);     // 0.87 · (6^4 · 2)^(-1/16)
  EXPECT_NEAR(branch_gain(deep_encoder, Stack::decoder), 0.452, 1e-3);     // 24^(-1/4)
  options.architecture = Architecture::decoder_only;
  options = validated(options);
  EXPECT_NEAR(residual_scale(options, Stack::decoder), 2.213, 1e-3);  // 24^(1/4)
  EXPECT_NEAR(branch_gain(options, Stack::decoder), 0.319, 1e-3);     // 96^(-1/4)
  options.norm_position = NormPosition::post;
  options.initialization = Initialization::xavier;
  EXPECT_EQ(residual_scale(options, Stack::decoder), 1);
  EXPECT_EQ(branch_gain(options, Stack::decoder), 1);
}

// This decides whether a training takes off: Xavier's bound alone makes all positions alike before the first step.
TEST(Initialization, KeepsPositionsApartThroughAllLayers) {
  for (const int64_t layers : {1, 2, 4, 6}) EXPECT_GT(position_variance(options_of(layers)), 0.4) << layers;
  for (const int64_t layers : {6, 12, 24, 48})
    EXPECT_GT(position_variance(options_of(layers, NormPosition::deep)), 0.5) << layers;
  for (const int64_t layers : {6, 24})
    EXPECT_GT(position_variance(options_of(layers, NormPosition::pre)), 0.4) << layers;
  EXPECT_LT(position_variance(options_of(6, NormPosition::post, Initialization::xavier)), 0.15);
}

TEST(Initialization, DrawsEmbeddingsWithUnitVarianceAfterTheirScale) {
  torch::manual_seed(5);
  TransformerOptions options = options_of(1);
  options.source_vocab_size = options.target_vocab_size = 1500;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 500;
  options.embedding_tying = EmbeddingTying::none;
  Transformer model(options);
  const auto parameters = model->named_parameters();
  for (const char* name :
       {"source_embedding.weight", "target_embedding.weight", "source_positions.weight", "target_positions.weight"}) {
    // Four standard errors of the standard deviation of at least 32,000 numbers.
    EXPECT_NEAR(parameters[name].std().item<double>() * std::sqrt(64.0), 1, 0.016) << name;
    EXPECT_NEAR(parameters[name].mean().item<double>() * std::sqrt(64.0), 0, 0.023) << name;
  }
  const double bound = std::sqrt(6.0 / (1500 + 64));
  EXPECT_LE(parameters["output.weight"].abs().max().item<double>(), bound);
  EXPECT_GT(parameters["output.weight"].abs().max().item<double>(), 0.95 * bound);
}

TEST(Initialization, LeavesNormsAndBiasesNeutral) {
  for (const auto& parameter : Transformer(options_of(1, NormPosition::pre))->named_parameters()) {
    EXPECT_EQ(parameter.value().scalar_type(), torch::kFloat) << parameter.key();
    if (parameter.value().dim() > 1) continue;
    const bool is_gain = parameter.key().find("norm.weight") != std::string::npos;
    EXPECT_TRUE(parameter.value().eq(is_gain ? 1 : 0).all().item<bool>()) << parameter.key();
  }
}

}  // namespace
}  // namespace transmute
