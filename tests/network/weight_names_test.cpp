// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/transformer.h>
#include <transmute/network/weight_names.h>

#include <set>
#include <string>

namespace transmute {
namespace {

using ::testing::UnorderedElementsAreArray;

enum class OtherPrograms { no, yes };  // the switches for their models

TransformerOptions small_options(EmbeddingTying tying, NormPosition norm, Architecture architecture,
                                 OtherPrograms switches = OtherPrograms::no) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 11;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 2;
  options.d_model = 8;
  options.num_heads = 2;
  options.d_ff = 16;
  options.embedding_tying = tying;
  options.norm_position = norm;
  options.architecture = architecture;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.attention_bias = options.output_bias = options.embedding_norm = switches == OtherPrograms::yes;
  if (switches == OtherPrograms::yes && architecture == Architecture::encoder_decoder)
    options.decoder_self_attention = DecoderSelfAttention::ssru;
  return options;
}

void add(std::set<std::string>& names, const LinearNames& linear) {
  for (const std::string& name : {linear.weight, linear.bias})
    if (!name.empty()) names.insert(name);
}

void add(std::set<std::string>& names, const NormNames& norm) {
  for (const std::string& name : {norm.weight, norm.bias})
    if (!name.empty()) names.insert(name);
}

void add(std::set<std::string>& names, const StackNames& stack) {
  for (const LayerNames& layer : stack.layers) {
    for (const AttentionNames* attention : {&layer.self_attention, &layer.cross_attention}) {
      for (const LinearNames* linear : {&attention->query, &attention->key, &attention->value, &attention->output})
        add(names, *linear);
      add(names, attention->norm);
    }
    add(names, layer.ssru.input);
    add(names, layer.ssru.forget);
    add(names, layer.feed_forward.inner);
    add(names, layer.feed_forward.outer);
    add(names, layer.feed_forward.norm);
  }
  add(names, stack.norm);
}

TEST(WeightNames, AreTheParametersOfEveryKindOfNetwork) {
  for (const auto tying : {EmbeddingTying::all, EmbeddingTying::target_output, EmbeddingTying::none})
    for (const auto norm : {NormPosition::post, NormPosition::pre, NormPosition::deep})
      for (const auto architecture : {Architecture::encoder_decoder, Architecture::decoder_only})
        for (const auto switches : {OtherPrograms::no, OtherPrograms::yes}) {
          if (architecture == Architecture::decoder_only && tying == EmbeddingTying::target_output) continue;
          const TransformerOptions options = small_options(tying, norm, architecture, switches);
          const WeightNames weights(options);
          std::set<std::string> named{weights.source_embedding, weights.target_embedding};
          add(named, weights.output);
          add(named, weights.source_embedding_norm);
          add(named, weights.target_embedding_norm);
          add(named, weights.encoder);
          add(named, weights.decoder);
          std::set<std::string> parameters, matrices;
          for (const auto& parameter : Transformer(options)->named_parameters()) {
            if (parameter.key().find("positions") != std::string::npos) continue;  // their own module's, by its kind
            parameters.insert(parameter.key());
            const bool is_table = parameter.key().find("embedding") != std::string::npos;
            if (parameter.value().dim() == 2 && !is_table) matrices.insert(parameter.key());
          }
          EXPECT_EQ(named, parameters);
          EXPECT_THAT(weights.product_matrices(), UnorderedElementsAreArray(matrices));
        }
}

TEST(WeightNames, SayThatTheOutputsMatrixIsTheEmbeddingsWhereItIs) {
  const auto output_of = [](EmbeddingTying tying) {
    return WeightNames(small_options(tying, NormPosition::post, Architecture::encoder_decoder)).output.weight;
  };
  EXPECT_EQ(output_of(EmbeddingTying::all), "embedding.weight");
  EXPECT_EQ(output_of(EmbeddingTying::target_output), "target_embedding.weight");
  EXPECT_EQ(output_of(EmbeddingTying::none), "output.weight");
}

}  // namespace
}  // namespace transmute
