// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/attention.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/masks.h>
#include <transmute/tests/support/dropout_mask.h>
#include <transmute/tests/support/tensors.h>

#include <cmath>
#include <vector>

namespace transmute {
namespace {

using reference::Matrix;
using testing::expect_near;
using testing::kDoubleTolerance;
using testing::kFloatTolerance;
using testing::matrix_of;
using testing::random_tensor;

constexpr ScoreFunction kAllScoreFunctions[] = {ScoreFunction::scaled_dot_product, ScoreFunction::dot_product,
                                                ScoreFunction::additive, ScoreFunction::bilinear,
                                                ScoreFunction::uniform};

const char* name_of(ScoreFunction function) {
  switch (function) {
    case ScoreFunction::scaled_dot_product:
      return "scaled_dot_product";
    case ScoreFunction::dot_product:
      return "dot_product";
    case ScoreFunction::additive:
      return "additive";
    case ScoreFunction::bilinear:
      return "bilinear";
    case ScoreFunction::uniform:
      return "uniform";
  }
  return "?";
}

bool is_dot_product(ScoreFunction function) {
  return function == ScoreFunction::scaled_dot_product || function == ScoreFunction::dot_product;
}

// Heads, d_k and d_v that share no factor with each other or with d_model.
MultiHeadAttentionOptions odd_options(ScoreFunction function) {
  MultiHeadAttentionOptions options;
  options.d_model = 8;
  options.num_heads = 3;
  options.d_k = 5;
  options.d_v = 7;
  options.score_function = function;
  return options;
}

TransformerOptions for_reference(const MultiHeadAttentionOptions& options) {
  TransformerOptions all;
  all.d_model = options.d_model;
  all.num_heads = options.num_heads;
  all.score_function = options.score_function;
  return all;
}

MultiHeadAttention random_attention(ScoreFunction function, torch::Dtype dtype = torch::kDouble) {
  MultiHeadAttention attention(odd_options(function));
  testing::randomize_parameters(*attention, 11);
  attention->to(dtype);
  return attention;
}

// Random bool [1,1,T,S]; query 1 may attend to nothing, query 2 to one key alone.
torch::Tensor patchy_mask(int64_t queries, int64_t keys) {
  torch::Tensor mask = random_tensor({1, 1, queries, keys}, 5).gt(-0.3);
  mask.select(2, 1).fill_(false);
  mask.select(2, 2).fill_(false);
  mask.select(2, 2).select(2, keys - 1).fill_(true);
  return mask;
}

reference::MayAttend may_attend(const torch::Tensor& mask) {
  const torch::Tensor flat = mask.reshape({mask.size(-2), mask.size(-1)});
  return [flat](int64_t query, int64_t key) { return flat[query][key].item<bool>(); };
}

TEST(AttentionScore, EqualsLoopsForEveryFunctionAndWidth) {
  for (const ScoreFunction function : kAllScoreFunctions) {
    SCOPED_TRACE(name_of(function));
    const int64_t key_size = 6;
    const int64_t query_size = is_dot_product(function) ? key_size : 4;
    AttentionScore score(AttentionScoreOptions{function, 3, query_size, key_size});
    testing::randomize_parameters(*score, 3);
    score->to(torch::kDouble);
    const torch::Tensor query = random_tensor({2, 3, 4, query_size}, 1);
    const torch::Tensor key = random_tensor({2, 3, 5, key_size}, 2);
    const torch::Tensor scores = score(query, key);
    ASSERT_EQ(scores.sizes(), torch::IntArrayRef({2, 3, 4, 5}));
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t h = 0; h < 3; ++h)
        expect_near(scores[b][h],
                    reference::scores(function, matrix_of(query[b][h]), matrix_of(key[b][h]),
                                      testing::weights_of(*score), "", h),
                    kDoubleTolerance);
  }
}

TEST(AttentionScore, RefusesWidthsAndShapesThatDoNotFit) {
  const auto with_widths = [](ScoreFunction function, int64_t query_size, int64_t key_size) {
    return AttentionScore(AttentionScoreOptions{function, 1, query_size, key_size});
  };
  EXPECT_THROW(with_widths(ScoreFunction::scaled_dot_product, 4, 5), c10::ValueError);
  EXPECT_THROW(with_widths(ScoreFunction::dot_product, 4, 5), c10::ValueError);
  AttentionScore score = with_widths(ScoreFunction::scaled_dot_product, 4, 4);
  EXPECT_THROW(score(torch::zeros({2, 3, 4}), torch::zeros({2, 3, 4})), c10::ValueError);
  EXPECT_THROW(score(torch::zeros({1, 2, 3, 4}), torch::zeros({1, 1, 3, 4})), c10::ValueError);
}

TEST(AttentionScore, IsDrawnWithinXaviersBoundForEachHead) {
  torch::manual_seed(1);
  const int64_t query_size = 40;
  const int64_t key_size = 60;
  // Uniform numbers come near their bound without reaching beyond it.
  const auto expect_uniform = [](const torch::Tensor& weight, double bound) {
    EXPECT_LE(weight.abs().max().item<double>(), bound);
    EXPECT_GT(weight.abs().max().item<double>(), 0.95 * bound);
    EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), 0.1 * bound);
  };
  AttentionScore additive(AttentionScoreOptions{ScoreFunction::additive, 4, query_size, key_size});
  const auto weights = additive->named_parameters();
  expect_uniform(weights["query_weight"], std::sqrt(6.0 / (query_size + key_size)));
  expect_uniform(weights["key_weight"], std::sqrt(6.0 / (key_size + key_size)));
  expect_uniform(weights["score_weight"], std::sqrt(6.0 / (key_size + 1)));
  AttentionScore bilinear(AttentionScoreOptions{ScoreFunction::bilinear, 4, query_size, key_size});
  expect_uniform(bilinear->named_parameters()["weight"], std::sqrt(6.0 / (query_size + key_size)));
}

