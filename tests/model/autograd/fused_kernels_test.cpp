// SPDX-License-Identifier: Apache-2.0
// Every fused kernel against its plain twin in double precision: same inputs, same dropout masks, at each level of
// instructions that the machine has. The twins themselves are compared with double-precision loops and central
// differences where the modules are (layers_test, attention_test, transformer_test).

#include <gtest/gtest.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/additive_scores.h>
#include <transmute/model/autograd/attention.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/embedding.h>
#include <transmute/model/autograd/feed_forward.h>
#include <transmute/model/autograd/joined_linear.h>
#include <transmute/model/autograd/recurrence.h>
#include <transmute/model/autograd/residual.h>
#include <transmute/tests/support/tensors.h>

#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

using testing::random_tensor;

constexpr torch::Dtype kTypes[] = {torch::kFloat, torch::kBFloat16};

// Inputs as a function takes them: matrices in the type under test, vectors (biases, norms, positions) in float32.
using Inputs = std::vector<torch::Tensor>;
using Function = std::function<torch::Tensor(const Inputs&)>;

struct Computed {
  torch::Tensor result;
  Inputs gradients;
};

Computed computed(const Function& function, const Inputs& leaves, const torch::Tensor& probe) {
  const DropoutScope scope(77);
  const torch::Tensor result = function(leaves);
  const torch::Tensor loss = (result.to(torch::kDouble) * probe).sum();
  return {result.detach(), torch::autograd::grad({loss}, leaves)};
}

// The largest difference as a share of the largest expected number.
double relative_difference(const torch::Tensor& actual, const torch::Tensor& expected) {
  if (expected.numel() == 0) return actual.sizes() == expected.sizes() ? 0 : 1;
  return testing::largest_difference(actual.is_sparse() ? actual.to_dense() : actual, expected) /
         (expected.abs().max().item<double>() + 1e-3);
}

// `inputs` in double. The reference sees the numbers that the type under test can hold.
void expect_equals_twin(const Function& fused, const Function& plain, const Inputs& inputs,
                        const std::vector<bool>& is_matrix) {
  for (const torch::Dtype type : kTypes) {
    Inputs actual_leaves, expected_leaves;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const torch::Tensor held = inputs[i].to(is_matrix[i] ? type : torch::kFloat);
      actual_leaves.push_back(held.detach().requires_grad_());
      expected_leaves.push_back(held.to(torch::kDouble).detach().requires_grad_());
    }
    const torch::Tensor shape = plain(expected_leaves);
    const torch::Tensor probe = random_tensor(shape.sizes(), 99).to(type).to(torch::kDouble);
    const Computed expected = computed(plain, expected_leaves, probe);
    // float32 sums of some hundred numbers; bfloat16 keeps 8 bits of each number on the way.
    const double tolerance = type == torch::kFloat ? 2e-5 : 3e-2;
    for (const Simd level : available_simd()) {
      const SimdLimit limit(level);
      const Computed actual = computed(fused, actual_leaves, probe);
      EXPECT_EQ(actual.result.scalar_type(), type);
      const std::string where =
          std::string(torch::toString(type)) + ", instructions " + std::to_string(static_cast<int>(level));
      EXPECT_LE(relative_difference(actual.result, expected.result), tolerance) << where;
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_LE(relative_difference(actual.gradients[i], expected.gradients[i]), tolerance)
            << where << ", gradient " << i;
    }
  }
}

// Around the 4, 8 and 16 lanes; one mask's block of 65,536 elements ends inside the last.
struct Rows {
  int64_t rows, columns;
};
constexpr Rows kRows[] = {{1, 1}, {3, 5}, {7, 16}, {4, 17}, {5, 100}, {2, 256}, {700, 97}};

