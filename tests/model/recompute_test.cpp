// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/recompute.h>

#include <optional>

namespace transmute {
namespace {

// Two weights, dropout between, and how often it was called.
struct Layer {
  torch::Tensor first = torch::randn({8, 16}).requires_grad_();
  torch::Tensor second = torch::randn({16, 8}).requires_grad_();
  int calls = 0;

  torch::Tensor operator()(const torch::Tensor& x, const torch::Tensor& memory) {
    ++calls;
    const torch::Tensor inner = kernels::dropout(torch::tanh(x.matmul(first)), 0.4);
    return x + kernels::dropout(inner.matmul(second) * memory, 0.3);
  }
};

struct Gradients {
  torch::Tensor value;
  std::vector<torch::Tensor> of;
};

// The gradients of three calls in a row, one layer of its own between two of another.
Gradients gradients(Layer& a, Layer& b, bool recompute, std::optional<uint64_t> scope_key) {
  torch::manual_seed(7);
  std::optional<kernels::DropoutScope> scope;
  if (scope_key) scope.emplace(*scope_key);
  const torch::Tensor input = torch::linspace(-1, 1, 24).view({3, 8}).requires_grad_();
  const torch::Tensor memory = torch::full({8}, 0.7).requires_grad_();
  torch::Tensor x = input;
  for (Layer* layer : {&a, &b, &a}) {
    const auto call = [layer](const torch::Tensor& y, const torch::Tensor& m) { return (*layer)(y, m); };
    x = recompute ? recomputed(call, x, memory) : call(x, memory);
  }
  kernels::dropout(x, 0.5).square().sum().backward();
  Gradients result{x.detach().clone(), {input.grad(), memory.grad()}};
  for (Layer* layer : {&a, &b})
    for (torch::Tensor* weight : {&layer->first, &layer->second}) {
      result.of.push_back(weight->grad().clone());
      weight->mutable_grad().reset();
    }
  return result;
}

TEST(Recomputed, HasTheGradientsOfWhatIsKept) {
  Layer a, b;
  for (const auto scope_key : {std::optional<uint64_t>(5), std::optional<uint64_t>()}) {
    const Gradients kept = gradients(a, b, false, scope_key);
    a.calls = b.calls = 0;
    const Gradients again = gradients(a, b, true, scope_key);
    EXPECT_EQ(a.calls, 4);
    EXPECT_EQ(b.calls, 2);
    EXPECT_TRUE(torch::equal(again.value, kept.value));
    for (size_t i = 0; i < kept.of.size(); ++i)
      // The gradients of two uses of a tensor may be added in another order.
      EXPECT_TRUE(torch::allclose(again.of[i], kept.of[i], 1e-5, 1e-6)) << i;
  }
}

TEST(Recomputed, DrawsOnWhereItStood) {
  Layer a, b;
  torch::manual_seed(7);
  const auto next_after = [&](bool recompute) {
    gradients(a, b, recompute, {});
    return torch::rand({4});
  };
  EXPECT_TRUE(torch::equal(next_after(true), next_after(false)));
}

TEST(Recomputed, IsCalledOnceWhereThereIsNoGradient) {
  Layer layer;
  const auto call = [&](const torch::Tensor& x, const torch::Tensor& memory) { return layer(x, memory); };
  {
    const torch::NoGradGuard no_grad;
    recomputed(call, torch::ones({2, 8}).requires_grad_(), torch::ones({8}));
  }
  EXPECT_EQ(layer.calls, 1);
  recomputed(call, torch::ones({2, 8}), torch::ones({8})).sum().backward();
  EXPECT_EQ(layer.calls, 2);
  EXPECT_TRUE(layer.first.grad().defined());
}

}  // namespace
}  // namespace transmute
