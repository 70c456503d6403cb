#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/model/initialization.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/transformer.h>
#include <transmute/training/source_signal.h>

#include <cmath>
#include <cstring>

namespace transmute {
namespace {

TransformerOptions options_of(int64_t layers, NormPosition norm = NormPosition::post,
                              Initialization initialization = Initialization::scaled) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 200;
  options.num_encoder_layers = options.num_decoder_layers = layers;
  options.d_model = 64;
  options.num_heads = 4;
  options.d_ff = 128;
  options.norm_position = norm;
  options.initialization = initialization;
  return validated(options);
}

Transformer new_transformer(const TransformerOptions& options, uint64_t seed = 1) {
  torch::manual_seed(seed);
  return Transformer(options);
}

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

// A batch of random ids, sentences of 5 to 20 tokens.
Batch random_batch() {
  torch::manual_seed(5);
  Batch batch;
  batch.source = torch::randint(4, 200, {16, 20}, torch::kLong);
  for (int64_t row = 0; row < 16; ++row) batch.source[row].narrow(0, 5 + row % 16, 15 - row % 16).zero_();
  batch.target_in = batch.target_out = torch::randint(4, 200, {16, 12}, torch::kLong);
  return batch;
}

double deviation(const torch::nn::Linear& linear) {
  return linear->weight.std().item<double>();
}

double xavier_deviation(const torch::nn::Linear& linear) {
  return std::sqrt(2.0 / static_cast<double>(linear->weight.size(0) + linear->weight.size(1)));
}

TEST(Initialization, DrawsEmbeddingsSoThatScaledOnesHaveVarianceOne) {
  torch::manual_seed(4);
  const torch::nn::Embedding table = make_embedding(500, 64);
  ASSERT_EQ(table->weight.sizes(), torch::IntArrayRef({500, 64}));
  EXPECT_TRUE(table->weight.requires_grad());
  EXPECT_NEAR((table->weight * 8.0).std().item<double>(), 1.0, 0.02);
  EXPECT_NEAR(table->weight.mean().item<double>(), 0.0, 0.002);
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
  // What a seed means is a promise to those who keep their recipes: a change of these numbers is one for CHANGELOG.md,
  // and scripts/reproduce.sh.
  EXPECT_EQ(hash_of(new_transformer(options_of(2))), 0ULL);
  EXPECT_EQ(hash_of(new_transformer(options_of(2), 2)), 0ULL);
  EXPECT_EQ(hash_of(new_transformer(options_of(3, NormPosition::pre, Initialization::xavier))), 0ULL);
}

TEST(Initialization, DoesNotDependOnTheNumberOfThreads) {
  const int threads = torch::get_num_threads();
  const uint64_t hash = hash_of(new_transformer(options_of(1)));
  torch::set_num_threads(threads + 2);
  EXPECT_EQ(hash_of(new_transformer(options_of(1))), hash);
  torch::set_num_threads(threads);
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
  options.architecture = Architecture::decoder_only;
  options = validated(options);
  EXPECT_NEAR(residual_scale(options, Stack::decoder), 2.213, 1e-3);  // 24^(1/4)
  EXPECT_NEAR(branch_gain(options, Stack::decoder), 0.319, 1e-3);     // 96^(-1/4)
  options.norm_position = NormPosition::post;
  options.initialization = Initialization::xavier;
  EXPECT_EQ(residual_scale(options, Stack::decoder), 1);
  EXPECT_EQ(branch_gain(options, Stack::decoder), 1);
}

// What decides whether a training takes off: Xavier's bound alone makes all positions alike before the first step.
TEST(Initialization, KeepsPositionsApartThroughAllLayers) {
  const Batch batch = random_batch();
  const auto variance = [&](const TransformerOptions& options) {
    Transformer transformer = new_transformer(options);
    return source_signal(transformer, batch).position_variance;
  };
  for (const int64_t layers : {1, 2, 4, 6}) EXPECT_GT(variance(options_of(layers)), 0.4) << layers;
  for (const int64_t layers : {6, 12, 24, 48})
    EXPECT_GT(variance(options_of(layers, NormPosition::deep)), 0.5) << layers;
  for (const int64_t layers : {6, 24}) EXPECT_GT(variance(options_of(layers, NormPosition::pre)), 0.4) << layers;
  EXPECT_LT(variance(options_of(6, NormPosition::post, Initialization::xavier)), 0.15);
}

TEST(SourceSignal, MeasuresWhatItSays) {
  Transformer transformer = new_transformer(options_of(2));
  const Batch batch = random_batch();
  const SourceSignal fresh = source_signal(transformer, batch);
  EXPECT_GT(fresh.attention_entropy, 0.8);
  EXPECT_LE(fresh.attention_entropy, 1 + 1e-5);
  EXPECT_LE(fresh.sharpest_head, fresh.attention_entropy);
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key().find("cross_attention.key") != std::string::npos) item.value().zero_();
  }
  const SourceSignal uniform = source_signal(transformer, batch);
  EXPECT_NEAR(uniform.attention_entropy, 1, 1e-5) << "whatever the lengths of the sources";
  EXPECT_TRUE(uniform.is_collapsed());
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key().find("feed_forward_norm.weight") != std::string::npos) item.value().zero_();
  }
  EXPECT_NEAR(source_signal(transformer, batch).position_variance, 0, 1e-6) << "every position has the norm's bias";
}

TEST(SourceSignal, SeesASharpHead) {
  Transformer transformer = new_transformer(options_of(2));
  {
    const torch::NoGradGuard no_grad;
    for (auto& item : transformer->named_parameters())
      if (item.key() == "decoder.layers.1.cross_attention.key.weight") item.value().narrow(0, 16, 16).mul_(100);
  }
  const SourceSignal signal = source_signal(transformer, random_batch());
  EXPECT_LT(signal.sharpest_head, 0.3);
  EXPECT_FALSE(signal.is_collapsed());
}

TEST(SourceSignal, LeavesTheNetworkInItsMode) {
  Transformer transformer = new_transformer(options_of(1));
  transformer->train();
  source_signal(transformer, random_batch());
  EXPECT_TRUE(transformer->is_training());
}

TEST(SourceSignal, HasNothingToSayOfSourcesOfOneToken) {
  Transformer transformer = new_transformer(options_of(1));
  Batch batch = random_batch();
  batch.source = batch.source.narrow(1, 0, 1);
  EXPECT_FALSE(source_signal(transformer, batch).is_collapsed());
}

TEST(SourceSignal, NamesTheRemediesThatAreLeft) {
  TransformerOptions options = options_of(4, NormPosition::post, Initialization::xavier);
  options.dropout = 0.3;
  EXPECT_THAT(collapse_warning({0.01, 1, 0.99}, options),
              ::testing::AllOf(::testing::HasSubstr("model.initialization: scaled"), ::testing::HasSubstr("below 0.3"),
                               ::testing::HasSubstr("norm_position: deep"), ::testing::HasSubstr("99.0%")));
  options.initialization = Initialization::scaled;
  options.norm_position = NormPosition::deep;
  options.dropout = 0.1;
  const std::string left = collapse_warning({0.01, 1, 0.99}, options);
  EXPECT_THAT(left, ::testing::Not(::testing::HasSubstr("model.")));
  EXPECT_THAT(left, ::testing::HasSubstr("training.warmup_steps"));
}

}  // namespace
}  // namespace transmute
