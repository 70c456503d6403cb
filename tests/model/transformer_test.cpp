// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/tests/support/tensors.h>

#include <thread>

namespace transmute {
namespace {

using testing::double_tolerance_of;
using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::random_transformer;
using testing::small_options;
using testing::small_variants;

constexpr int64_t kVocabulary = testing::kSmallVocabulary;

TEST(Transformer, EqualsDoublePrecisionLoops) {
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12, 7}, {3, 3, 8, 0, 0}});
  const torch::Tensor target = testing::ids_tensor({{1, 5, 6, 2}, {1, 11, 2, 10}});
  for (const auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(options, torch::kDouble);
    const torch::Tensor logits = model(source, target);
    ASSERT_EQ(logits.sizes(), torch::IntArrayRef({2, 4, kVocabulary}));
    for (int64_t b = 0; b < 2; ++b)
      expect_near(logits[b],
                  reference::transformer(options, testing::weights_of(*model), testing::ids_of(source[b]),
                                         testing::ids_of(target[b])),
                  double_tolerance_of(options));
  }
}

TEST(Transformer, EqualsDoublePrecisionLoopsInFloat32) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12, 7}});
  const torch::Tensor target = testing::ids_tensor({{1, 5, 6, 2}});
  expect_near(model(source, target),
              reference::transformer(small_options(), testing::weights_of(*model), testing::ids_of(source),
                                     testing::ids_of(target)),
              kFloatTolerance);
}

// Dropout in training is on the embeddings with their positions and each sub-layer's output, and, not in the
// paper, attention weights and activations, with probabilities of their own. The masks are drawn in the order of the
// computation.
TEST(Transformer, DropsWhatTheOptionsSayInTraining) {
  const uint64_t key = 77;
  const auto probability_at = [](reference::DropoutSite site) {
    switch (site) {
      case reference::DropoutSite::attention:
        return 0.2;
      case reference::DropoutSite::activation:
        return 0.5;
      default:
        return 0.3;
    }
  };
  for (auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    options.dropout = 0.3;
    options.attention_dropout = 0.2;
    options.activation_dropout = 0.5;
    Transformer model = random_transformer(options, torch::kDouble);
    model->train();
    const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12, 7}});
    const torch::Tensor target = testing::ids_tensor({{1, 5, 6}});
    torch::Tensor logits;
    {
      const kernels::DropoutScope scope(key);
      logits = model(source, target);
    }
    int sites = 0;
    const kernels::DropoutScope scope(key);
    const auto drop = [&](reference::DropoutSite site, reference::Matrix& values) {
      values = testing::matrix_of(kernels::dropout(testing::tensor_of(values), probability_at(site)));
      ++sites;
    };
    const auto expected = reference::transformer(options, testing::weights_of(*model), testing::ids_of(source),
                                                 testing::ids_of(target), drop);
    const int of_decoder_layer = options.decoder_self_attention == DecoderSelfAttention::ssru ? 5 : 6;
    EXPECT_EQ(sites, 2 + 2 * 4 + 2 * of_decoder_layer);  // embeddings, encoder layers, decoder layers
    expect_near(logits, expected, double_tolerance_of(options));
    model->eval();
    EXPECT_GT(testing::largest_difference(model(source, target), logits), 0.01);
  }
}

// Few parameters, so that each can be moved a little.
TransformerOptions shrunk(TransformerOptions options, int64_t decoder_layers) {
  options.target_vocab_size = 6;
  options.source_vocab_size = options.embedding_tying == EmbeddingTying::all ? 6 : 7;
  options.max_positions = 3;
  options.d_model = 4;
  options.d_k = 2;
  options.d_v = 3;
  options.d_ff = 5;
  options.num_encoder_layers = 1;
  options.num_decoder_layers = decoder_layers;
  return options;
}

TEST(Transformer, PropagatesGradientsThroughTheSmoothedLoss) {
  const torch::Tensor source = testing::ids_tensor({{4, 2, 1}, {3, 5, 0}});
  const torch::Tensor target_in = testing::ids_tensor({{1, 5, 4}, {1, 3, 0}});
  const torch::Tensor target_out = testing::ids_tensor({{5, 4, 2}, {3, 2, 0}});
  for (const auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(shrunk(options, 1), torch::kDouble);
    testing::expect_gradients_match(
        [&, m = model]() mutable {
          return m->loss(source, target_in, target_out, {0.1, 1}).token_loss;
        },
        testing::leaves_of(*model));
  }
}

