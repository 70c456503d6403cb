// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/tests/support/tensors.h>

#include <random>
#include <thread>

namespace transmute {
namespace {

using testing::double_tolerance_of;
using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::random_transformer;
using testing::small_options;

constexpr int64_t kVocabulary = testing::kSmallVocabulary;

// The variants that change which code runs: where the norm is, the positions, the tying.
std::vector<std::pair<std::string, TransformerOptions>> variants() {
  TransformerOptions post = small_options();
  TransformerOptions pre = small_options();
  pre.norm_position = NormPosition::pre;
  pre.positional_encoding = PositionalEncodingKind::learned;
  pre.embedding_tying = EmbeddingTying::none;
  pre.source_vocab_size = kVocabulary + 4;
  TransformerOptions two_languages = small_options();
  two_languages.embedding_tying = EmbeddingTying::target_output;
  two_languages.source_vocab_size = kVocabulary + 2;
  two_languages.score_function = ScoreFunction::additive;
  two_languages.positional_encoding = PositionalEncodingKind::learned;
  TransformerOptions pre_sinusoidal = small_options();
  pre_sinusoidal.norm_position = NormPosition::pre;
  TransformerOptions marian = small_options();  // Hugging Face's
  marian.sinusoids.layout = PositionLayout::halves;
  marian.activation = Activation::swish;
  marian.attention_bias = marian.output_bias = true;
  TransformerOptions bart = pre;
  bart.activation = Activation::gelu;
  bart.attention_bias = bart.output_bias = bart.embedding_norm = true;
  TransformerOptions fairseq = pre_sinusoidal;
  fairseq.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 2};
  fairseq.activation = Activation::gelu_tanh;
  fairseq.embedding_scale = false;
  fairseq.attention_bias = true;
  TransformerOptions mixed = two_languages;
  mixed.activation = Activation::gelu_sigmoid;
  mixed.output_bias = mixed.embedding_norm = true;
  TransformerOptions ssru = small_options();
  ssru.decoder_self_attention = DecoderSelfAttention::ssru;
  ssru.embedding_tying = EmbeddingTying::target_output;
  TransformerOptions deep_ssru = ssru;
  deep_ssru.norm_position = NormPosition::deep;
  deep_ssru.attention_bias = true;
  return {{"SSRU", ssru},
          {"SSRU, deep, biases", deep_ssru},
          {"swish, halves, biases", marian},
          {"pre, learned, untied, gelu, biases, embedding norm", bart},
          {"pre, fairseq's positions, gelu_tanh, unscaled", fairseq},
          {"additive, gelu_sigmoid, output bias, embedding norm", mixed},
          {"post, sinusoidal, tied all", post},
          {"pre, learned, untied", pre},
          {"post, learned, target and output tied, additive", two_languages},
          {"pre, sinusoidal, tied all", pre_sinusoidal}};
}

TEST(Transformer, EqualsDoublePrecisionLoops) {
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12, 7}, {3, 3, 8, 0, 0}});
  const torch::Tensor target = testing::ids_tensor({{1, 5, 6, 2}, {1, 11, 2, 10}});
  for (const auto& [name, options] : variants()) {
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
  for (auto& [name, options] : variants()) {
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
      values = testing::matrix_of(kernels::dropout(testing::tensor_of(values), probability_at(site), true));
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
  for (const auto& [name, options] : variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(shrunk(options, 1), torch::kDouble);
    testing::expect_gradients_match(
        [&, m = model]() mutable {
          return m->loss(source, target_in, target_out, {0.1, 1}).tokens;
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
  for (const auto& [name, options] : variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(shrunk(options, 2), torch::kDouble);
    const GuidedAttention guided{wanted, 1, options.num_heads - 1};
    const DecoderOutput decoded = model->decode(target, model->encode(source), ReturnWeights::yes);
    const torch::Tensor head = decoded.cross_weights[1].select(1, options.num_heads - 1);
    const torch::Tensor expected = -(wanted * head.clamp_min(1e-300).log()).sum();
    const TrainingLoss loss = model->loss(source, target, target, {0, 2}, &guided);
    expect_near(loss.guidance, 2 * expected, kDoubleTolerance);
    expect_near(loss.tokens, model->loss(source, target, target, {0, 2}).tokens, kDoubleTolerance);
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
        (guided == nullptr ? loss.tokens : loss.tokens + loss.guidance).backward();
        std::vector<torch::Tensor> gradients{loss.tokens.detach()};
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

TEST(Transformer, GivesASentenceTheSameLogitsAloneAndAmongPaddedNeighbors) {
  const std::vector<std::vector<int64_t>> sources = {{4, 9, 1}, {3, 3, 8, 5, 6, 7, 2}, {10, 11, 12, 1, 5}};
  const std::vector<std::vector<int64_t>> targets = {{1, 5, 6, 8, 9, 2}, {1, 2}, {1, 7, 7, 3}};
  const auto padded = [](std::vector<std::vector<int64_t>> rows, size_t length) {
    for (auto& row : rows) row.resize(length, 0);
    return testing::ids_tensor(rows);
  };
  for (const auto& [name, options] : variants())
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
  for (auto [name, options] : variants()) {
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
  for (auto [name, options] : variants()) {
    SCOPED_TRACE(name);
    Transformer plain = random_transformer(options, torch::kDouble);
    options.source_begin = true;
    Transformer model = random_transformer(options, torch::kDouble);  // the same weights
    expect_near(model(source, target), plain(with_begin, target), kDoubleTolerance);
    const TrainingLoss found = model->loss(source, target, target, {0.1, 2}, &guided),
                       expected = plain->loss(with_begin, target, target, {0.1, 2}, &guided_with_begin);
    expect_near(found.tokens, expected.tokens, kDoubleTolerance);
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

TEST(Transformer, NeverLooksAtLaterTargetTokens) {
  const torch::Tensor source = testing::random_ids({2, 6}, kVocabulary, 1);
  const torch::Tensor target = testing::random_ids({2, 9}, kVocabulary, 2);
  for (const auto& [name, options] : variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(options, torch::kFloat);
    const torch::Tensor logits = model(source, target);
    for (int64_t t = 1; t < 9; ++t) {
      torch::Tensor changed = target.clone();
      changed.slice(1, t, 9).remainder_(kVocabulary - 1).add_(1);  // every id from t on becomes another one
      const torch::Tensor other = model(source, changed);
      EXPECT_TRUE(torch::equal(other.slice(1, 0, t), logits.slice(1, 0, t))) << "from position " << t;
      EXPECT_FALSE(torch::allclose(other.select(1, t), logits.select(1, t))) << "at position " << t;
    }
  }
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
  TransformerOptions learned = small_options();
  learned.positional_encoding = PositionalEncodingKind::learned;
  EXPECT_THROW(Transformer(learned)->forward(testing::random_ids({1, 17}, kVocabulary, 1), good), c10::ValueError);
}

// The logits with which decoding step by step must agree: all positions at once, from the first token.
torch::Tensor last_logits(Transformer& model, const torch::Tensor& sources,
                          const std::vector<std::vector<int64_t>>& histories) {
  return model(sources, testing::ids_tensor(histories)).select(1, -1);
}

TEST(CachedDecoding, EqualsDecodingAllPositionsAtOnce) {
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12}, {3, 3, 0, 0}});
  const torch::Tensor target = testing::random_ids({2, 10}, kVocabulary, 3);
  for (const auto& [name, options] : variants())
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name);
      Transformer model = random_transformer(options, dtype);
      const EncodedSource encoded = model->encode(source);
      const DecoderOutput full = model->decode(target, encoded, ReturnWeights::yes);
      const torch::Tensor logits = model->project(full.states);
      DecoderCache cache = model->start_decoding(encoded);
      for (int64_t t = 0; t < target.size(1); ++t) {
        EXPECT_EQ(cache.length, t);
        DecoderStep step = model->step(target.slice(1, t, t + 1), cache, ReturnWeights::yes);
        // One row at a time instead of all adds in another order.
        const double tolerance = dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance;
        expect_near(model->project(step.states).squeeze(1), logits.select(1, t), tolerance);
        ASSERT_EQ(step.cross_weights.size(), 2u);
        for (size_t layer = 0; layer < 2; ++layer)
          expect_near(step.cross_weights[layer].squeeze(2), full.cross_weights[layer].select(2, t), tolerance);
        cache = step.cache;
      }
    }
}

TEST(CachedDecoding, TakesManyPositionsAtOnceLikeOneAfterTheOther) {
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12}, {3, 3, 0, 0}});
  const torch::Tensor target = testing::random_ids({2, 10}, kVocabulary, 3);
  for (const auto& [name, options] : variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(options, torch::kDouble);
    const EncodedSource encoded = model->encode(source);
    const DecoderOutput full = model->decode(target, encoded, ReturnWeights::yes);
    DecoderCache cache = model->start_decoding(encoded);
    int64_t begin = 0;
    for (const int64_t count : {3, 1, 4}) {
      const int64_t end = begin + count;
      const DecoderStep many = model->extend(target.slice(1, begin, end), cache, ReturnWeights::yes);
      EXPECT_EQ(many.cache.length, end);
      expect_near(many.states, full.states.slice(1, begin, end), kDoubleTolerance);
      ASSERT_EQ(many.cross_weights.size(), 2u);
      for (size_t layer = 0; layer < 2; ++layer)
        expect_near(many.cross_weights[layer], full.cross_weights[layer].slice(2, begin, end), kDoubleTolerance);
      cache = many.cache;
      begin = end;
    }
    cache = cache.select(torch::tensor({1}), torch::tensor({1}));  // goes on as one that took each by itself
    for (; begin < target.size(1); ++begin) {
      const DecoderStep step = model->step(target.slice(0, 1).slice(1, begin, begin + 1), cache);
      expect_near(step.states, full.states.slice(0, 1).slice(1, begin, begin + 1), kDoubleTolerance);
      cache = step.cache;
    }
  }
}

// Random hypotheses of three sentences are reordered after each step, and sentences leave, as in a search.
TEST(CachedDecoding, FollowsHypothesesThatAreReorderedAndSentencesThatLeave) {
  constexpr int64_t kHypotheses = 3;
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12}, {3, 3, 0, 0}, {10, 5, 6, 0}});
  for (const auto& [name, options] : variants())
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name);
      std::mt19937 random(7);
      Transformer model = random_transformer(options, dtype);
      DecoderCache cache = model->start_decoding(model->encode(source));
      std::vector<int64_t> sentences = {0, 1, 2};  // of the source, by row of the cache
      std::vector<std::vector<int64_t>> histories(3 * kHypotheses);
      for (int64_t step = 0; step < 8; ++step) {
        std::vector<int64_t> ids;
        for (auto& history : histories) {
          history.push_back(1 + static_cast<int64_t>(random() % (kVocabulary - 1)));
          ids.push_back(history.back());
        }
        const auto count = static_cast<int64_t>(sentences.size());
        const DecoderStep result = model->step(torch::tensor(ids).view({count, kHypotheses}), cache);
        ASSERT_EQ(result.states.sizes(), torch::IntArrayRef({count, kHypotheses, options.d_model}));
        const torch::Tensor rows = torch::tensor(sentences).repeat_interleave(kHypotheses);
        expect_near(model->project(result.states).flatten(0, 1),
                    last_logits(model, source.index_select(0, rows), histories),
                    dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance);

        std::vector<int64_t> staying;  // rows of the cache
        for (int64_t row = 0; row < count; ++row)
          if (!(step == 2 && row == 1) && !(step == 5 && row == 0)) staying.push_back(row);
        std::vector<int64_t> parents;
        std::vector<int64_t> next_sentences;
        std::vector<std::vector<int64_t>> next_histories;
        for (const int64_t row : staying) {
          next_sentences.push_back(sentences[row]);
          for (int64_t n = 0; n < kHypotheses; ++n) {
            parents.push_back(row * kHypotheses + static_cast<int64_t>(random() % kHypotheses));
            next_histories.push_back(histories[parents.back()]);
          }
        }
        const bool all_stay = staying.size() == sentences.size();
        cache = result.cache.select(all_stay ? torch::Tensor() : torch::tensor(staying), torch::tensor(parents));
        sentences = next_sentences;
        histories = next_histories;
      }
      EXPECT_EQ(sentences.size(), 1u);
    }
}