TEST(AttentionPooling, StandsAloneWithWidthsOfItsOwn) {
  const torch::Tensor mask = patchy_mask(4, 5);
  for (const ScoreFunction function : kAllScoreFunctions) {
    SCOPED_TRACE(name_of(function));
    const int64_t key_size = 6;
    const int64_t query_size = is_dot_product(function) ? key_size : 3;
    AttentionPooling pooling(AttentionScoreOptions{function, 1, query_size, key_size});
    testing::randomize_parameters(*pooling, 3);
    pooling->to(torch::kDouble);
    const torch::Tensor query = random_tensor({1, 1, 4, query_size}, 1);
    const torch::Tensor key = random_tensor({1, 1, 5, key_size}, 2);
    const torch::Tensor value = random_tensor({1, 1, 5, 2}, 3);
    const AttentionResult result = pooling(query, key, value, mask, ReturnWeights::yes);

    const Matrix scores =
        reference::scores(function, matrix_of(query), matrix_of(key), testing::weights_of(*pooling), "score.");
    const Matrix weights = reference::softmax(scores, may_attend(mask));
    expect_near(result.weights, weights, kDoubleTolerance);
    expect_near(result.output, reference::weighted_sum(weights, matrix_of(value)), kDoubleTolerance);
  }
}

TEST(AttentionPooling, DropsWeightsAndScalesTheOthersInTraining) {
  const double probability = 0.25;
  const uint64_t key_of_mask = 99;
  AttentionPooling pooling(AttentionScoreOptions{ScoreFunction::dot_product, 2, 3, 3}, probability);
  const torch::Tensor query = random_tensor({1, 2, 4, 3}, 1);
  const torch::Tensor key = random_tensor({1, 2, 5, 3}, 2);
  const torch::Tensor value = random_tensor({1, 2, 5, 3}, 3);
  pooling->eval();
  const AttentionResult evaluated = pooling(query, key, value, torch::Tensor(), ReturnWeights::yes);
  pooling->train();
  const kernels::DropoutScope scope(key_of_mask);
  const AttentionResult trained = pooling(query, key, value, torch::Tensor(), ReturnWeights::yes);

  // The weights that are returned are the attention itself, before anything is dropped.
  EXPECT_TRUE(torch::equal(trained.weights, evaluated.weights));
  const torch::Tensor kept = testing::dropout_mask(key_of_mask, 40, probability).view({1, 2, 4, 5});
  ASSERT_LT(kept.sum().item<int64_t>(), 40);
  expect_near(trained.output, torch::matmul(evaluated.weights * kept / (1 - probability), value), kDoubleTolerance);
}