TEST(FusedResidualNorm, EqualsItsPlainTwin) {
  for (const auto& [rows, columns] : kRows)
    for (const double dropout : {0.0, 0.3})
      for (const bool has_bias : {false, true}) {
        if (columns == 1) continue;               // every row becomes 0 there
        const double scale = has_bias ? 1.7 : 1;  // not all four pairs, for the sake of time
        SCOPED_TRACE(::testing::Message()
                     << rows << 'x' << columns << ", dropout " << dropout << ", bias " << has_bias);
        Inputs inputs = {random_tensor({1, rows, columns}, 1), random_tensor({1, rows, columns}, 2),
                         random_tensor({columns}, 3), random_tensor({columns}, 4)};
        std::vector<bool> is_matrix = {true, true, false, false};
        if (has_bias) {
          inputs.push_back(random_tensor({columns}, 5));
          is_matrix.push_back(false);
        }
        const auto call = [=](auto function) {
          return [=](const Inputs& in) {
            return function(Residual(in[0], scale), Branch{in[1], has_bias ? in[4] : torch::Tensor(), dropout},
                            NormParameters{in[2], in[3], 1e-3});
          };
        };
        expect_equals_twin(call(residual_norm), call(residual_norm_plain), inputs, is_matrix);
      }
}

TEST(FusedResidualAdd, EqualsItsPlainTwin) {
  for (const auto& [rows, columns] : kRows)
    for (const double dropout : {0.0, 0.3}) {
      SCOPED_TRACE(::testing::Message() << rows << 'x' << columns << ", dropout " << dropout);
      const auto call = [=](auto function) {
        return [=](const Inputs& in) { return function(in[0], Branch{in[1], in[2], dropout}); };
      };
      expect_equals_twin(
          call(residual_add), call(residual_add_plain),
          {random_tensor({rows, columns}, 1), random_tensor({rows, columns}, 2), random_tensor({columns}, 3)},
          {true, true, false});
    }
}

TEST(FusedLayerNorm, EqualsItsPlainTwin) {
  for (const auto& [rows, columns] : kRows) {
    if (columns == 1) continue;
    SCOPED_TRACE(::testing::Message() << rows << 'x' << columns);
    const auto call = [](auto function) {
      return [=](const Inputs& in) { return function(in[0], NormParameters{in[1], in[2], 1e-6}); };
    };
    // Far from 0: the variance must not be lost in the squares of the mean.
    expect_equals_twin(
        call(layer_norm), call(layer_norm_plain),
        {random_tensor({rows, columns}, 1) + 20, random_tensor({columns}, 2), random_tensor({columns}, 3)},
        {true, false, false});
  }
}

TEST(FusedFeedForward, EqualsItsPlainTwin) {
  for (const auto& [rows, columns] : kRows)
    for (const double dropout : {0.0, 0.3}) {
      SCOPED_TRACE(::testing::Message() << rows << 'x' << columns << ", dropout " << dropout);
      const auto call = [=](auto function) {
        return [=](const Inputs& in) { return function(in[0], in[1], in[2], dropout); };
      };
      // Small whole numbers: sums are exact, so that no rounding moves one across the ReLU's corner.
      const auto whole = [](torch::IntArrayRef sizes, uint64_t seed) { return random_tensor(sizes, seed).round(); };
      expect_equals_twin(call(linear_relu_dropout), call(linear_relu_dropout_plain),
                         {whole({1, rows, 6}, 1), whole({columns, 6}, 2), whole({columns}, 3) + 0.5},
                         {true, true, false});
    }
}

TEST(FusedEmbed, EqualsItsPlainTwin) {
  for (const auto& [rows, columns] : kRows)
    for (const double dropout : {0.0, 0.3})
      for (const bool sparse : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << 'x' << columns << ", dropout " << dropout << ", sparse " << sparse);
        torch::Tensor ids = testing::random_ids({3, rows}, 9, 5);
        ids[0][rows / 2] = kNoToken;
        const torch::Tensor positions = random_tensor({rows, columns}, 6).to(torch::kFloat);
        const auto call = [=](auto function, torch::Dtype type) {
          return [=](const Inputs& in) {
            return function(in[0], ids, type == torch::kDouble ? positions.to(type) : positions,
                            EmbedOptions{2.5, dropout, sparse, /*has_gaps=*/true});
          };
        };
        expect_equals_twin(call(embed, torch::kFloat), call(embed_plain, torch::kDouble),
                           {random_tensor({9, columns}, 1)}, {true});
      }
}

