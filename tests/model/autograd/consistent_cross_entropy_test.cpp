// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/tests/support/tensors.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

using testing::random_tensor;

constexpr int64_t kIgnored = 0;

// R-Drop's, SimCut's, and one whose weights differ.
const DivergenceOptions kDivergences[] = {{true, 2.5, 2.5}, {false, 3, 0}, {true, 0.5, 2}};

struct LossCase {
  int64_t tokens, vocabulary;
};
// Around the vectors of columns and the blocks of rows of the fused sums, and more tokens than a chunk takes.
constexpr LossCase kLossCases[] = {{1, 2}, {6, 7}, {15, 31}, {16, 255}, {17, 256}, {33, 257}, {40, 1001}, {300, 50}};

torch::Tensor targets_of(const LossCase& size) {
  return torch::remainder(torch::arange(size.tokens) * 7 + 1, size.vocabulary);  // 0, padding, among them
}

double log_sum_exp(const std::vector<double>& logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

// The result that the functions promise, in loops.
struct ExpectedLoss {
  double loss = 0, divergence = 0;
};
ExpectedLoss expected_of(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                         const DivergenceOptions& divergence) {
  const reference::Matrix rows = testing::matrix_of(logits);
  const int64_t count = targets.size(0);
  const auto row = [&](int64_t n) {
    std::vector<double> values;
    for (int64_t v = 0; v < rows.columns; ++v) values.push_back(rows(n, v));
    return values;
  };
  ExpectedLoss expected;
  for (int64_t n = 0; n < count; ++n) {
    const int64_t target = targets[n].item<int64_t>();
    if (target == kIgnored) continue;
    const std::vector<double> a = row(n);
    const std::vector<double> b = row(count + n);
    const double a_sum = log_sum_exp(a), b_sum = log_sum_exp(b);
    const auto pieces = static_cast<double>(a.size());
    for (size_t v = 0; v < a.size(); ++v) {
      const double log_p = a[v] - a_sum, log_q = b[v] - b_sum;
      const double wanted = smoothing / pieces + (static_cast<int64_t>(v) == target ? 1 - smoothing : 0);
      expected.loss -= wanted * (log_p + (divergence.second_too ? log_q : 0));
      expected.divergence += divergence.forward_weight * std::exp(log_p) * (log_p - log_q) +
                             divergence.backward_weight * std::exp(log_q) * (log_q - log_p);
    }
  }
  expected.loss += expected.divergence;
  return expected;
}

// With the identity as weight, the states are the logits, exactly.
ConsistentCrossEntropy consistent_loss_of(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                          const DivergenceOptions& divergence, double factor = 1) {
  const torch::Tensor weight = torch::eye(logits.size(1), torch::kDouble).to(logits.scalar_type());
  return consistent_cross_entropy(logits, weight, targets, {smoothing, kIgnored, factor}, divergence);
}

torch::Tensor logits_of(const LossCase& size, double scale) {
  return random_tensor({2 * size.tokens, size.vocabulary}, 1) * scale;
}

TEST(ConsistentCrossEntropy, EqualsDoublePrecisionLoops) {
  for (const LossCase& size : kLossCases)
    for (const double scale : {1.0, 100.0})  // 100: e^logit alone would overflow
      for (const DivergenceOptions& divergence : kDivergences)
        for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
          const torch::Tensor logits = logits_of(size, scale).to(dtype);
          const torch::Tensor targets = targets_of(size);
          const ExpectedLoss expected = expected_of(logits, targets, 0.1, divergence);
          const auto actual = consistent_loss_of(logits, targets, 0.1, divergence, 0.5);
          SCOPED_TRACE(std::string(torch::toString(dtype)) + ' ' + std::to_string(size.vocabulary) + ' ' +
                       std::to_string(scale));
          const double tolerance =
              (dtype == torch::kDouble ? 1e-12 : 2e-6) * (expected.loss + scale * static_cast<double>(size.tokens));
          EXPECT_NEAR(actual.loss.item<double>(), 0.5 * expected.loss, tolerance);
          EXPECT_NEAR(actual.divergence.item<double>(), 0.5 * expected.divergence, tolerance);
        }
}

TEST(ConsistentCrossEntropy, PropagatesGradientsToBothInDouble) {
  const LossCase size{4, 7};
  for (const DivergenceOptions& divergence : kDivergences) {
    const torch::Tensor logits = logits_of(size, 1).requires_grad_();
    testing::expect_gradients_match(
        [&] { return consistent_loss_of(logits, targets_of(size), 0.1, divergence).loss * 0.3; }, {{"logits", logits}});
  }
}

