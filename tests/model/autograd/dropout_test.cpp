// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/tests/support/dropout_mask.h>
#include <transmute/tests/support/tensors.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace kernels {
namespace {

using testing::random_tensor;

constexpr int64_t kBlock = 1 << 16;  // elements that share a key; errors would show at its borders
constexpr int64_t kSizes[] = {0, 1, 15, 16, 17, 1000, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock + 5};
constexpr torch::Dtype kDtypes[] = {torch::kFloat, torch::kDouble, torch::kBFloat16};

torch::Tensor dropped(const torch::Tensor& input, double probability, uint64_t key) {
  const DropoutScope scope(key);
  return kernels::dropout(input, probability);
}

// 1 where an element is kept.
torch::Tensor mask_of(int64_t elements, double probability, uint64_t key) {
  return dropped(torch::ones({elements}), probability, key).ne(0);
}

// Correlation of two masks, by the number of standard errors that it lies away from 0.
double correlation_in_standard_errors(const torch::Tensor& a, const torch::Tensor& b) {
  const torch::Tensor x = a.to(torch::kDouble) - a.to(torch::kDouble).mean();
  const torch::Tensor y = b.to(torch::kDouble) - b.to(torch::kDouble).mean();
  const double correlation =
      (x * y).mean().item<double>() / std::sqrt(x.square().mean().item<double>() * y.square().mean().item<double>());
  return std::abs(correlation) * std::sqrt(static_cast<double>(a.numel()));
}

// Chance exceeds five standard errors once in two million draws; these draws are fixed besides.
constexpr double kStandardErrors = 5;

TEST(Dropout, KeepsTheRightFraction) {
  const int64_t n = 40 * kBlock;
  for (const double probability : {0.001, 0.1, 0.3, 0.5, 0.9}) {
    const double kept = mask_of(n, probability, 12).to(torch::kDouble).mean().item<double>();
    const double standard_error = std::sqrt(probability * (1 - probability) / static_cast<double>(n));
    EXPECT_NEAR(kept, 1 - probability, kStandardErrors * standard_error) << probability;
  }
}

TEST(Dropout, KeepsTheRightFractionAtEachPlaceOfABlock) {
  const int64_t blocks = 60;
  const torch::Tensor kept = mask_of(blocks * kBlock, 0.5, 3).view({blocks, kBlock}).to(torch::kDouble);
  const double standard_error = 0.5 / std::sqrt(static_cast<double>(blocks));
  // The largest of 65,536 deviations lies near 4.4 standard errors.
  EXPECT_LT((kept.mean(0) - 0.5).abs().max().item<double>(), 6.5 * standard_error);
  const double by_block = 0.5 / std::sqrt(static_cast<double>(kBlock));
  EXPECT_LT((kept.mean(1) - 0.5).abs().max().item<double>(), kStandardErrors * by_block);
}

TEST(Dropout, MasksAndScalesAsItsReferenceSaysForEverySizeAndType) {
  for (const auto dtype : kDtypes)
    for (const int64_t size : kSizes)
      for (const double probability : {0.1, 0.5}) {
        SCOPED_TRACE(torch::toString(dtype) + std::string(", size ") + std::to_string(size));
        const torch::Tensor input = random_tensor({size}, 3).to(dtype);
        const torch::Tensor keep = testing::dropout_mask(41, size, probability);
        // In float32 for bfloat16 too: the product is rounded once.
        const torch::Tensor scaled =
            dtype == torch::kDouble ? input * (1 / (1 - probability))
                                    : (input.to(torch::kFloat) * static_cast<float>(1 / (1 - probability))).to(dtype);
        const torch::Tensor output = dropped(input, probability, 41);
        EXPECT_EQ(output.scalar_type(), dtype);
        EXPECT_TRUE(torch::equal(output, scaled.masked_fill(keep.logical_not(), 0)));
      }
}

TEST(Dropout, PropagatesGradientsThroughTheSameMask) {
  for (const auto dtype : kDtypes) {
    SCOPED_TRACE(torch::toString(dtype));
    torch::Tensor input = torch::ones({kBlock + 77}, dtype).requires_grad_();
    const torch::Tensor output = dropped(input, 0.3, 6);
    const torch::Tensor incoming = random_tensor({kBlock + 77}, 3).to(dtype);
    output.backward(incoming);
    EXPECT_TRUE(torch::equal(input.grad(), dropped(incoming, 0.3, 6)));
    EXPECT_TRUE(torch::equal(input.grad().ne(0), output.ne(0)));
  }
}

TEST(Dropout, HasASecondDerivative) {
  const torch::Tensor input = random_tensor({77}, 3).requires_grad_();
  const torch::Tensor output = dropped(input, 0.3, 6);
  const torch::Tensor gradient = torch::autograd::grad({output.square().sum()}, {input}, {}, true, true).front();
  const torch::Tensor second = torch::autograd::grad({gradient.sum()}, {input}).front();
  const torch::Tensor factor = dropped(torch::ones({77}, torch::kDouble), 0.3, 6);
  EXPECT_TRUE(torch::allclose(second, 2 * factor.square()));
}

TEST(Dropout, CountsElementsInTheirLogicalOrder) {
  const torch::Tensor input = random_tensor({30, 20}, 3);
  const torch::Tensor transposed = input.t().contiguous().t().detach().requires_grad_();
  ASSERT_FALSE(transposed.is_contiguous());
  const torch::Tensor output = dropped(transposed, 0.5, 9);
  EXPECT_TRUE(torch::equal(output, dropped(input, 0.5, 9)));
  output.backward(torch::ones({20, 30}, torch::kDouble).t());
  EXPECT_TRUE(torch::equal(transposed.grad().ne(0), output.ne(0)));
}

TEST(Dropout, RepeatsExactlyUnderTheSameKeyInAnyThread) {
  const torch::Tensor input = random_tensor({kBlock + 5}, 3);
  const auto three_draws = [&] {
    const DropoutScope scope(123);
    return std::vector<torch::Tensor>{kernels::dropout(input, 0.5), kernels::dropout(input, 0.5),
                                      kernels::dropout(input, 0.5)};
  };
  const auto first = three_draws();
  std::vector<torch::Tensor> elsewhere;
  std::thread([&] { elsewhere = three_draws(); }).join();
  const auto again = three_draws();
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(torch::equal(again[i], first[i])) << i;
    EXPECT_TRUE(torch::equal(elsewhere[i], first[i])) << i;
  }
}