TEST(CachedDecoding, LeavesACacheAsItWas) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  const DecoderCache start = model->start_decoding(model->encode(testing::ids_tensor({{4, 9, 1}})));
  const DecoderCache kept = model->step(testing::ids_tensor({{1}}), start).cache;
  const torch::Tensor ids = testing::ids_tensor({{5}});
  const torch::Tensor first = model->step(ids, kept).states;
  model->step(testing::ids_tensor({{7}}), kept);
  EXPECT_TRUE(torch::equal(model->step(ids, kept).states, first));
  EXPECT_EQ(start.length, 0);
  EXPECT_EQ(kept.length, 1);
  EXPECT_EQ(kept.layers[0].self.tokens().key.size(2), 1);
}

// Caches make room for several tokens at once: whoever continues from the same cache must not write into another's.
TEST(CachedDecoding, BranchesAtAnyLength) {
  constexpr int64_t kSteps = 40;
  for (auto [name, options] : variants()) {
    SCOPED_TRACE(name);
    options.max_positions = kSteps + 1;
    Transformer model = random_transformer(options, torch::kDouble);
    torch::manual_seed(3);
    const torch::Tensor target = torch::randint(1, kVocabulary, {2, kSteps}, torch::kLong);
    const EncodedSource encoded = model->encode(testing::ids_tensor({{4, 9, 1, 12}, {3, 3, 0, 0}}));
    const DecoderOutput full = model->decode(target, encoded);
    const torch::Tensor elsewhere = target.flip(1);
    DecoderCache cache = model->start_decoding(encoded);
    for (int64_t at = 0; at < kSteps; ++at) {
      if (at % 2 == 0) model->step(elsewhere.slice(1, at, at + 1), cache);
      DecoderStep step = model->step(target.slice(1, at, at + 1), cache);
      if (at % 3 == 0) step = model->step(target.slice(1, at, at + 1), cache);
      model->extend(elsewhere.slice(1, 0, std::min<int64_t>(5, kSteps - at)), cache);
      if (options.decoder_self_attention == DecoderSelfAttention::attention) {
        ASSERT_EQ(step.cache.layers[0].self.tokens().key.size(2), at + 1);
      }
      expect_near(step.states, full.states.slice(1, at, at + 1), kDoubleTolerance);
      if (at % 7 == 0)
        step.cache = step.cache.select(at == 0 ? torch::Tensor() : torch::tensor({0, 1}), torch::tensor({0, 1}));
      cache = step.cache;
    }
  }
}

TEST(CachedDecoding, RefusesTheCacheOfAnotherDepth) {
  Transformer model = random_transformer(small_options(), torch::kFloat);
  DecoderCache cache = model->start_decoding(model->encode(testing::ids_tensor({{4, 9, 1}})));
  cache.layers.pop_back();
  EXPECT_THROW(model->step(testing::ids_tensor({{1}}), cache), c10::ValueError);
}

}  // namespace
}  // namespace transmute