// A row that wants nothing (its target is padding), one that wants two pieces, one that wants the end.
TEST(Transformer, PropagatesGradientsThroughTheGuidedAttention) {
  const torch::Tensor source = testing::ids_tensor({{4, 2, 1}, {3, 5, 0}});
  const torch::Tensor target = testing::ids_tensor({{1, 5, 4}, {1, 3, 0}});
  const torch::Tensor wanted = torch::tensor(
      {{{0.5, 0.5, 0.0}, {0.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}, {{0.0, 1.0, 0.0}, {0.5, 0.5, 0.0}, {0.0, 0.0, 0.0}}},
      torch::kDouble);
  for (const auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(shrunk(options, 2), torch::kDouble);
    const GuidedAttention guided{wanted, 1, options.num_heads - 1};
    const DecoderOutput decoded = model->decode(target, model->encode(source), ReturnWeights::yes);
    const torch::Tensor head = decoded.cross_weights[1].select(1, options.num_heads - 1);
    const torch::Tensor expected = -(wanted * head.clamp_min(1e-300).log()).sum();
    const TrainingLoss loss = model->loss(source, target, target, {0, 2}, &guided);
    expect_near(loss.guidance, 2 * expected, kDoubleTolerance);
    expect_near(loss.token_loss, model->loss(source, target, target, {0, 2}).token_loss, kDoubleTolerance);
    std::vector<std::pair<std::string, torch::Tensor>> leaves;  // of what is before the guided head
    for (const auto& leaf : testing::leaves_of(*model))
      for (const char* part : {"encoder.layers", "decoder.layers.0", "decoder.layers.1.self_attention"})
        if (leaf.first.rfind(part, 0) == 0) leaves.push_back(leaf);
    testing::expect_gradients_match(
        [&, m = model]() mutable {
          return m->loss(source, target, target, {0, 1}, &guided).guidance;
        },
        leaves);
  }
}

TEST(Transformer, HasASecondDerivativeInFloat64) {
  const torch::Tensor source = testing::ids_tensor({{4, 2}}), target = testing::ids_tensor({{1, 5}});
  for (const auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(shrunk(options, 1), torch::kDouble);
    const auto squared_gradient = [&, m = model]() mutable {
      const torch::AutoGradMode with_gradients(true);
      const torch::Tensor loss = m->loss(source, target, target, {0.1, 1}).token_loss;
      torch::Tensor sum = torch::zeros({}, torch::kDouble);
      for (const torch::Tensor& gradient :
           torch::autograd::grad({loss}, m->parameters(), {}, {}, /*create_graph=*/true))
        sum = sum + gradient.square().sum();
      return sum;
    };
    const std::string leaf = "decoder.layers.0.feed_forward.outer.weight";
    testing::expect_gradients_match(squared_gradient, {{leaf, model->named_parameters()[leaf]}});
  }
}

TEST(Transformer, HasTheSameGradientsWhereLayersAreRecomputed) {
  for (const Architecture architecture : {Architecture::encoder_decoder, Architecture::decoder_only})
    for (const NormPosition norm : {NormPosition::post, NormPosition::pre, NormPosition::deep}) {
      TransformerOptions options = small_options();
      options.architecture = architecture;
      options.norm_position = norm;
      options.num_encoder_layers = architecture == Architecture::decoder_only ? 0 : 2;
      options.num_decoder_layers = 3;
      options.dropout = options.attention_dropout = options.activation_dropout = 0.3;
      torch::manual_seed(4);
      Transformer transformer(options);
      const torch::Tensor target = torch::randint(4, options.target_vocab_size, {3, 7}, torch::kLong);
      const torch::Tensor source = architecture == Architecture::decoder_only
                                       ? torch::empty({3, 0}, torch::kLong)
                                       : torch::randint(4, options.source_vocab_size, {3, 5}, torch::kLong);
      const auto gradients_with = [&](Activations activations, const GuidedAttention* guided) {
        transformer->zero_grad();
        const kernels::DropoutScope scope(9);
        const TrainingLoss loss = transformer->loss(source, target, target, {0.1, 0.5, activations}, guided);
        (guided == nullptr ? loss.token_loss : loss.token_loss + loss.guidance).backward();
        std::vector<torch::Tensor> gradients{loss.token_loss.detach()};
        for (const auto& parameter : transformer->parameters()) gradients.push_back(parameter.grad().clone());
        return gradients;
      };
      const GuidedAttention guided{torch::full({3, 7, 5}, 0.2), 1, 0};
      for (const GuidedAttention* guidance : {static_cast<const GuidedAttention*>(nullptr), &guided}) {
        if (guidance != nullptr && architecture == Architecture::decoder_only) continue;
        const auto kept = gradients_with(Activations::kept, guidance);
        const auto recomputed = gradients_with(Activations::recomputed, guidance);
        EXPECT_TRUE(torch::equal(recomputed[0], kept[0]));
        for (size_t i = 1; i < kept.size(); ++i)  // sums over the decoder's layers come in another order
          EXPECT_LE((recomputed[i] - kept[i]).abs().max().item<double>(),
                    1e-5 * kept[i].abs().max().item<double>() + 1e-9)
              << i;
      }
    }
}

TEST(Transformer, NamesTheHeadOrLayerToGuideThatIsNotThere) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  const torch::Tensor ids = testing::ids_tensor({{1, 2}});
  for (const auto& [layer, head, words] : std::vector<std::tuple<int64_t, int64_t, std::string>>{
           {9, 0, "no decoder layer 9 (counted from 0)"}, {0, 9, "no attention head 9 (counted from 0)"}}) {
    const GuidedAttention guided{torch::zeros({1, 2, 2}), layer, head};
    EXPECT_THAT(testing::message_of<c10::Error>([&] { model->loss(ids, ids, ids, {}, &guided); }),
                ::testing::HasSubstr(words));
  }
}