TEST(Dropout, DrawsUncorrelatedMasks) {
  const int64_t n = 16 * kBlock;
  for (const double probability : {0.1, 0.5}) {
    SCOPED_TRACE(probability);
    const torch::Tensor mask = mask_of(n, probability, 1000);
    for (const int64_t lag : {1L, 2L, 3L, 4L, 8L, 16L, 512L, 2048L, 32768L, kBlock, 2 * kBlock})
      EXPECT_LT(correlation_in_standard_errors(mask.slice(0, 0, n - lag), mask.slice(0, lag, n)), kStandardErrors)
          << "lag " << lag;
    // Keys of neighboring steps, and keys that differ in their upper half alone.
    for (const uint64_t other : {1001UL, 1002UL, 1000UL + (1UL << 32), 1000UL + (1UL << 63), 0UL})
      EXPECT_LT(correlation_in_standard_errors(mask, mask_of(n, probability, other)), kStandardErrors)
          << "key " << other;
    const DropoutScope scope(1000);
    torch::Tensor before = kernels::dropout(torch::ones({n}), probability).ne(0);
    for (int draw = 1; draw < 5; ++draw) {
      const torch::Tensor now = kernels::dropout(torch::ones({n}), probability).ne(0);
      EXPECT_LT(correlation_in_standard_errors(before, now), kStandardErrors) << "draw " << draw;
      before = now;
    }
  }
}

TEST(Dropout, LeavesNoTraceOfAnInnerScope) {
  const torch::Tensor ones = torch::ones({1000});
  torch::Tensor first, second;
  {
    const DropoutScope scope(1);
    first = kernels::dropout(ones, 0.5);
    second = kernels::dropout(ones, 0.5);
  }
  const DropoutScope scope(1);
  EXPECT_TRUE(torch::equal(kernels::dropout(ones, 0.5), first));
  EXPECT_FALSE(torch::equal(dropped(ones, 0.5, 2), second));
  EXPECT_TRUE(torch::equal(kernels::dropout(ones, 0.5), second));
}

TEST(Dropout, FollowsLibTorchsSeedOutsideAScope) {
  const torch::Tensor ones = torch::ones({1000});
  torch::manual_seed(8);
  const torch::Tensor first = kernels::dropout(ones, 0.5);
  const torch::Tensor second = kernels::dropout(ones, 0.5);
  torch::manual_seed(8);
  EXPECT_TRUE(torch::equal(kernels::dropout(ones, 0.5), first));
  EXPECT_FALSE(torch::equal(second, first));
}

TEST(Dropout, IsTheIdentityWithoutTrainingAndDrawsNothing) {
  const torch::Tensor input = random_tensor({100}, 3);
  const DropoutScope scope(41);
  EXPECT_TRUE(kernels::dropout(input, 0.0).is_same(input));
  const torch::Tensor drawn = kernels::dropout(torch::ones({100}), 0.5);
  EXPECT_TRUE(torch::equal(drawn.ne(0), testing::dropout_mask(41, 100, 0.5)));
}

TEST(Dropout, RefusesWhatIsNoProbabilityAndWhatIsNoNumber) {
  EXPECT_THROW(kernels::dropout(torch::ones({3}), 1.0), c10::ValueError);
  EXPECT_THROW(kernels::dropout(torch::ones({3}), -0.1), c10::ValueError);
  EXPECT_THROW(kernels::dropout(torch::ones({3}, torch::kLong), 0.5), c10::TypeError);
}

}  // namespace
}  // namespace kernels
}  // namespace v0
}  // namespace transmute