// The gradients of float32 and bfloat16 are compared with the ones in double, which the test above has checked.
TEST(ConsistentCrossEntropy, PropagatesTheSameGradientsInEveryType) {
  for (const LossCase& size : kLossCases)
    for (const DivergenceOptions& divergence : kDivergences)
      for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
        SCOPED_TRACE(std::string(torch::toString(dtype)) + ' ' + std::to_string(size.vocabulary));
        const torch::Tensor states = random_tensor({2 * size.tokens, 24}, 2).to(dtype).requires_grad_();
        const torch::Tensor weight = random_tensor({size.vocabulary, 24}, 3).to(dtype).requires_grad_();
        const auto gradients = [&](torch::Dtype type) {
          const torch::Tensor s = states.detach().to(type).requires_grad_();
          const torch::Tensor w = weight.detach().to(type).requires_grad_();
          const auto loss = consistent_cross_entropy(s, w, targets_of(size), {0.1, kIgnored, 1}, divergence);
          return torch::autograd::grad({loss.loss * 0.3}, {s, w});
        };
        const auto actual = gradients(dtype);
        const auto exact = gradients(torch::kDouble);
        for (size_t i = 0; i < actual.size(); ++i) {
          EXPECT_EQ(actual[i].scalar_type(), dtype);
          // bfloat16 rounds each logit, which the exact ones do not, and each gradient.
          const double norm = exact[i].norm().item<double>();
          EXPECT_LE((actual[i].to(torch::kDouble) - exact[i]).norm().item<double>(),
                    (dtype == torch::kFloat ? 1e-5 : 0.03) * norm + 1e-12)
              << i;
        }
      }
}

TEST(ConsistentCrossEntropy, OfEqualStatesHasNoDivergence) {
  const LossCase size{17, 40};
  const torch::Tensor half = random_tensor({size.tokens, size.vocabulary}, 1).to(torch::kFloat);
  const torch::Tensor logits = torch::cat({half, half}).requires_grad_();
  const auto both = consistent_loss_of(logits, targets_of(size), 0.1, {true, 2.5, 2.5});
  EXPECT_NEAR(both.divergence.item<double>(), 0, 1e-4);
  const torch::Tensor once =
      projected_cross_entropy(half, torch::eye(size.vocabulary), targets_of(size), {0.1, kIgnored, 1});
  EXPECT_NEAR(both.loss.item<double>(), 2 * once.item<double>(), 1e-4);
}

TEST(ConsistentCrossEntropy, IgnoresPaddingInBothStates) {
  const torch::Tensor targets = torch::tensor({3L, kIgnored, 5L});
  for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    torch::Tensor values = random_tensor({6, 9}, 1);
    values[1] *= 1000;  // too much for a probability that is not relative to the sum
    const torch::Tensor logits = values.to(dtype).requires_grad_();
    consistent_loss_of(logits, targets, 0.1, {true, 1, 1}).loss.backward();
    const torch::Tensor padding = torch::tensor({1L, 4L});
    EXPECT_TRUE(logits.grad().index_select(0, padding).eq(0).all().item<bool>());
    EXPECT_TRUE(logits.grad().index_select(0, torch::tensor({0L, 2L, 3L, 5L})).ne(0).all().item<bool>());
  }
}

// A training step that went wrong must be seen in its loss and in the norm of its gradient.
TEST(ConsistentCrossEntropy, ShowsWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const int64_t row : {2, 8})  // of either state of a token
      for (const int64_t piece : {3, 38}) {
        torch::Tensor values = random_tensor({12, 40}, 1).to(torch::kFloat);
        values[row][piece] = bad;
        const torch::Tensor logits = values.requires_grad_();
        const auto result = consistent_loss_of(logits, torch::arange(1, 7), 0.1, {true, 1, 1});
        result.loss.backward();
        EXPECT_FALSE(std::isfinite(result.loss.item<double>())) << bad << ' ' << row << ' ' << piece;
        EXPECT_FALSE(logits.grad().isfinite().all().item<bool>()) << bad << ' ' << row << ' ' << piece;
      }
}

TEST(ConsistentCrossEntropy, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(consistent_loss_of(torch::zeros({5, 7}), torch::tensor({1L, 2L}), 0.1, {}), c10::ValueError);
  EXPECT_THROW(consistent_loss_of(torch::zeros({4, 7}), torch::tensor({1L, 7L}), 0.1, {}), c10::IndexError);
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