TEST(FusedEmbed, LeavesTheirPositionsWhereThereAreNoTokens) {
  const torch::Tensor ids = testing::ids_tensor({{1, kNoToken, 4}});
  const torch::Tensor positions = random_tensor({3, 20}, 6).to(torch::kFloat);
  for (const bool sparse : {false, true})
    for (const torch::Dtype type : kTypes) {
      const torch::Tensor table = random_tensor({9, 20}, 1).to(type).requires_grad_();
      const torch::Tensor states = embed(table, ids, positions, EmbedOptions{2, 0, sparse, true});
      EXPECT_TRUE(torch::equal(states[0][1], positions[1].to(type)));
      const torch::Tensor gradient = torch::autograd::grad({states.sum()}, {table})[0].to_dense();
      EXPECT_TRUE(torch::equal(gradient.ne(0).any(1).nonzero().flatten(), torch::tensor({1L, 4L})));
    }
}

TEST(FusedEmbed, AddsItsRowsOntoADenseGradient) {
  for (const torch::Dtype type : kTypes) {
    const torch::Tensor table = random_tensor({9, 20}, 1).to(type).requires_grad_();
    const torch::Tensor ids = testing::ids_tensor({{1, 8, 1}, {3, 8, 0}});
    const auto gradient = [&](bool sparse) {
      const torch::Tensor states = embed(table, ids, torch::zeros({3, 20}), EmbedOptions{2, 0, sparse});
      return torch::autograd::grad({torch::linear(states, table).square().sum()}, {table})[0];
    };
    const torch::Tensor added = gradient(true);
    EXPECT_FALSE(added.is_sparse());
    EXPECT_LE(relative_difference(added, gradient(false).to(torch::kDouble)), type == torch::kFloat ? 1e-6 : 1e-2);
  }
}

TEST(FusedEmbed, RefusesIdsOutsideTheTable) {
  const torch::Tensor table = torch::zeros({5, 4});
  EXPECT_THROW(embed(table, testing::ids_tensor({{1, 5}}), torch::zeros({2, 4}), {}), c10::IndexError);
  EXPECT_THROW(embed(table, testing::ids_tensor({{1, -1}}), torch::zeros({2, 4}), {}), c10::IndexError);
  EXPECT_THROW(embed(table, testing::ids_tensor({{1, 2}}), torch::zeros({3, 4}), {}), c10::ValueError);
}

struct AttentionCase {
  int64_t batch, queries, keys;
  HeadOptions options;
};

std::vector<AttentionCase> attention_cases() {
  std::vector<AttentionCase> cases;
  for (const double dropout : {0.0, 0.3}) {
    cases.push_back({1, 1, 1, {1, 1, 1, 1, dropout}});
    cases.push_back({2, 5, 3, {2, 3, 5, 0.7, dropout}});
    cases.push_back({3, 17, 16, {4, 16, 16, 0.25, dropout}});
    cases.push_back({2, 33, 40, {2, 32, 32, 0.2, dropout}});
    cases.push_back({1, 70, 65, {3, 64, 48, 0.125, dropout}});
    cases.push_back({1, 6, 130, {1, 20, 9, 0.2, dropout}});
    cases.push_back({1, 300, 300, {1, 16, 16, 0.25, dropout}});  // a mask's block of 65,536 elements ends inside
  }
  return cases;
}

