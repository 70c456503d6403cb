// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/network/int8_panels.h>
#include <transmute/network/weight_names.h>
#include <transmute/network/weights.h>
#include <transmute/tests/support/errors.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

TransformerOptions odd_options() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 11;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = 8;
  options.num_heads = 2;
  options.d_k = 3;
  options.d_v = 5;
  options.d_ff = 16;
  options.max_positions = 7;
  return options;
}

// All combinations of what changes the parameters.
std::vector<TransformerOptions> every_kind_of_network() {
  std::vector<TransformerOptions> kinds;
  for (const auto architecture : {Architecture::encoder_decoder, Architecture::decoder_only})
    for (const auto score :
         {ScoreFunction::scaled_dot_product, ScoreFunction::additive, ScoreFunction::bilinear, ScoreFunction::uniform})
      for (const auto norm : {NormPosition::post, NormPosition::pre, NormPosition::deep})
        for (const auto tying : {EmbeddingTying::all, EmbeddingTying::target_output, EmbeddingTying::none})
          for (const auto positions : {PositionalEncodingKind::sinusoidal, PositionalEncodingKind::learned})
            for (const bool of_other_programs : {false, true}) {
              TransformerOptions options = odd_options();
              options.architecture = architecture;
              options.score_function = score;
              options.norm_position = norm;
              options.embedding_tying = tying;
              options.positional_encoding = positions;
              options.attention_bias = options.output_bias = options.embedding_norm = of_other_programs;
              if (tying != EmbeddingTying::all && architecture != Architecture::decoder_only)
                options.source_vocab_size = 13;
              kinds.push_back(options);
              if (architecture == Architecture::decoder_only) continue;
              options.decoder_self_attention = DecoderSelfAttention::ssru;
              kinds.push_back(options);
            }
  return kinds;
}

TEST(ParameterShapes, AreThoseOfTheModulesInTheirOrder) {
  for (const TransformerOptions& options : every_kind_of_network()) {
    const std::vector<ParameterShape> shapes = parameter_shapes(options);
    const NamedTensors parameters = parameters_of(Transformer(options));
    ASSERT_EQ(shapes.size(), parameters.size());
    int64_t count = 0;
    for (size_t p = 0; p < shapes.size(); ++p) {
      EXPECT_EQ(shapes[p].name, parameters[p].first);
      EXPECT_EQ(shapes[p].shape, parameters[p].second.sizes().vec()) << shapes[p].name;
      count += parameters[p].second.numel();
    }
    EXPECT_EQ(parameter_count(options), count);
  }
}

Weights small_weights() {
  torch::manual_seed(3);
  Transformer transformer(odd_options());
  const torch::NoGradGuard no_grad;
  // Rows that int8 treats in their own ways: zeros, and ties between two numbers.
  torch::Tensor matrix = transformer->named_parameters()["encoder.layers.0.feed_forward.inner.weight"];
  matrix[0].zero_();
  matrix[1].copy_(torch::tensor({127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -126.5F, 126.5F}));
  return weights_of(transformer);
}

std::set<std::string> names_of_products() {
  const std::vector<std::string> names = WeightNames(odd_options()).product_matrices();
  return {names.begin(), names.end()};
}

TEST(Weights, AreStoredInInt8AsLibTorchsOperationsMakeThem) {
  const Weights weights = small_weights(), stored = weights.stored_as(Precision::int8);
  EXPECT_EQ(stored.stored(), Precision::int8);
  const std::set<std::string> products = names_of_products();
  for (const auto& [name, shape] : parameter_shapes(odd_options())) {
    SCOPED_TRACE(name);
    ASSERT_EQ(stored.is_int8(name), products.count(name) > 0);
    const torch::Tensor weight = to_tensor(weights.float32(name));
    if (!stored.is_int8(name)) {
      EXPECT_TRUE(stored.numbers(name).equals(weights.numbers(name)));
      continue;
    }
    const torch::Tensor largest = weight.abs().amax(1), most = torch::full_like(largest, 127);
    const torch::Tensor inverse = (most / largest).masked_fill_(largest == 0, 0);
    const torch::Tensor numbers = (weight * inverse.unsqueeze(1)).round().to(torch::kChar), scales = largest / most;
    EXPECT_TRUE(stored.int8_rows(name).equals(to_array(numbers)));
    EXPECT_TRUE(stored.numbers(name).equals(to_int8_panels(to_array(numbers))));
    EXPECT_TRUE(stored.scales(name).equals(to_array(scales)));
    const torch::Tensor expanded = numbers.to(torch::kFloat) * scales.unsqueeze(1);
    EXPECT_TRUE(stored.float32(name).equals(to_array(expanded)));
  }
}

// An embedding that is the output's matrix too is stored as both.
TEST(Weights, HoldATiedOutputInInt8BesideItsEmbedding) {
  const Weights weights = small_weights(), stored = weights.stored_as(Precision::int8);
  const std::string embedding = WeightNames(odd_options()).output.weight, output = embedding + kInt8Suffix;
  ASSERT_FALSE(weights.has(output));
  ASSERT_TRUE(stored.is_int8(output));
  EXPECT_TRUE(stored.numbers(embedding).equals(weights.numbers(embedding)));
  const Array& exact = weights.numbers(embedding);
  ASSERT_EQ(stored.shape(output), exact.shape());
  const Array found = stored.float32(output);
  for (int64_t row = 0; row < exact.size(0); ++row)
    for (int64_t column = 0; column < exact.size(1); ++column) {
      const int64_t i = row * exact.size(1) + column;
      ASSERT_NEAR(found.floats()[i], exact.floats()[i], stored.scales(output).floats()[row] * 0.501F);
    }
  const Weights again = stored.stored_as(Precision::int8);
  EXPECT_TRUE(again.numbers(output).equals(stored.numbers(output)));
  EXPECT_FALSE(stored.stored_as(Precision::float32).has(output));
  EXPECT_FALSE(stored.stored_as(Precision::half).has(output));
}

