// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/kernels/simd/vector_math.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/tests/support/tensors.h>

#include <cmath>
#include <limits>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

using testing::expect_near;
using testing::random_tensor;

constexpr int64_t kPadding = 0;

// Around the 32 lanes of the fused sums.
constexpr int64_t kVocabularies[] = {2, 7, 31, 32, 33, 64, 1001};

// Six tokens: the first piece after padding, the last piece, one between, and two of padding.
std::vector<int64_t> target_ids(int64_t vocabulary) {
  return {1, kPadding, vocabulary - 1, vocabulary / 2 + 1 < vocabulary ? vocabulary / 2 + 1 : 1, kPadding, 1};
}

torch::Tensor targets_of(int64_t vocabulary) {
  return torch::tensor(target_ids(vocabulary));
}

// With the identity as weight, the states are the logits, exactly.
torch::Tensor smoothed_cross_entropy(const torch::Tensor& logits, const torch::Tensor& targets, double smoothing,
                                     double factor = 1) {
  return projected_cross_entropy(logits, torch::eye(logits.size(1), torch::kDouble).to(logits.scalar_type()), targets,
                                 {smoothing, kPadding, factor});
}

torch::Tensor gradient_of(const torch::Tensor& loss, const torch::Tensor& logits) {
  return torch::autograd::grad({loss}, {logits})[0];
}

TEST(ProjectedCrossEntropy, EqualsDoublePrecisionLoops) {
  for (const int64_t vocabulary : kVocabularies)
    for (const double size : {1.0, 300.0})  // 300: e^logit alone would overflow
      for (const double smoothing : {0.0, 0.1, 0.7})
        for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
          const torch::Tensor logits = (random_tensor({6, vocabulary}, 1) * size).to(dtype);
          const double expected = reference::smoothed_cross_entropy(testing::matrix_of(logits), target_ids(vocabulary),
                                                                    smoothing, kPadding);
          const torch::Tensor loss = smoothed_cross_entropy(logits, targets_of(vocabulary), smoothing);
          EXPECT_EQ(loss.scalar_type(), dtype == torch::kDouble ? torch::kDouble : torch::kFloat);
          // bfloat16 logits are summed in float32 as well. Sums of logits around `size` cancel to some extent.
          const double tolerance = dtype == torch::kDouble ? 1e-13 : 1e-6;
          EXPECT_NEAR(loss.item<double>(), expected, (std::abs(expected) + size) * tolerance)
              << torch::toString(dtype) << ' ' << vocabulary << ' ' << size << ' ' << smoothing;
        }
}

TEST(ProjectedCrossEntropy, GivesTheRightPieceItsShareOfTheSmoothingToo) {
  // Four pieces, smoothing 0.2: the target is 0.85 for the right one and 0.05 for each other.
  const double expected = -(0.85 * std::log(0.4) + 0.05 * (std::log(0.1) + std::log(0.2) + std::log(0.3)));
  const torch::Tensor logits = torch::tensor({{0.1, 0.2, 0.3, 0.4}}, torch::kDouble).log();
  const torch::Tensor target = torch::tensor({3L});
  EXPECT_NEAR(smoothed_cross_entropy(logits, target, 0.2).item<double>(), expected, 1e-14);
  EXPECT_NEAR(smoothed_cross_entropy(logits.to(torch::kFloat), target, 0.2).item<double>(), expected, 1e-6);
}

TEST(ProjectedCrossEntropy, PropagatesGradientsInDouble) {
  for (const double smoothing : {0.0, 0.1}) {
    const torch::Tensor logits = random_tensor({6, 7}, 1).requires_grad_();
    // A factor after it, as the division by the number of tokens is.
    testing::expect_gradients_match([&] { return smoothed_cross_entropy(logits, targets_of(7), smoothing) * 0.3; },
                                    {{"logits", logits}});
  }
}

// The gradients of float32 and bfloat16 are compared with the ones in double, which the test above has checked.
TEST(ProjectedCrossEntropy, PropagatesTheSameGradientsInEveryType) {
  for (const int64_t vocabulary : kVocabularies)
    for (const double smoothing : {0.0, 0.1})
      for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
        SCOPED_TRACE(torch::toString(dtype) + std::string(" ") + std::to_string(vocabulary));
        const torch::Tensor logits = (random_tensor({6, vocabulary}, 1) * 4).to(dtype).requires_grad_();
        const torch::Tensor exact = logits.detach().to(torch::kDouble).requires_grad_();
        const torch::Tensor targets = targets_of(vocabulary);
        const torch::Tensor actual = gradient_of(smoothed_cross_entropy(logits, targets, smoothing) * 0.3, logits);
        const torch::Tensor expected = gradient_of(smoothed_cross_entropy(exact, targets, smoothing) * 0.3, exact);
        EXPECT_EQ(actual.scalar_type(), dtype);
        // Each element lies between -0.3 and 0.3; bfloat16 keeps 8 bits of it, and rounds the exponential, the
        // gradient, and its product with the 0.3.
        expect_near(actual, expected, dtype == torch::kFloat ? 1e-6 : 3 * 0.3 / 256);
      }
}