// None, padding at the end, the future, and one with holes in which some queries may attend to nothing.
std::vector<torch::Tensor> masks_for(int64_t batch, int64_t queries, int64_t keys) {
  const torch::Tensor random = random_tensor({batch, 1, queries, keys}, 8).gt(0.3);
  const torch::Tensor holes = random.logical_and(random_tensor({batch, 1, queries, 1}, 9).gt(-1));
  const torch::Tensor lengths = testing::random_ids({batch, 1, 1, 1}, keys + 1, 10);
  torch::Tensor nothing = torch::ones({batch, 1, 1, keys}, torch::kBool);
  nothing[0] = false;
  return {{},
          torch::arange(keys).lt(lengths),
          torch::ones({queries, keys}, torch::kBool).tril().unsqueeze(0).unsqueeze(0),
          holes,
          nothing};
}

TEST(FusedSelfAttention, EqualsItsPlainTwin) {
  for (const auto& [batch, queries, keys, options] : attention_cases())
    for (const auto& mask : masks_for(batch, queries, queries)) {
      SCOPED_TRACE(::testing::Message() << batch << ' ' << queries << " mask "
                                        << (mask.defined() ? c10::str(mask.sizes()) : "none"));
      const auto call = [&, options = options](auto function) {
        return [=](const Inputs& in) { return function(in[0], mask, options); };
      };
      const int64_t width = options.num_heads * (2 * options.key_width + options.value_width);
      expect_equals_twin(call(self_attention), call(self_attention_plain), {random_tensor({batch, queries, width}, 1)},
                         {true});
    }
}

TEST(FusedCrossAttention, EqualsItsPlainTwin) {
  for (const auto& [batch, queries, keys, options] : attention_cases())
    for (const auto& mask : masks_for(batch, queries, keys)) {
      SCOPED_TRACE(::testing::Message() << batch << ' ' << queries << ' ' << keys << " mask "
                                        << (mask.defined() ? c10::str(mask.sizes()) : "none"));
      const auto call = [&, options = options](auto function) {
        return [=](const Inputs& in) { return function(in[0], in[1], mask, options); };
      };
      expect_equals_twin(
          call(cross_attention), call(cross_attention_plain),
          {random_tensor({batch, queries, options.num_heads * options.key_width}, 1),
           random_tensor({batch, keys, options.num_heads * (options.key_width + options.value_width)}, 2)},
          {true, true});
    }
}

TEST(FusedAttention, GivesZeroWhereAQueryMayAttendToNothing) {
  const HeadOptions options{2, 4, 4, 0.5, 0};
  torch::Tensor mask = torch::ones({2, 1, 1, 5}, torch::kBool);
  mask[1] = false;
  const torch::Tensor packed = random_tensor({2, 5, 24}, 1).to(torch::kFloat).requires_grad_();
  const torch::Tensor output = self_attention(packed, mask, options);
  EXPECT_TRUE(output[0].ne(0).all().item<bool>());
  EXPECT_TRUE(output[1].eq(0).all().item<bool>());
  output.sum().backward();
  EXPECT_TRUE(packed.grad()[1].eq(0).all().item<bool>());
}

TEST(FusedAttention, StaysFiniteWithLargeScores) {
  const HeadOptions options{1, 16, 16, 1, 0};
  const torch::Tensor packed = (random_tensor({1, 9, 48}, 1) * 100).to(torch::kFloat).requires_grad_();
  const torch::Tensor output = self_attention(packed, {}, options);
  output.sum().backward();
  EXPECT_TRUE(output.isfinite().all().item<bool>());
  EXPECT_TRUE(packed.grad().isfinite().all().item<bool>());
}

TEST(FusedAttention, StaysNaNWhereAScoreIs) {
  const HeadOptions options{1, 16, 16, 1, 0};
  torch::Tensor mask = torch::ones({1, 1, 9, 9}, torch::kBool);
  mask.select(3, 7).fill_(false);
  for (const torch::Dtype type : kTypes)
    for (const Simd level : available_simd()) {
      const SimdLimit limit(level);
      const auto output_with = [&](int64_t first, int64_t count, int64_t column) {
        const torch::Tensor packed = random_tensor({1, 9, 48}, 1).to(type);
        packed.narrow(1, first, count).select(2, column).fill_(NAN);
        return self_attention(packed, mask, options).isnan();
      };
      EXPECT_TRUE(torch::equal(output_with(2, 1, 3).any(2)[0], torch::arange(9).eq(2))) << "a query";
      EXPECT_TRUE(output_with(4, 1, 16 + 3).all().item<bool>()) << "a key";
      EXPECT_TRUE(output_with(0, 9, 16 + 3).all().item<bool>()) << "all keys";
      EXPECT_FALSE(output_with(7, 1, 16 + 3).any().item<bool>()) << "a masked key";
    }
}