TEST(Transformer, RefusesGuidedAttentionThatWouldBeBroadcast) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  const torch::Tensor source = testing::ids_tensor({{1, 2, 3}, {4, 5, 6}}), target = source.slice(1, 0, 2);
  for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{1, 2, 3}, {2, 1, 3}, {2, 2, 1}, {2, 3}}) {
    const GuidedAttention guided{torch::zeros(sizes), 0, 0};
    EXPECT_THAT(testing::message_of<c10::ValueError>([&] { model->loss(source, target, target, {}, &guided); }),
                ::testing::HasSubstr("[2, 2, 3]"));
  }
}

TEST(Transformer, GivesASentenceTheSameLogitsAloneAndAmongPaddedNeighbors) {
  const std::vector<std::vector<int64_t>> sources = {{4, 9, 1}, {3, 3, 8, 5, 6, 7, 2}, {10, 11, 12, 1, 5}};
  const std::vector<std::vector<int64_t>> targets = {{1, 5, 6, 8, 9, 2}, {1, 2}, {1, 7, 7, 3}};
  const auto padded = [](std::vector<std::vector<int64_t>> rows, size_t length) {
    for (auto& row : rows) row.resize(length, 0);
    return testing::ids_tensor(rows);
  };
  for (const auto& [name, options] : small_variants())
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name);
      Transformer model = random_transformer(options, dtype);
      const torch::Tensor together = model(padded(sources, 9), padded(targets, 7));
      for (int64_t b = 0; b < 3; ++b) {
        const torch::Tensor alone = model(testing::ids_tensor({sources[b]}), testing::ids_tensor({targets[b]}));
        // Matrix products of other sizes add in another order.
        expect_near(together[b].slice(0, 0, static_cast<int64_t>(targets[b].size())), alone[0],
                    dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance);
      }
    }
}

TEST(Transformer, ReadsNoEndOfItsSourceWithoutSourceEnd) {
  for (auto [name, options] : small_variants()) {
    Transformer whole = random_transformer(options, torch::kDouble);
    whole->eval();
    options.source_end = false;
    Transformer endless(options);
    endless->to(torch::kDouble);
    const torch::NoGradGuard no_grad;
    const auto weights = whole->named_parameters();
    for (auto& parameter : endless->named_parameters()) parameter.value().copy_(weights[parameter.key()]);
    endless->eval();
    const torch::Tensor target = torch::tensor({{2, 5, 7}}, torch::kLong);
    const torch::Tensor with_end = torch::tensor({{6, 4, 9, 3, 0}, {8, 5, 3, 0, 0}, {3, 0, 0, 0, 0}}, torch::kLong);
    const torch::Tensor logits = endless(with_end, target.repeat({3, 1}));
    for (const auto& [row, source] : {std::pair<int64_t, torch::Tensor>{0, torch::tensor({{6, 4, 9}}, torch::kLong)},
                                      {1, torch::tensor({{8, 5}}, torch::kLong)},
                                      {2, torch::tensor({{3}}, torch::kLong)}})
      EXPECT_TRUE(torch::allclose(logits[row], whole(source, target)[0], 1e-9, 1e-9)) << name << ", row " << row;
    EXPECT_FALSE(torch::allclose(logits[0], whole(with_end, target.repeat({3, 1}))[0], 1e-9, 1e-9)) << name;
  }
}