TEST(ProjectedCrossEntropy, IgnoresPadding) {
  const torch::Tensor words = torch::tensor({0L, 2L, 3L, 5L});
  for (const auto dtype : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
    SCOPED_TRACE(torch::toString(dtype));
    const torch::Tensor logits = random_tensor({6, 7}, 1).to(dtype).requires_grad_();
    const torch::Tensor loss = smoothed_cross_entropy(logits, targets_of(7), 0.1);
    loss.backward();
    EXPECT_TRUE(logits.grad().index_select(0, torch::tensor({1L, 4L})).eq(0).all().item<bool>());
    EXPECT_TRUE(logits.grad().index_select(0, words).ne(0).all().item<bool>());
    const torch::Tensor alone =
        smoothed_cross_entropy(logits.detach().index_select(0, words), targets_of(7).index_select(0, words), 0.1);
    EXPECT_NEAR(loss.item<double>(), alone.item<double>(), 1e-6 * alone.item<double>());
    const torch::Tensor nothing = torch::full({6}, kPadding, torch::kLong);
    EXPECT_EQ(smoothed_cross_entropy(logits.detach(), nothing, 0.1).item<double>(), 0);
  }
}

TEST(ProjectedCrossEntropy, EqualsItsPlainTwinForStridedLogits) {
  const torch::Tensor base = random_tensor({40, 6}, 1).to(torch::kFloat).requires_grad_();
  const torch::Tensor logits = base.t();
  ASSERT_FALSE(logits.is_contiguous());
  const torch::Tensor fused = smoothed_cross_entropy(logits, targets_of(40), 0.1);
  const torch::Tensor plain = projected_cross_entropy_plain(logits, torch::eye(40), targets_of(40), {0.1, kPadding});
  EXPECT_NEAR(fused.item<double>(), plain.item<double>(), 1e-6 * plain.item<double>());
  expect_near(gradient_of(fused, base), gradient_of(plain, base), 1e-6);
}

// A training step that went wrong must be seen in its loss and in the norm of its gradient.
TEST(ProjectedCrossEntropy, ShowsWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const int64_t column : {3, 38}) {  // in the lanes, and after them
      torch::Tensor values = random_tensor({6, 40}, 1).to(torch::kFloat);
      values[2][column] = bad;
      const torch::Tensor logits = values.requires_grad_();
      const torch::Tensor loss = smoothed_cross_entropy(logits, targets_of(40), 0.1);
      EXPECT_FALSE(std::isfinite(loss.item<double>())) << bad << ' ' << column;
      EXPECT_FALSE(gradient_of(loss, logits).isfinite().all().item<bool>()) << bad << ' ' << column;
    }
}

TEST(ProjectedCrossEntropy, RefusesShapesTypesAndTargetsThatDoNotFit) {
  const torch::Tensor logits = torch::zeros({6, 7});
  EXPECT_THROW(smoothed_cross_entropy(torch::zeros({2, 3, 7}), targets_of(7), 0.1), c10::ValueError);
  EXPECT_THROW(smoothed_cross_entropy(torch::zeros({4, 7}), targets_of(7), 0.1), c10::ValueError);
  EXPECT_THROW(smoothed_cross_entropy(logits, targets_of(7).to(torch::kInt), 0.1), c10::ValueError);
  EXPECT_THROW(smoothed_cross_entropy(logits, torch::full({6}, 7, torch::kLong), 0.1), c10::IndexError);
  EXPECT_THROW(smoothed_cross_entropy(logits, torch::full({6}, -1, torch::kLong), 0.1), c10::IndexError);
}

TEST(ExpOfNegative, IsGoodToTwoUnitsInTheLastPlace) {
  EXPECT_EQ(exp_of_negative(0), 1);
  for (float x = -86.999F; x <= 0; x += 0.00123F)
    ASSERT_NEAR(exp_of_negative(x) / std::exp(static_cast<double>(x)), 1, 2.4e-7) << x;
  EXPECT_EQ(exp_of_negative(-88), 0);
  EXPECT_EQ(exp_of_negative(-std::numeric_limits<float>::infinity()), 0);
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