TEST(FusedAttention, WantsOneMemoryForEachSentence) {
  const HeadOptions options{1, 4, 4, 1, 0};
  EXPECT_THROW(cross_attention(torch::zeros({2, 3, 4}), torch::zeros({1, 5, 8}), {}, options), c10::ValueError);
  EXPECT_THROW(cross_attention(torch::zeros({1, 3, 4}), torch::zeros({2, 5, 8}), {}, options), c10::ValueError);
}

TEST(FusedKernels, RefuseSecondDerivatives) {
  const auto leaf = [](torch::IntArrayRef sizes, uint64_t seed) {
    return random_tensor(sizes, seed).to(torch::kFloat).requires_grad_();
  };
  const torch::Tensor x = leaf({2, 3, 16}, 1), y = leaf({2, 3, 16}, 2), vector = leaf({16}, 3),
                      matrix = leaf({16, 16}, 4);
  const torch::Tensor targets = testing::random_ids({6}, 16, 5);
  const HeadOptions options{2, 4, 4, 0.5, 0};
  const std::vector<std::pair<std::string, torch::Tensor>> results = {
      {"layer_norm", layer_norm(x, {vector, vector, 1e-6})},
      {"residual_add", residual_add(x, {y, {}})},
      {"linear_relu_dropout", linear_relu_dropout(x, matrix, vector, 0)},
      {"embed", embed(matrix, targets.view({2, 3}), torch::zeros({3, 16}), {})},
      {"cross_attention", cross_attention(x.narrow(2, 0, 8), y, {}, options)},
      {"additive_scores", additive_scores(x.unsqueeze(1), y.unsqueeze(1), vector.unsqueeze(0))},
      {"joined_linear", joined_linear(x, matrix)},
      {"recurrence", recurrence(x, vector.narrow(0, 0, 8))},
      {"projected_cross_entropy", projected_cross_entropy(x.view({6, 16}), matrix, targets, {})},
      {"consistent_cross_entropy",
       consistent_cross_entropy(torch::cat({x, y}).view({12, 16}), matrix, targets, {}, {}).loss},
  };
  for (const auto& [name, result] : results) {
    SCOPED_TRACE(name);
    const Inputs leaves = {x, y, vector, matrix};
    EXPECT_THROW(torch::autograd::grad({result.square().sum()}, leaves, {}, true, /*create_graph=*/true,
                                       /*allow_unused=*/true),
                 c10::Error);
  }
}

TEST(FusedKernels, TakeInputThatIsNotContiguous) {
  const auto strided = [](torch::IntArrayRef sizes, uint64_t seed) {
    return random_tensor(sizes, seed).transpose(0, 1).contiguous().transpose(0, 1).to(torch::kFloat);
  };
  const torch::Tensor x = strided({3, 4, 24}, 1);
  const torch::Tensor y = strided({3, 4, 24}, 2);
  ASSERT_FALSE(x.is_contiguous());
  const NormParameters norm{torch::ones({24}), torch::zeros({24}), 1e-6};
  const HeadOptions options{2, 4, 4, 0.5, 0};
  const auto equal = [](const torch::Tensor& a, const torch::Tensor& b) { return torch::equal(a, b); };
  const torch::Tensor xc = x.contiguous();
  const torch::Tensor yc = y.contiguous();
  EXPECT_TRUE(equal(residual_norm(x, {y, {}}, norm), residual_norm(xc, {yc, {}}, norm)));
  EXPECT_TRUE(equal(residual_add(x, {y, {}}), residual_add(xc, {yc, {}})));
  EXPECT_TRUE(equal(self_attention(x, {}, options), self_attention(xc, {}, options)));
}

