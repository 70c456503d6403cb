// SPDX-License-Identifier: Apache-2.0
// Models that are written for other programs are read back as they were.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/formats/foreign/ctranslate2_writer.h>
#include <transmute/formats/foreign/load_model.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/random_weights.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

using Change = std::function<void(TransformerOptions&)>;

constexpr const char* kTexts[] = {"", "the cat sees the dog", "Unknown Ω, 12 and  spaces ", "der Hund"};

// No bias and no norm is left at 0 or 1.
LoadedModel random_model(const Change& change, Tokenizer tokenizer = testing::tiny_tokenizer()) {
  ModelConfig config;
  TransformerOptions& options = config.model;
  options.num_encoder_layers = 2;
  options.num_decoder_layers = 1;
  options.d_model = 12;
  options.num_heads = 2;
  options.d_ff = 20;
  change(options);
  ConfigSchema schema;
  config.declare(schema);
  const TransformerOptions whole = validated(with_vocabulary(options, tokenizer));
  Weights weights = testing::random_weights(whole, 3);
  for (auto& [name, array] : weights.arrays())
    for (int64_t i = 0; array.dimensions() == 1 && i < array.count(); ++i)
      array.floats()[i] += 0.3F * static_cast<float>(std::sin(5 * i + static_cast<int64_t>(name.size())));
  return make_model(std::move(tokenizer), schema.to_yaml(), "config", weights.arrays(), "weights", uint64_t{1} << 40);
}

// Parameters that the other has besides are biases of 0.
void expect_same_weights(const LoadedModel& found, const LoadedModel& wanted) {
  for (const auto& [name, array] : wanted.weights.arrays())
    EXPECT_TRUE(found.weights.float32(name).equals(array)) << name;
  for (const auto& [name, shape] : parameter_shapes(found.options)) {
    const auto is_known = [&, n = name](const auto& parameter) { return parameter.name == n; };
    const auto known = parameter_shapes(wanted.options);
    if (std::any_of(known.begin(), known.end(), is_known)) continue;
    EXPECT_THAT(name, HasSubstr("bias"));
    const Array array = found.weights.float32(name);
    for (int64_t i = 0; i < array.count(); ++i) EXPECT_EQ(array.floats()[i], 0) << name;
  }
}

void expect_same_tokens(const Tokenizer& found, const Tokenizer& wanted) {
  for (const char* text : kTexts) {
    EXPECT_EQ(found.source().encode(text), wanted.source().encode(text)) << text;
    EXPECT_EQ(found.target().encode(text), wanted.target().encode(text)) << text;
    EXPECT_EQ(found.target().decode(found.target().encode(text)), wanted.target().decode(wanted.target().encode(text)));
  }
}

std::vector<std::pair<std::string, Change>> networks_of_ctranslate2() {
  return {{"the paper's", [](auto&) {}},
          {"pre-norm, learned positions, untied",
           [](auto& o) {
             o.norm_position = NormPosition::pre;
             o.positional_encoding = PositionalEncodingKind::learned;
             o.max_positions = 30;
             o.embedding_tying = EmbeddingTying::none;
           }},
          {"biases, other positions, embedding norm",
           [](auto& o) {
             o.attention_bias = o.output_bias = o.embedding_norm = true;
             o.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
             o.embedding_tying = EmbeddingTying::target_output;
             o.activation = Activation::gelu_sigmoid;
             o.embedding_scale = o.source_end = false;
             o.norm_epsilon = 1e-4;
           }},
          {"swish", [](auto& o) { o.activation = Activation::swish; }},
          {"gelu", [](auto& o) { o.activation = Activation::gelu; }},
          {"gelu_tanh", [](auto& o) { o.activation = Activation::gelu_tanh; }}};
}

