// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <torch/torch.h>
#include <transmute/common/threads.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/model/decoder.h>
#include <transmute/model/encoder.h>
#include <transmute/model/masks.h>
#include <transmute/model/sublayer.h>
#include <transmute/tests/support/tensors.h>
#include <transmute/training/optimization/optimizer.h>

#include <cmath>

// LibTorch's own layers with the same weights. They take [L,B,D], call true what may not be attended to, and
// have biases where the paper has none: those are set to zero.

namespace transmute {
namespace {

using testing::expect_near;
using testing::kDoubleTolerance;
using testing::random_tensor;

constexpr double kEpsilon = 1e-6;

TransformerOptions paper_options() {
  TransformerOptions options;
  options.d_model = 12;
  options.num_heads = 3;
  options.d_k = options.d_v = 4;
  options.d_ff = 20;
  options.num_encoder_layers = 2;
  options.num_decoder_layers = 2;
  options.dropout = 0;
  options.norm_epsilon = kEpsilon;
  return options;
}

void copy(torch::nn::MultiheadAttention& to, const MultiHeadAttention& from) {
  const torch::NoGradGuard no_grad;
  to->in_proj_weight.copy_(torch::cat({from->query->weight, from->key->weight, from->value->weight}));
  to->out_proj->weight.copy_(from->output->weight);
  to->in_proj_bias.zero_();
  to->out_proj->bias.zero_();
}

void copy(torch::nn::LayerNorm& to, const ResidualNorm& from) {
  const torch::NoGradGuard no_grad;
  to->weight.copy_(from->weight);
  to->bias.copy_(from->bias);
  to->options.eps(kEpsilon);
}

void copy(torch::nn::Linear& to, const torch::nn::Linear& from) {
  const torch::NoGradGuard no_grad;
  to->weight.copy_(from->weight);
  to->bias.copy_(from->bias);
}

torch::nn::TransformerEncoderLayer twin_of(const EncoderLayer& layer, const TransformerOptions& options) {
  torch::nn::TransformerEncoderLayer twin(torch::nn::TransformerEncoderLayerOptions(options.d_model, options.num_heads)
                                              .dim_feedforward(options.d_ff)
                                              .dropout(0));
  twin->to(torch::kDouble);
  copy(twin->self_attn, layer->self_attention);
  copy(twin->linear1, layer->feed_forward->inner);
  copy(twin->linear2, layer->feed_forward->outer);
  copy(twin->norm1, layer->self_attention_norm);
  copy(twin->norm2, layer->feed_forward_norm);
  return twin;
}

torch::nn::TransformerDecoderLayer twin_of(const DecoderLayer& layer, const TransformerOptions& options) {
  torch::nn::TransformerDecoderLayer twin(torch::nn::TransformerDecoderLayerOptions(options.d_model, options.num_heads)
                                              .dim_feedforward(options.d_ff)
                                              .dropout(0));
  twin->to(torch::kDouble);
  copy(twin->self_attn, layer->self_attention);
  copy(twin->multihead_attn, layer->cross_attention);
  copy(twin->linear1, layer->feed_forward->inner);
  copy(twin->linear2, layer->feed_forward->outer);
  copy(twin->norm1, layer->self_attention_norm);
  copy(twin->norm2, layer->cross_attention_norm);
  copy(twin->norm3, layer->feed_forward_norm);
  return twin;
}

template <class Module>
Module randomized(Module module, uint64_t seed) {
  testing::randomize_parameters(*module, seed);
  module->to(torch::kDouble);
  return module;
}

torch::Tensor time_first(const torch::Tensor& x) {
  return x.transpose(0, 1);
}

torch::Tensor source_ids() {
  return testing::ids_tensor({{1, 1, 1, 1, 1}, {1, 1, 1, 0, 0}});
}

// LibTorch 1.13 adds a bool mask to the scores as 0 and 1, so this one has the numbers to add.
torch::Tensor blocked_later(int64_t length) {
  return torch::full({length, length}, -INFINITY, torch::kDouble).triu(1);
}

TEST(TorchParity, EncoderOfTwoLayers) {
  const TransformerOptions options = paper_options();
  Encoder encoder = randomized(Encoder(options), 1);
  const torch::Tensor x = random_tensor({2, 5, 12}, 5);
  torch::Tensor expected = time_first(x);
  for (const auto& layer : encoder->named_children()["layers"]->children())
    expected = twin_of(EncoderLayer(std::dynamic_pointer_cast<EncoderLayerImpl>(layer)), options)(
        expected, torch::Tensor(), source_ids().eq(0));
  expect_near(encoder(x, padding_mask(source_ids(), 0)).memory, time_first(expected), kDoubleTolerance);
}

TEST(TorchParity, DecoderOfTwoLayersWithItsGradients) {
  const TransformerOptions options = paper_options();
  Decoder decoder = randomized(Decoder(options), 1);
  const torch::Tensor x = random_tensor({2, 4, 12}, 5).requires_grad_();
  const torch::Tensor memory = random_tensor({2, 5, 12}, 6).requires_grad_();
  const torch::Tensor probe = random_tensor({2, 4, 12}, 7);
  const torch::Tensor actual = decoder(x, memory, padding_mask(source_ids(), 0)).states;

  torch::Tensor expected = time_first(x);
  for (const auto& layer : decoder->named_children()["layers"]->children())
    expected = twin_of(DecoderLayer(std::dynamic_pointer_cast<DecoderLayerImpl>(layer)), options)(
        expected, time_first(memory), blocked_later(4), torch::Tensor(), torch::Tensor(), source_ids().eq(0));
  expected = time_first(expected);
  expect_near(actual, expected, kDoubleTolerance);
  const auto actual_gradients = torch::autograd::grad({(actual * probe).sum()}, {x, memory});
  const auto expected_gradients = torch::autograd::grad({(expected * probe).sum()}, {x, memory});
  for (size_t i = 0; i < 2; ++i) expect_near(actual_gradients[i], expected_gradients[i], kDoubleTolerance);
}

TEST(TorchParity, CrossEntropyWithLabelSmoothing) {
  namespace F = torch::nn::functional;
  const torch::Tensor targets = torch::tensor({3L, 0L, 1L, 6L, 0L, 2L});
  for (const double smoothing : {0.0, 0.1, 0.5}) {
    const torch::Tensor logits = random_tensor({6, 9}, 1).requires_grad_();
    const torch::Tensor actual =
        kernels::projected_cross_entropy(logits, torch::eye(9, torch::kDouble), targets, {smoothing, 0});
    const torch::Tensor expected = F::cross_entropy(
        logits, targets,
        F::CrossEntropyFuncOptions().ignore_index(0).label_smoothing(smoothing).reduction(torch::kSum));
    EXPECT_NEAR(actual.item<double>(), expected.item<double>(), kDoubleTolerance);
    expect_near(torch::autograd::grad({actual}, {logits})[0], torch::autograd::grad({expected}, {logits})[0],
                kDoubleTolerance);
  }
}

struct Trajectory {
  double largest_difference;  ///< between the parameters of both, after any step
  double distance;            ///< that the parameters went
};

// 50 steps of both with the same gradients, whose size changes from step to step so that clipping matters, and
// which are as small as epsilon in a third of the elements.
Trajectory adam_trajectory(size_t workers, double clip_norm, double twins_clip_norm, double weight_decay = 0) {
  const std::vector<std::vector<int64_t>> shapes = {{7, 9}, {17}, {70000}};
  AdamOptions options;
  options.clip_norm = clip_norm;
  options.weight_decay = weight_decay;
  NamedTensors parameters;
  std::vector<torch::Tensor> twins;
  std::vector<torch::Tensor> start;
  for (size_t p = 0; p < shapes.size(); ++p) {
    start.push_back(random_tensor(shapes[p], 1000 + p).to(torch::kFloat));
    parameters.emplace_back("parameter" + std::to_string(p), start[p].clone());
    twins.push_back(start[p].clone().requires_grad_());
  }
  Adam adam(parameters, options);
  torch::optim::Adam twin(twins,
                          torch::optim::AdamOptions(1).betas({options.beta1, options.beta2}).eps(options.epsilon));
  WorkerCrew crew(2);
  Trajectory result{0, 0};
  for (uint64_t step = 1; step <= 50; ++step) {
    const double rate = 1e-3 * static_cast<double>(step);
    std::vector<std::vector<torch::Tensor>> gradients(workers);
    for (size_t p = 0; p < shapes.size(); ++p) {
      torch::Tensor sum = torch::zeros(shapes[p]);
      for (size_t w = 0; w < workers; ++w) {
        torch::Tensor gradient = random_tensor(shapes[p], step * 100 + w * 10 + p);
        gradient.flatten().slice(0, 0, c10::nullopt, 3).mul_(1e-9);
        gradients[w].push_back((gradient * static_cast<double>(1 + step % 7)).to(torch::kFloat));
        sum += gradients[w].back();
      }
      twins[p].mutable_grad() = sum;
    }
    if (twins_clip_norm > 0) torch::nn::utils::clip_grad_norm_(twins, twins_clip_norm);
    static_cast<torch::optim::AdamOptions&>(twin.param_groups()[0].options()).lr(rate);
    for (auto& matrix : twins)  // AdamW, before the step
      if (matrix.dim() > 1) matrix.data().mul_(1 - rate * weight_decay);
    twin.step();
    adam.update(gradients, rate, crew);
    for (size_t p = 0; p < shapes.size(); ++p)
      result.largest_difference =
          std::max(result.largest_difference, testing::largest_difference(parameters[p].second, twins[p].detach()));
  }
  for (size_t p = 0; p < shapes.size(); ++p)
    result.distance = std::max(result.distance, testing::largest_difference(parameters[p].second, start[p]));
  return result;
}

// 50 float32 updates of up to 0.05 each, whose moments are rounded differently.
constexpr double kAdamTolerance = 5e-6;

TEST(TorchParity, AdamsTrajectory) {
  const Trajectory plain = adam_trajectory(1, 0, 0);
  EXPECT_LT(plain.largest_difference, kAdamTolerance);
  EXPECT_GT(plain.distance, 0.1);

  const double clip_norm = 800;  // of gradients whose norms go from 200 to 1500
  EXPECT_LT(adam_trajectory(1, clip_norm, clip_norm).largest_difference, kAdamTolerance);
  EXPECT_GT(adam_trajectory(1, clip_norm, 0).largest_difference, 100 * kAdamTolerance) << "clipping shows";

  const Trajectory decayed = adam_trajectory(1, 0, 0, 0.5);
  EXPECT_LT(decayed.largest_difference, kAdamTolerance);
  EXPECT_GT(std::abs(decayed.distance - plain.distance), 100 * kAdamTolerance) << "decay shows";

  EXPECT_LT(adam_trajectory(3, 1500, 1500).largest_difference, kAdamTolerance) << "three workers' gradients";
}

}  // namespace
}  // namespace transmute