TEST(AdditiveScores, EqualTheirPlainTwin) {
  for (const auto& [batch, heads, queries, keys, width] : {std::tuple(1, 1, 1, 1, 1), std::tuple(2, 3, 5, 7, 4),
                                                           std::tuple(2, 2, 17, 33, 16), std::tuple(1, 2, 3, 40, 20)})
    for (const double scale : {0.1, 2.0}) {  // both ways to a hyperbolic tangent
      SCOPED_TRACE(::testing::Message() << queries << " queries, " << keys << " keys, width " << width);
      expect_equals_twin([](const Inputs& in) { return additive_scores(in[0], in[1], in[2]); },
                         [](const Inputs& in) { return additive_scores_plain(in[0], in[1], in[2]); },
                         {random_tensor({batch, heads, queries, width}, 1) * scale,
                          random_tensor({batch, heads, keys, width}, 2) * scale, random_tensor({heads, width}, 3)},
                         {true, true, true});
    }
}

// From 1e-30 to what is 1 in float32, in steps of 1%.
TEST(AdditiveScores, HaveTheHyperbolicTangentToTheLastBits) {
  const torch::Tensor sizes = torch::pow(1.01, torch::arange(-6900, 300, torch::kDouble)).to(torch::kFloat);
  const torch::Tensor x = torch::cat({sizes, -sizes, torch::zeros({1})}).view({1, 1, 1, -1, 1});
  const torch::Tensor zero = torch::zeros({1, 1, 1, 1}), one = torch::ones({1, 1});
  for (const Simd level : available_simd()) {
    const SimdLimit limit(level);
    const torch::Tensor found = additive_scores(zero, x.view({1, 1, -1, 1}), one).flatten().to(torch::kDouble);
    const torch::Tensor exact = torch::tanh(x.flatten().to(torch::kDouble));
    EXPECT_LE(((found - exact).abs() / exact.abs().clamp_min(1e-37)).max().item<double>(), 4e-7);
    const torch::Tensor wrong = torch::tensor({NAN, INFINITY, -INFINITY}).view({1, 1, 3, 1});
    const torch::Tensor of_wrong = additive_scores(zero, wrong, one).flatten();
    EXPECT_TRUE(of_wrong[0].isnan().item<bool>());
    EXPECT_EQ(of_wrong[1].item<float>(), 1);
    EXPECT_EQ(of_wrong[2].item<float>(), -1);
  }
}

// Gates at 0, at 1 and between, one to many positions.
TEST(FusedRecurrence, EqualsItsPlainTwin) {
  for (const auto& [batch, positions, width] : {std::tuple(1, 1, 1), std::tuple(2, 2, 5), std::tuple(3, 7, 16),
                                                std::tuple(2, 33, 20), std::tuple(1, 130, 40), std::tuple(2, 0, 4)})
    for (const double scale : {1.0, 30.0}) {
      SCOPED_TRACE(::testing::Message() << positions << " positions, width " << width << ", scale " << scale);
      expect_equals_twin([](const Inputs& in) { return recurrence(in[0], in[1]); },
                         [](const Inputs& in) { return recurrence_plain(in[0], in[1]); },
                         {random_tensor({batch, positions, 2 * width}, 1) * scale, random_tensor({width}, 2)},
                         {true, false});
    }
}

TEST(FusedRecurrence, StaysNaNWhereAGateIs) {
  for (const Simd level : available_simd()) {
    const SimdLimit limit(level);
    torch::Tensor input_and_gate = torch::ones({1, 3, 2});
    input_and_gate[0][1][1] = NAN;
    const torch::Tensor cells = recurrence(input_and_gate, torch::zeros({1})).flatten();
    EXPECT_FALSE(cells[0].isnan().item<bool>());
    EXPECT_TRUE(cells[1].isnan().item<bool>());
    EXPECT_TRUE(cells[2].isnan().item<bool>());
  }
}

