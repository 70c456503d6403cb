// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/new_transformer.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

// Tests of what a network's options determine: its parameters, their number and names, and what is refused.
namespace transmute {
namespace {

using Names = std::vector<std::string>;

Names names_of(const TransformerOptions& options) {
  return Transformer(options)->named_parameters().keys();
}

Names joined(const std::vector<Names>& parts) {
  Names all;
  for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

TEST(ParameterCount, OfTheBaseModelIs63Million) {
  // attention     4 · 512 · 512                      = 1,048,576
  // feed-forward  2 · 512 · 2048 + 2048 + 512        = 2,099,712
  // norm          2 · 512                            =     1,024
  // encoder layer 1,048,576 + 2,099,712 + 2 · 1,024  = 3,150,336
  // decoder layer 2,097,152 + 2,099,712 + 3 · 1,024  = 4,199,936
  // embedding     37,000 · 512                       = 18,944,000
  // all           6 · 3,150,336 + 6 · 4,199,936 + 18,944,000
  EXPECT_EQ(parameter_count(TransformerOptions()), 63045632);
}

TEST(ParameterCount, OfTheBigModelIs214Million) {
  TransformerOptions big;
  big.d_model = 1024;
  big.d_ff = 4096;
  big.num_heads = 16;
  // attention     4 · 1024 · 1024                    = 4,194,304
  // feed-forward  2 · 1024 · 4096 + 4096 + 1024      = 8,393,728
  // norm          2 · 1024                           =     2,048
  // encoder layer 4,194,304 + 8,393,728 + 2 · 2,048  = 12,592,128
  // decoder layer 8,388,608 + 8,393,728 + 3 · 2,048  = 16,788,480
  // embedding     37,000 · 1024                      = 37,888,000
  // all           6 · 12,592,128 + 6 · 16,788,480 + 37,888,000
  EXPECT_EQ(parameter_count(big), 214171648);
}

TransformerOptions one_layer_each() {
  TransformerOptions options = testing::small_options();
  options.num_encoder_layers = 1;
  options.num_decoder_layers = 1;
  return options;
}

// The only layer of a stack, whose sublayers before the feed-forward one are `attentions`.
Names layer_of(const std::string& stack, const Names& attentions) {
  Names names;
  const auto add = [&](const std::string& module, const Names& parameters) {
    for (const std::string& parameter : parameters) names.push_back(stack + ".layers.0." + module + '.' + parameter);
  };
  for (const std::string& attention : attentions)
    add(attention, {"query.weight", "key.weight", "value.weight", "output.weight"});
  add("feed_forward", {"inner.weight", "inner.bias", "outer.weight", "outer.bias"});
  for (const std::string& attention : attentions) add(attention + "_norm", {"weight", "bias"});
  add("feed_forward_norm", {"weight", "bias"});
  return names;
}

// These names are a file format: model files of today must be readable tomorrow.
TEST(ParameterNames, OfTyingsPositionsAndStacks) {
  const Names encoder = layer_of("encoder", {"self_attention"});
  const Names decoder = layer_of("decoder", {"self_attention", "cross_attention"});
  const Names decoder_alone = layer_of("decoder", {"self_attention"});
  TransformerOptions options = one_layer_each();
  EXPECT_EQ(names_of(options), joined({{"embedding.weight"}, encoder, decoder}));
  options.architecture = Architecture::decoder_only;
  EXPECT_EQ(names_of(options), joined({{"embedding.weight"}, decoder_alone}));
  options.embedding_tying = EmbeddingTying::target_output;
  EXPECT_EQ(names_of(options), joined({{"embedding.weight"}, decoder_alone}));

  options.norm_position = NormPosition::pre;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.embedding_tying = EmbeddingTying::none;
  EXPECT_EQ(names_of(options), joined({{"embedding.weight", "output.weight", "target_positions.weight"},
                                       decoder_alone,
                                       {"decoder.norm.weight", "decoder.norm.bias"}}));
  options.architecture = Architecture::encoder_decoder;
  EXPECT_EQ(names_of(options), joined({{"source_embedding.weight", "target_embedding.weight", "output.weight",
                                        "source_positions.weight", "target_positions.weight"},
                                       encoder,
                                       {"encoder.norm.weight", "encoder.norm.bias"},
                                       decoder,
                                       {"decoder.norm.weight", "decoder.norm.bias"}}));
}

TEST(ParameterNames, OfTargetOutputTyingAndScoringFunctions) {
  TransformerOptions options = one_layer_each();
  options.embedding_tying = EmbeddingTying::target_output;
  options.score_function = ScoreFunction::additive;
  Names names = names_of(options);
  EXPECT_EQ(
      std::vector<std::string>(names.begin(), names.begin() + 9),
      (std::vector<std::string>{
          "source_embedding.weight", "target_embedding.weight", "encoder.layers.0.self_attention.query.weight",
          "encoder.layers.0.self_attention.key.weight", "encoder.layers.0.self_attention.value.weight",
          "encoder.layers.0.self_attention.output.weight", "encoder.layers.0.self_attention.pooling.score.query_weight",
          "encoder.layers.0.self_attention.pooling.score.key_weight",
          "encoder.layers.0.self_attention.pooling.score.score_weight"}));
  options.score_function = ScoreFunction::bilinear;
  names = names_of(options);
  EXPECT_EQ(names[6], "encoder.layers.0.self_attention.pooling.score.weight");
  options.num_encoder_layers = 11;
  EXPECT_TRUE(Transformer(options)->named_parameters().contains("encoder.layers.10.feed_forward.inner.weight"));
}

struct BadOption {
  const char* key;
  void (*spoil)(TransformerOptions&);
};

TEST(ValidatedOptions, NameTheOptionThatIsWrong) {
  const BadOption bad[] = {
      {"model.source_vocab_size", [](TransformerOptions& o) { o.source_vocab_size = 0; }},
      {"model.target_vocab_size", [](TransformerOptions& o) { o.target_vocab_size = -1; }},
      {"model.num_encoder_layers", [](TransformerOptions& o) { o.num_encoder_layers = 0; }},
      {"model.num_decoder_layers", [](TransformerOptions& o) { o.num_decoder_layers = 0; }},
      {"model.d_model", [](TransformerOptions& o) { o.d_model = 0; }},
      {"model.num_heads", [](TransformerOptions& o) { o.num_heads = 0; }},
      {"model.num_heads", [](TransformerOptions& o) { o.num_heads = 7; }},
      {"model.d_ff", [](TransformerOptions& o) { o.d_ff = 0; }},
      {"model.d_k", [](TransformerOptions& o) { o.d_k = -1; }},
      {"model.d_v", [](TransformerOptions& o) { o.d_v = -64; }},
      {"model.max_positions", [](TransformerOptions& o) { o.max_positions = 0; }},
      {"model.dropout", [](TransformerOptions& o) { o.dropout = 1; }},
      {"model.dropout", [](TransformerOptions& o) { o.dropout = -0.1; }},
      {"model.dropout", [](TransformerOptions& o) { o.dropout = std::numeric_limits<double>::quiet_NaN(); }},
      {"model.attention_dropout", [](TransformerOptions& o) { o.attention_dropout = 1.5; }},
      {"model.activation_dropout", [](TransformerOptions& o) { o.activation_dropout = -1; }},
      {"padding_id", [](TransformerOptions& o) { o.padding_id = -1; }},
      {"begin_id",
       [](TransformerOptions& o) {
         o.source_begin = true;
         o.begin_id = o.source_vocab_size;
       }},
      {"end_id",
       [](TransformerOptions& o) {
         o.source_end = false;
         o.end_id = o.source_vocab_size;
       }},
      {"model.norm_epsilon", [](TransformerOptions& o) { o.norm_epsilon = 0; }},
      {"model.norm_epsilon", [](TransformerOptions& o) { o.norm_epsilon = -1e-6; }},
      {"model.embedding_tying", [](TransformerOptions& o) { o.source_vocab_size = 36000; }},
      {"model.decoder_self_attention",
       [](TransformerOptions& o) {
         o.architecture = Architecture::decoder_only;
         o.decoder_self_attention = DecoderSelfAttention::ssru;
       }},
      {"model.d_model",
       [](TransformerOptions& o) {
         o.d_model = 513;
         o.d_k = o.d_v = 64;
       }},
  };
  for (const BadOption& option : bad) {
    SCOPED_TRACE(option.key);
    TransformerOptions options;
    option.spoil(options);
    try {
      validated(options);
      ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(option.key), std::string::npos) << error.what();
    }
    EXPECT_THROW(Transformer{options}, std::invalid_argument);
    EXPECT_THROW(parameter_count(options), std::invalid_argument);
  }
}

TEST(ValidatedOptions, FillInTheWidthsOfHeads) {
  const TransformerOptions filled = validated(TransformerOptions());
  EXPECT_EQ(filled.d_k, 64);
  EXPECT_EQ(filled.d_v, 64);
  TransformerOptions given;
  given.num_heads = 7;  // no divisor of d_model, which does not matter where both widths are given
  given.d_k = 16;
  given.d_v = 48;
  EXPECT_EQ(validated(given).d_k, 16);
  EXPECT_EQ(validated(given).d_v, 48);
  given = TransformerOptions();
  given.d_model = 513;  // odd, which only sinusoids mind
  given.num_heads = 27;
  given.positional_encoding = PositionalEncodingKind::learned;
  EXPECT_EQ(validated(given).d_k, 19);
}

}  // namespace
}  // namespace transmute