// The operation that GPUs run, here on the CPU.
TEST(AttentionPooling, IsWhatLibTorchsOwnAttentionComputes) {
  if (!kHasFusedAttention) GTEST_SKIP() << "LibTorch " << TORCH_VERSION << " is older than 2.5";
  const torch::Tensor blocked_row = torch::ones({2, 1, 4, 6}, torch::kBool);
  blocked_row[1][0][2].fill_(false);
  for (const ScoreFunction function : {ScoreFunction::scaled_dot_product, ScoreFunction::dot_product})
    for (const torch::Tensor& mask :
         {torch::Tensor(), padding_mask(torch::tensor({{5, 6, 7, 8, 9, 5}, {5, 6, 0, 0, 0, 0}}), 0), blocked_row}) {
      std::vector<torch::Tensor> inputs, twins;
      for (const auto& shape : {std::vector<int64_t>{2, 3, 4, 5}, {2, 3, 6, 5}, {2, 3, 6, 7}}) {
        inputs.push_back(random_tensor(shape, 40 + inputs.size()).requires_grad_());
        twins.push_back(inputs.back().detach().clone().requires_grad_());
      }
      AttentionPooling pooling(AttentionScoreOptions{function, 3, 5, 5});
      const torch::Tensor expected = pooling(inputs[0], inputs[1], inputs[2], mask).output;
      const double scale = function == ScoreFunction::dot_product ? 1.0 : 1.0 / std::sqrt(5.0);
      const torch::Tensor found = fused_attention(twins[0], twins[1], twins[2], mask, 0.0, scale);
      EXPECT_TRUE(torch::allclose(found, expected, 1e-9, 1e-9)) << name_of(function);
      const torch::Tensor weights = random_tensor({2, 3, 4, 7}, 50);
      (expected * weights).sum().backward();
      (found * weights).sum().backward();
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_TRUE(torch::allclose(twins[i].grad(), inputs[i].grad(), 1e-9, 1e-9)) << name_of(function) << i;
    }
}

TEST(AttentionPooling, NeedsOneValuePerKey) {
  AttentionPooling pooling(AttentionScoreOptions{ScoreFunction::dot_product, 1, 3, 3});
  EXPECT_THROW(pooling(torch::zeros({1, 1, 2, 3}), torch::zeros({1, 1, 4, 3}), torch::zeros({1, 1, 5, 3})),
               c10::ValueError);
}

TEST(AttentionWeights, SumToOneAndAreExactlyZeroWhereMasked) {
  const torch::Tensor mask = random_tensor({2, 1, 6, 9}, 4).gt(0).logical_or(torch::eye(6, 9, torch::kBool));
  for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    SCOPED_TRACE(torch::toString(dtype));
    // Scores from -50 to 50 or so: the softmax must not depend on their size.
    const torch::Tensor scores = (random_tensor({2, 3, 6, 9}, 7) * 20).to(dtype);
    const torch::Tensor weights = attention_weights(scores, mask);
    EXPECT_EQ(weights.scalar_type(), dtype);
    const torch::Tensor blocked = mask.logical_not().expand_as(weights);
    ASSERT_GT(blocked.sum().item<int64_t>(), 0);
    EXPECT_TRUE(weights.masked_select(blocked).eq(0).all().item<bool>());
    // bfloat16 rounds each of the weights to 8 bits.
    const double tolerance = dtype == torch::kBFloat16 ? 2e-2 : dtype == torch::kFloat ? 1e-6 : 1e-14;
    expect_near(weights.to(torch::kDouble).sum(-1), torch::ones({2, 3, 6}, torch::kDouble), tolerance);
  }
}

TEST(AttentionWeights, AreZeroWhereThereIsNothingToAttendTo) {
  for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    SCOPED_TRACE(torch::toString(dtype));
    torch::Tensor scores = random_tensor({1, 2, 3, 4}, 7).to(dtype).requires_grad_();
    const torch::Tensor nothing = torch::zeros({1, 1, 1, 4}, torch::kBool);
    const torch::Tensor weights = attention_weights(scores, nothing);
    EXPECT_TRUE(weights.eq(0).all().item<bool>());
    (weights * 3).sum().backward();
    EXPECT_TRUE(scores.grad().eq(0).all().item<bool>());
  }
}

TEST(MultiHeadAttention, EqualsDoublePrecisionLoops) {
  const torch::Tensor query = random_tensor({2, 4, 8}, 1);
  const torch::Tensor memory = random_tensor({2, 6, 8}, 2);
  const torch::Tensor mask = patchy_mask(4, 6);
  for (const ScoreFunction function : kAllScoreFunctions)
    for (const auto dtype : {torch::kDouble, torch::kFloat}) {
      SCOPED_TRACE(name_of(function));
      MultiHeadAttention attention = random_attention(function, dtype);
      const AttentionResult result = attention(query.to(dtype), memory.to(dtype), mask, ReturnWeights::yes);
      const torch::Tensor fused = attention(query.to(dtype), memory.to(dtype), mask).output;  // where there is a kernel
      ASSERT_EQ(result.output.sizes(), query.sizes());
      ASSERT_EQ(result.weights.sizes(), torch::IntArrayRef({2, 3, 4, 6}));
      const double tolerance = dtype == torch::kFloat ? kFloatTolerance : kDoubleTolerance;
      for (int64_t b = 0; b < 2; ++b) {
        const auto expected =
            reference::multi_head_attention(for_reference(odd_options(function)), testing::weights_of(*attention), "",
                                            matrix_of(query[b]), matrix_of(memory[b]), may_attend(mask));
        expect_near(result.output[b], expected.output, tolerance);
        expect_near(fused[b], expected.output, tolerance);
        expect_near(result.weights[b], expected.weights, tolerance);
      }
    }
}

