// SPDX-License-Identifier: Apache-2.0
// Decoding with a cache beside decoding all positions at once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/transformer.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/tests/support/tensors.h>

#include <random>

namespace transmute {
namespace {

using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::kSmallVocabulary;
using testing::random_transformer;
using testing::small_options;
using testing::small_variants;

// The logits with which decoding step by step must agree: all positions at once, from the first token.
torch::Tensor last_logits(Transformer& model, const torch::Tensor& sources,
                          const std::vector<std::vector<int64_t>>& histories) {
  return model(sources, testing::ids_tensor(histories)).select(1, -1);
}

TEST(CachedDecoding, EqualsDecodingAllPositionsAtOnce) {
  const torch::Tensor source = testing::ids_tensor({{4, 9, 1, 12}, {3, 3, 0, 0}});
  const torch::Tensor target = testing::random_ids({2, 10}, kSmallVocabulary, 3);
  for (const auto& [name, options] : small_variants())
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
  const torch::Tensor target = testing::random_ids({2, 10}, kSmallVocabulary, 3);
  for (const auto& [name, options] : small_variants()) {
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
  for (const auto& [name, options] : small_variants())
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
          history.push_back(1 + static_cast<int64_t>(random() % (kSmallVocabulary - 1)));
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
  for (auto [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    options.max_positions = kSteps + 1;
    Transformer model = random_transformer(options, torch::kDouble);
    torch::manual_seed(3);
    const torch::Tensor target = torch::randint(1, kSmallVocabulary, {2, kSteps}, torch::kLong);
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

TEST(CachedDecoding, RefusesManyPositionsOfSeveralHypothesesAndNoPosition) {
  for (const auto& [name, options] : small_variants()) {
    SCOPED_TRACE(name);
    Transformer model = random_transformer(options, torch::kFloat);
    const DecoderCache start = model->start_decoding(model->encode(testing::ids_tensor({{4, 9, 1}})));
    EXPECT_THROW(model->extend(torch::zeros({1, 0}, torch::kLong), start), c10::ValueError);
    const DecoderCache two = model->step(testing::ids_tensor({{1, 2}}), start).cache;
    EXPECT_THROW(model->extend(testing::ids_tensor({{1, 2}}), two), c10::ValueError);
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