TEST(FusedRecurrence, RefusesShapesThatDoNotFit) {
  const torch::Tensor bias = torch::zeros({4});
  EXPECT_THROW(recurrence(torch::zeros({2, 3, 4}), bias), c10::ValueError);
  EXPECT_THROW(recurrence(torch::zeros({2, 3, 8}), bias, torch::zeros({3, 4})), c10::ValueError);
}

TEST(PackedLinear, IsTheProductsSideBySide) {
  for (const bool together : {false, true})
    for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
      Inputs weights;
      for (const int64_t rows : {5, 3, 4})
        weights.push_back(random_tensor({rows, 6}, static_cast<uint64_t>(rows)).to(type).requires_grad_());
      if (together) join(weights);
      const torch::Tensor x = random_tensor({2, 7, 6}, 1).to(type).requires_grad_();
      const torch::Tensor probe = random_tensor({2, 7, 12}, 2).to(type);
      const torch::Tensor apart =
          torch::cat({torch::linear(x, weights[0]), torch::linear(x, weights[1]), torch::linear(x, weights[2])}, -1);
      const torch::Tensor packed = joined_linear(x, weights[0], weights[1], weights[2]);
      const double tolerance = type == torch::kDouble ? 1e-14 : type == torch::kFloat ? 1e-6 : 2e-2;
      EXPECT_LE(relative_difference(packed, apart.to(torch::kDouble)), tolerance);
      const Inputs leaves = {x, weights[0], weights[1], weights[2]};
      const auto actual = torch::autograd::grad({packed}, leaves, {probe});
      const auto expected = torch::autograd::grad({apart}, leaves, {probe});
      for (size_t i = 0; i < leaves.size(); ++i)
        EXPECT_LE(relative_difference(actual[i], expected[i].to(torch::kDouble)), tolerance) << i;
      const torch::Tensor two = joined_linear(x, weights[1], weights[2]);
      EXPECT_LE(relative_difference(two, apart.narrow(-1, 5, 7).to(torch::kDouble)), tolerance);
    }
}

TEST(FusedCrossEntropy, EqualsItsPlainTwinOverManyChunks) {
  const torch::Tensor targets = testing::random_ids({1100}, 37, 3) - 1;  // 0 is padding
  const CrossEntropyOptions options{0.1, 0, 0.25};
  for (const torch::Dtype type : kTypes)
    for (const Simd level : available_simd()) {
      const SimdLimit limit(level);
      const torch::Tensor states = random_tensor({1100, 20}, 1).to(type).requires_grad_();
      const torch::Tensor weight = random_tensor({37, 20}, 2).to(type).requires_grad_();
      const torch::Tensor exact_states = states.detach().to(torch::kDouble).requires_grad_();
      const torch::Tensor exact_weight = weight.detach().to(torch::kDouble).requires_grad_();
      const torch::Tensor loss = projected_cross_entropy(states, weight, targets, options);
      const torch::Tensor exact = projected_cross_entropy_plain(exact_states, exact_weight, targets, options);
      const double tolerance = type == torch::kFloat ? 1e-5 : 2e-2;
      EXPECT_NEAR(loss.item<double>() / exact.item<double>(), 1, tolerance);
      const auto actual = torch::autograd::grad({loss * 3}, {states, weight});
      const auto expected = torch::autograd::grad({exact * 3}, {exact_states, exact_weight});
      for (size_t i = 0; i < 2; ++i) EXPECT_LE(relative_difference(actual[i], expected[i]), tolerance) << i;
      const torch::NoGradGuard no_grad;
      EXPECT_NEAR(projected_cross_entropy(states, weight, targets, options).item<double>(), loss.item<double>(),
                  1e-6 * loss.item<double>());
    }
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