TEST(MultiHeadAttention, ProjectsJointlyWhatItProjectsApart) {
  MultiHeadAttention attention = random_attention(ScoreFunction::additive);
  const torch::Tensor memory = random_tensor({2, 6, 8}, 2);
  const KeyValue projected = attention->project_memory(memory);
  EXPECT_EQ(projected.key.sizes(), torch::IntArrayRef({2, 3, 6, 5}));
  EXPECT_EQ(projected.value.sizes(), torch::IntArrayRef({2, 3, 6, 7}));
  const QueryKeyValue joined = attention->project(memory, attention->joined_projection());
  expect_near(joined.query, attention->project_query(memory), kDoubleTolerance);
  expect_near(joined.memory.key, projected.key, kDoubleTolerance);
  expect_near(joined.memory.value, projected.value, kDoubleTolerance);
}

TEST(MultiHeadAttention, RefusesInputsOfOtherWidths) {
  MultiHeadAttention attention(odd_options(ScoreFunction::scaled_dot_product));
  const torch::Tensor good = torch::zeros({2, 3, 8});
  EXPECT_THROW(attention(torch::zeros({2, 3, 7}), good), c10::ValueError);
  EXPECT_THROW(attention(good, torch::zeros({2, 3, 9})), c10::ValueError);
  EXPECT_THROW(attention(good, torch::zeros({3, 8})), c10::ValueError);
  EXPECT_THROW(attention(good, torch::zeros({1, 3, 8})), c10::ValueError);
}

TEST(MultiHeadAttention, TakesEmptyBatchesAndLengths) {
  for (const torch::Dtype dtype : {torch::kDouble, torch::kFloat}) {
    MultiHeadAttention attention = random_attention(ScoreFunction::scaled_dot_product, dtype);
    for (const auto return_weights : {ReturnWeights::no, ReturnWeights::yes}) {
      const auto shape_of = [&](torch::IntArrayRef query, torch::IntArrayRef memory) {
        return attention(torch::ones(query, dtype), torch::ones(memory, dtype), torch::Tensor(), return_weights)
            .output.sizes()
            .vec();
      };
      EXPECT_EQ(shape_of({0, 3, 8}, {0, 4, 8}), (std::vector<int64_t>{0, 3, 8}));
      EXPECT_EQ(shape_of({2, 0, 8}, {2, 4, 8}), (std::vector<int64_t>{2, 0, 8}));
      EXPECT_EQ(shape_of({2, 3, 8}, {2, 0, 8}), (std::vector<int64_t>{2, 3, 8}));
    }
  }
}

TEST(Masks, AllowWordsAndHidePadding) {
  const torch::Tensor mask = padding_mask(testing::ids_tensor({{5, 9, 3, 3}, {3, 5, 7, 9}}), 3);
  EXPECT_EQ(mask.sizes(), torch::IntArrayRef({2, 1, 1, 4}));
  EXPECT_TRUE(torch::equal(mask.view({2, 4}).to(torch::kLong), testing::ids_tensor({{1, 1, 0, 0}, {0, 1, 1, 1}})));
  EXPECT_THROW(padding_mask(torch::zeros({4}, torch::kLong), 0), c10::ValueError);
}

TEST(Masks, LetAPositionAttendUpToItself) {
  const torch::Tensor mask = causal_mask(5, torch::kCPU);
  ASSERT_EQ(mask.sizes(), torch::IntArrayRef({1, 1, 5, 5}));
  EXPECT_EQ(mask.scalar_type(), torch::kBool);
  for (int64_t t = 0; t < 5; ++t)
    for (int64_t s = 0; s < 5; ++s) EXPECT_EQ(mask[0][0][t][s].item<bool>(), s <= t) << t << ' ' << s;
}

}  // namespace
}  // namespace transmute