TEST(WrittenCTranslate2, IsReadBackBitForBit) {
  for (const auto& [name, change] : networks_of_ctranslate2()) {
    SCOPED_TRACE(name);
    const LoadedModel model = random_model(change);
    const TemporaryFolder folder;
    formats::save_ctranslate2_folder(model, Precision::float32, folder.path());
    const LoadedModel read = load_model(folder.path());
    const TransformerOptions &found = read.options, &wanted = model.options;
    EXPECT_EQ(found.norm_position, wanted.norm_position);
    EXPECT_EQ(found.positional_encoding, wanted.positional_encoding);
    EXPECT_EQ(found.embedding_tying, wanted.embedding_tying);
    EXPECT_EQ(found.activation, wanted.activation);
    EXPECT_EQ(found.embedding_scale, wanted.embedding_scale);
    EXPECT_EQ(found.source_end, wanted.source_end);
    EXPECT_EQ(found.norm_epsilon, wanted.norm_epsilon);
    EXPECT_EQ(found.num_heads, wanted.num_heads);
    if (wanted.positional_encoding == PositionalEncodingKind::sinusoidal) {
      EXPECT_EQ(found.sinusoids.layout, wanted.sinusoids.layout);
      EXPECT_EQ(found.sinusoids.frequencies, wanted.sinusoids.frequencies);
      EXPECT_EQ(found.sinusoids.first_position, wanted.sinusoids.first_position);
    }
    expect_same_weights(read, model);
    expect_same_tokens(read.tokenizer, model.tokenizer);
  }
}

TEST(WrittenCTranslate2, RoundsEachRowToInt8) {
  const LoadedModel model = random_model([](auto&) {});
  const TemporaryFolder folder;
  formats::save_ctranslate2_folder(model, Precision::int8, folder.path());
  const LoadedModel read = load_model(folder.path());
  for (const auto& [name, wanted] : model.weights.arrays()) {
    const Array found = read.weights.float32(name);
    if (wanted.dimensions() == 1) {
      EXPECT_TRUE(found.equals(wanted)) << name;
      continue;
    }
    for (int64_t r = 0; r < wanted.size(0); ++r) {
      const float *from = wanted.floats() + r * wanted.size(1), *to = found.floats() + r * wanted.size(1);
      float largest = 0;
      for (int64_t c = 0; c < wanted.size(1); ++c) largest = std::max(largest, std::abs(from[c]));
      for (int64_t c = 0; c < wanted.size(1); ++c)
        ASSERT_NEAR(to[c], from[c], largest / 127 * 0.501F) << name << ", row " << r;
    }
  }
}

TEST(WrittenModels, OfOtherProgramsAreReadBackToo) {
  for (const char* kind : {"marian", "marian_separate", "m2m", "mbart", "npz_pre_norm", "marian_ctranslate2"}) {
    SCOPED_TRACE(kind);
    const LoadedModel model = load_model(std::string(TRANSMUTE_TEST_DATA "/formats/") + kind);
    const TemporaryFolder folder;
    formats::save_ctranslate2_folder(model, Precision::float32, folder.path());
    const LoadedModel read = load_model(folder.path());
    expect_same_weights(read, model);
    expect_same_tokens(read.tokenizer, model.tokenizer);
    EXPECT_EQ(read.tokenizer.target().languages(), model.tokenizer.target().languages());
  }
}

TEST(WrittenModels, NameWhatAFormatCannotExpress) {
  const TemporaryFolder folder;
  const auto of_ctranslate2 = [&](const Change& change) {
    const LoadedModel model = random_model(change);
    return message_of<std::invalid_argument>(
        [&] { formats::save_ctranslate2_folder(model, Precision::float32, folder.path()); });
  };
  const std::vector<std::pair<std::string, Change>> of_both{
      {"model.norm_position: deep", [](auto& o) { o.norm_position = NormPosition::deep; }},
      {"model.decoder_self_attention: ssru", [](auto& o) { o.decoder_self_attention = DecoderSelfAttention::ssru; }},
      {"model.score_function: additive", [](auto& o) { o.score_function = ScoreFunction::additive; }},
      {"model.architecture: decoder_only", [](auto& o) { o.architecture = Architecture::decoder_only; }},
      {"model.d_k: 5", [](auto& o) { o.d_k = 5; }},
      {"model.d_v: 7", [](auto& o) { o.d_v = 7; }}};
  for (const auto& [words, change] : of_both) {
    EXPECT_THAT(of_ctranslate2(change), HasSubstr("CTranslate2 cannot run this model: it has " + words));
  }
}

}  // namespace
}  // namespace transmute