TEST(Weights, AreStoredInHalfTheBitsAsLibTorchRoundsThem) {
  const Weights weights = small_weights();
  const std::set<std::string> products = names_of_products();
  for (const auto& [precision, dtype] :
       {std::pair{Precision::half, torch::kHalf}, {Precision::bfloat16, torch::kBFloat16}}) {
    const Weights stored = weights.stored_as(precision);
    EXPECT_EQ(stored.stored(), precision);
    for (const auto& [name, shape] : parameter_shapes(odd_options())) {
      const torch::Tensor weight = to_tensor(weights.float32(name));
      const torch::Tensor expected = products.count(name) > 0 ? weight.to(dtype) : weight;
      EXPECT_TRUE(stored.numbers(name).equals(to_array(expected))) << name;
    }
  }
}

TEST(Weights, ComeBackFromTheirArraysInAnyOrder) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16, Precision::int8}) {
    const Weights stored = small_weights().stored_as(precision);
    NamedArrays arrays = stored.arrays();
    std::reverse(arrays.begin(), arrays.end());
    const Weights back(odd_options(), arrays, "file");
    EXPECT_EQ(back.stored(), precision);
    for (const auto& [name, shape] : parameter_shapes(odd_options()))
      EXPECT_TRUE(back.float32(name).equals(stored.float32(name))) << name;
    EXPECT_EQ(back.arrays().size(), arrays.size());
  }
}

TEST(Weights, HaveTheWidthsThatTheirOptionsLeaveOpen) {
  TransformerOptions options = odd_options();
  options.d_k = options.d_v = 0;
  const Weights weights(options, weights_of(Transformer(options)).arrays(), "file");
  EXPECT_EQ(weights.options().d_k, 4);
  EXPECT_EQ(weights.options().d_v, 4);
}

TEST(Weights, NameWhatDoesNotFitTheNetwork) {
  const NamedArrays sound = small_weights().arrays();
  const auto refusal = [&](const auto& change) {
    NamedArrays arrays = sound;
    change(arrays);
    return message_of<std::runtime_error>([&] { Weights(odd_options(), arrays, "file"); });
  };
  const std::string first = sound.front().first;
  EXPECT_THAT(refusal([](NamedArrays& arrays) { arrays.erase(arrays.begin()); }),
              HasSubstr("file: has no \"" + first + "\", which the config's model needs"));
  EXPECT_THAT(refusal([](NamedArrays& arrays) { arrays.emplace_back("more", Array({1})); }),
              HasSubstr("file: holds \"more\", which the config's model does not have"));
  EXPECT_THAT(refusal([](NamedArrays& arrays) {
                arrays.front().second = Array::zeros({2, 3});
              }),
              HasSubstr("has shape [2,3], the config's model needs [11,8]"));
  EXPECT_THAT(refusal([](NamedArrays& arrays) {
                arrays.front().second = Array({11, 8}, NumberType::int64);
              }),
              HasSubstr("has numbers of type int64, which weights cannot be"));
  EXPECT_THAT(refusal([](NamedArrays& arrays) {
                arrays.front().second = Array({11, 8}, NumberType::int8);
              }),
              HasSubstr("has no \"" + first + "_scale\", which the int8 matrix beside it needs"));
}

TEST(Weights, KeepTheirShapeWhenTheirMemoryIsReleased) {
  Weights weights = small_weights();
  const std::string name = weights.arrays().front().first;
  const Array kept = weights.numbers(name);
  weights.release(name);
  EXPECT_FALSE(weights.numbers(name).defined());
  EXPECT_EQ(weights.shape(name), kept.shape());
  EXPECT_TRUE(kept.defined());
}

TEST(ModuleWeights, MakeTheSameNetworkAgain) {
  for (const TransformerOptions& options : every_kind_of_network()) {
    const Transformer original(options);
    const Weights weights = weights_of(original);
    const Transformer made = make_transformer(weights, torch::kCPU);
    Transformer assigned(options);
    assign_parameters(assigned, weights.arrays(), "file");
    EXPECT_FALSE(made->is_training());
    const NamedTensors expected = parameters_of(original), found = parameters_of(made),
                       copied = parameters_of(assigned);
    for (size_t p = 0; p < found.size(); ++p) {
      const auto& [name, parameter] = expected[p];
      EXPECT_EQ(found[p].second.data_ptr(), parameter.data_ptr()) << name << " was copied";
      EXPECT_FALSE(found[p].second.requires_grad());
      EXPECT_NE(copied[p].second.data_ptr(), parameter.data_ptr());
      EXPECT_TRUE(torch::equal(copied[p].second, parameter)) << name;
    }
  }
}

}  // namespace
}  // namespace transmute