// The begin token is one that a caller could have put before the source, but attention to it is guided by nobody.
TEST(Transformer, PutsTheBeginTokenBeforeItsSourceWithSourceBegin) {
  const torch::Tensor source = testing::ids_tensor({{6, 4, 3, 0}, {8, 3, 0, 0}, {3, 0, 0, 0}});
  const torch::Tensor with_begin = testing::ids_tensor({{2, 6, 4, 3, 0}, {2, 8, 3, 0, 0}, {2, 3, 0, 0, 0}});
  const torch::Tensor target = testing::ids_tensor({{2, 5, 7}, {2, 6, 4}, {2, 3, 0}});
  const torch::Tensor wanted = torch::full({3, 3, 4}, 0.25, torch::kDouble);
  const torch::Tensor wanted_with_begin = torch::constant_pad_nd(wanted, {1, 0});
  const GuidedAttention guided{wanted, 1, 0}, guided_with_begin{wanted_with_begin, 1, 0};
  for (auto [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer plain = random_transformer(options, torch::kDouble);
    options.source_begin = true;
    Transformer model = random_transformer(options, torch::kDouble);  // the same weights
    expect_near(model(source, target), plain(with_begin, target), kDoubleTolerance);
    const TrainingLoss found = model->loss(source, target, target, {0.1, 2}, &guided),
                       expected = plain->loss(with_begin, target, target, {0.1, 2}, &guided_with_begin);
    expect_near(found.token_loss, expected.token_loss, kDoubleTolerance);
    expect_near(found.guidance, expected.guidance, kDoubleTolerance);
  }
}

TEST(Transformer, StaysFiniteForASourceOfPaddingAlone) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  model->train();
  const torch::Tensor logits =
      model(testing::ids_tensor({{0, 0, 0}, {4, 5, 6}}), testing::ids_tensor({{1, 2}, {1, 3}}));
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  logits.sum().backward();
  for (const auto& parameter : model->named_parameters())
    EXPECT_TRUE(parameter.value().grad().isfinite().all().item<bool>()) << parameter.key();
}

TEST(Transformer, MayBeSharedByThreadsInEvalMode) {
  TransformerOptions options = small_options();
  options.dropout = 0.5;
  Transformer model = random_transformer(options, torch::kFloat);
  const torch::Tensor source = testing::random_ids({3, 7}, kVocabulary, 1);
  const torch::Tensor target = testing::random_ids({3, 5}, kVocabulary, 2);
  const torch::Tensor expected = model(source, target);
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (int& result : equal)
    threads.emplace_back([&] {
      const torch::NoGradGuard no_grad;
      result = 1;
      for (int i = 0; i < 20; ++i) result &= torch::equal(model->forward(source, target), expected) ? 1 : 0;
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 1));
}

TEST(Transformer, RefusesIdsOfAnotherTypeOrShape) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  const torch::Tensor good = testing::ids_tensor({{1, 2}});
  EXPECT_THROW(model(good.to(torch::kInt), good), c10::ValueError);
  EXPECT_THROW(model(good, good[0]), c10::ValueError);
  for (const torch::Tensor& target_out : {good.to(torch::kInt), good.t().contiguous(), good.flatten()})
    EXPECT_THROW(model->loss(good, good, target_out, {}), c10::ValueError);
  for (const int64_t id : {int64_t{-1}, kVocabulary}) {
    const torch::Tensor outside = testing::ids_tensor({{1, id}});
    EXPECT_THROW(model(outside, good), c10::IndexError);
    EXPECT_THROW(model(good, outside), c10::IndexError);
    EXPECT_THROW(model->loss(good, good, outside, {}), c10::IndexError);
  }
  TransformerOptions learned = small_options();
  learned.positional_encoding = PositionalEncodingKind::learned;
  EXPECT_THROW(Transformer(learned)->forward(testing::random_ids({1, 17}, kVocabulary, 1), good), c10::ValueError);
}

}  // namespace
}  // namespace transmute
