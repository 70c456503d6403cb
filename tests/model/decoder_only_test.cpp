// SPDX-License-Identifier: Apache-2.0
// The network without an encoder, as transformer_test.cpp tests the one with.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/tests/support/tensors.h>

#include <random>

namespace transmute {
namespace {

using testing::double_tolerance_of;
using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::random_transformer;

constexpr int64_t kPieces = testing::kSmallVocabulary;

TransformerOptions decoder_only_options() {
  TransformerOptions options = testing::small_options();
  options.architecture = Architecture::decoder_only;
  return options;
}

std::vector<std::pair<std::string, TransformerOptions>> decoder_only_variants() {
  TransformerOptions pre = decoder_only_options();
  pre.norm_position = NormPosition::pre;
  pre.positional_encoding = PositionalEncodingKind::learned;
  pre.embedding_tying = EmbeddingTying::none;
  TransformerOptions additive = decoder_only_options();
  additive.embedding_tying = EmbeddingTying::target_output;
  additive.score_function = ScoreFunction::additive;
  additive.positional_encoding = PositionalEncodingKind::learned;
  TransformerOptions pre_sinusoidal = decoder_only_options();
  pre_sinusoidal.norm_position = NormPosition::pre;
  return {{"post, sinusoidal, tied", decoder_only_options()},
          {"pre, learned, untied", pre},
          {"post, learned, tied, additive", additive},
          {"pre, sinusoidal, tied", pre_sinusoidal}};
}

torch::Tensor no_source(int64_t rows) {
  return torch::empty({rows, 0}, torch::kLong);
}

torch::Tensor logits_of(Transformer& model, const torch::Tensor& ids) {
  return model(no_source(ids.size(0)), ids);
}

TEST(DecoderOnly, EqualsDoublePrecisionLoops) {
  const torch::Tensor ids = testing::ids_tensor({{1, 5, 6, 2}, {1, 11, 2, 10}});
  for (const auto& [name, options] : decoder_only_variants())
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name);
      Transformer model = random_transformer(options, dtype);
      const torch::Tensor logits = logits_of(model, ids);
      ASSERT_EQ(logits.sizes(), torch::IntArrayRef({2, 4, kPieces}));
      EXPECT_TRUE(model->decode(ids, model->encode(no_source(2)), ReturnWeights::yes).cross_weights.empty());
      for (int64_t b = 0; b < 2; ++b)
        expect_near(logits[b], reference::language_model(options, testing::weights_of(*model), testing::ids_of(ids[b])),
                    dtype == torch::kFloat ? kFloatTolerance : double_tolerance_of(options));
    }
}

// Texts are reordered after each step, and some leave, as in a search.
TEST(DecoderOnly, DecodesStepByStepWhatAllPositionsAtOnceSay) {
  constexpr int64_t kHypotheses = 2;
  for (const auto& [name, options] : decoder_only_variants())
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name);
      std::mt19937 random(7);
      Transformer model = random_transformer(options, dtype);
      DecoderCache cache = model->start_decoding(model->encode(no_source(3)));
      std::vector<std::vector<int64_t>> histories(3 * kHypotheses);
      for (int64_t step = 0; step < 8; ++step) {
        EXPECT_EQ(cache.length, step);
        std::vector<int64_t> ids;
        for (auto& history : histories) {
          history.push_back(1 + static_cast<int64_t>(random() % (kPieces - 1)));
          ids.push_back(history.back());
        }
        const auto texts = static_cast<int64_t>(ids.size()) / kHypotheses;
        const DecoderStep result =
            model->step(torch::tensor(ids).view({texts, kHypotheses}), cache, ReturnWeights::yes);
        EXPECT_TRUE(result.cross_weights.empty());
        expect_near(model->project(result.states).flatten(0, 1),
                    logits_of(model, testing::ids_tensor(histories)).select(1, -1),
                    dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance);
        std::vector<int64_t> staying, parents;
        std::vector<std::vector<int64_t>> next;
        for (int64_t text = 0; text < texts; ++text) {
          if (step == 3 && text == 1) continue;
          staying.push_back(text);
          for (int64_t n = 0; n < kHypotheses; ++n) {
            parents.push_back(text * kHypotheses + static_cast<int64_t>(random() % kHypotheses));
            next.push_back(histories[static_cast<size_t>(parents.back())]);
          }
        }
        cache = result.cache.select(torch::tensor(staying), torch::tensor(parents));
        histories = next;
      }
    }
}

TEST(DecoderOnly, RefusesASourceAndAGuidedHead) {
  Transformer model = random_transformer(decoder_only_options(), torch::kFloat);
  const torch::Tensor ids = testing::ids_tensor({{1, 2}});
  EXPECT_THAT(testing::message_of<c10::Error>([&] { model(ids, ids); }),
              ::testing::HasSubstr("its source must be empty, [B,0]"));
  model->train();
  for (const Consistency kind : {Consistency::r_drop, Consistency::simcut})
    EXPECT_THAT(testing::message_of<c10::ValueError>([&] {
                  model->loss(ids, ids, ids, {0.1, 1, Activations::kept, {kind, 5, 0.1}});
                }),
                ::testing::HasSubstr("its source must be empty, [B,0]"));
  const GuidedAttention guided{torch::zeros({1, 2, 2}), 0, 0};
  EXPECT_THAT(testing::message_of<c10::Error>([&] { model->loss(no_source(1), ids, ids, {}, &guided); }),
              ::testing::HasSubstr("no attention to guide"));
}

TEST(DecoderOnly, HasNoEncoderWhateverItsOptionsSayOfOne) {
  TransformerOptions options = decoder_only_options();
  options.num_encoder_layers = -3;
  options.source_vocab_size = 0;
  const TransformerOptions filled = validated(options);
  EXPECT_EQ(filled.num_encoder_layers, 0);
  EXPECT_EQ(filled.source_vocab_size, kPieces);
  EXPECT_FALSE(Transformer(options)->encoder);
  options.num_decoder_layers = 0;
  EXPECT_THROW(validated(options), std::invalid_argument);
}

}  // namespace
}  // namespace transmute
