// SPDX-License-Identifier: Apache-2.0
// The same numbers on a GPU as on the CPU. Skipped where LibTorch sees no CUDA device.

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <transmute/device/step_models.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/recompute.h>
#include <transmute/training/optimization/ema.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>
#include <transmute/training/step.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace transmute {
namespace {

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "LibTorch sees no CUDA device";
    torch::manual_seed(1);
    TransformerOptions options;
    options.source_vocab_size = options.target_vocab_size = 60;
    options.num_encoder_layers = options.num_decoder_layers = 2;
    options.d_model = 32;
    options.num_heads = 4;
    options.d_ff = 64;
    options.dropout = 0;
    cpu_ = Transformer(options);
    gpu_ = Transformer(options);
    {
      const torch::NoGradGuard no_grad;
      const auto from = cpu_->parameters();
      const auto to = gpu_->parameters();
      for (size_t p = 0; p < from.size(); ++p) to[p].copy_(from[p]);
    }
    gpu_->to(torch::kCUDA);
    source_ = torch::randint(4, 60, {3, 9}, torch::kLong);
    source_.index_put_({1, torch::indexing::Slice(5, torch::indexing::None)}, special_ids::kPad);
    target_ = torch::randint(4, 60, {3, 7}, torch::kLong);
  }

  static torch::Tensor loss(Transformer& transformer, const torch::Tensor& source, const torch::Tensor& target) {
    return transformer->loss(source, target, target, {0.1, 1}).token_loss;
  }

  Transformer cpu_{nullptr}, gpu_{nullptr};
  torch::Tensor source_, target_;
};

// Products of float32 in another order, or in TF32: 1e-3 of a logit's size.
constexpr double kTolerance = 1e-3;

TEST_F(Gpu, LogitsLossAndGradientsEqualTheCpus) {
  const torch::Tensor on_cpu = loss(cpu_, source_, target_);
  const torch::Tensor on_gpu = loss(gpu_, source_.cuda(), target_.cuda());
  EXPECT_NEAR(on_gpu.item<double>(), on_cpu.item<double>(), kTolerance * std::abs(on_cpu.item<double>()));
  on_cpu.backward();
  on_gpu.backward();
  const auto expected = cpu_->named_parameters();
  for (const auto& item : gpu_->named_parameters()) {
    const torch::Tensor found = item.value().grad().cpu(), wanted = expected[item.key()].grad();
    EXPECT_TRUE(torch::allclose(found, wanted, 1e-2, 1e-2)) << item.key();
    // The line above sees nothing of small gradients. TF32, with 11 bits, rounds by 5e-4 in each product.
    EXPECT_LE((found - wanted).norm().item<double>(), 2e-2 * wanted.norm().item<double>() + 1e-6) << item.key();
  }
}

TEST_F(Gpu, AnAdamStepEqualsTheCpus) {
  loss(cpu_, source_, target_).backward();
  WorkerCrew workers(1);
  const auto step = [&](Transformer& transformer, torch::Device device) {
    NamedTensors parameters;
    std::vector<torch::Tensor> gradients;
    const auto reference = cpu_->named_parameters();
    for (const auto& item : transformer->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
      gradients.push_back(reference[item.key()].grad().clone().to(device));
    }
    Adam adam(parameters, {0.9, 0.98, 1e-9, 0.5});
    return adam.update({gradients}, 1e-3, workers);
  };
  const double gpu_norm = step(gpu_, torch::kCUDA);
  const double cpu_norm = step(cpu_, torch::kCPU);
  EXPECT_NEAR(gpu_norm, cpu_norm, 1e-4 * cpu_norm);
  const auto expected = cpu_->named_parameters();
  for (const auto& item : gpu_->named_parameters())
    EXPECT_TRUE(torch::allclose(item.value().cpu(), expected[item.key()], 1e-4, 1e-5)) << item.key();
}

TEST_F(Gpu, BeamSearchFindsWhatTheCpuFinds) {
  cpu_->eval();
  gpu_->eval();
  const TransformerStepModel on_cpu(cpu_, torch::kCPU), on_gpu(gpu_, torch::Device(torch::kCUDA, 0));
  const std::vector<Ids> padded{{5, 6, 7}, {8, 9, 10, 11, 12}, {13}}, of_one_length{{5, 6, 7}, {8, 9, 10}};
  for (const auto& sources : {padded, of_one_length})
    for (const int64_t beam : {1, 4}) {
      SearchOptions options;
      options.beam_size = beam;
      options.max_extra_length = 6;
      const auto expected = beam_search(on_cpu, sources, options), found = beam_search(on_gpu, sources, options);
      for (size_t i = 0; i < sources.size(); ++i)
        EXPECT_NEAR(found[i].front().score, expected[i].front().score, 1e-2) << "sentence " << i << ", beam " << beam;
    }
}

TEST_F(Gpu, BeamSearchInFewerBitsFindsNearlyThat) {
  cpu_->eval();
  const std::vector<Ids> sources{{5, 6, 7}, {8, 9, 10, 11, 12}, {13}};
  SearchOptions options;
  options.max_extra_length = 6;
  const torch::Device gpu(torch::kCUDA, 0);
  const auto expected = beam_search(TransformerStepModel(cpu_, torch::kCPU), sources, options);
  for (const auto& [precision, tolerance] : {std::pair{Precision::bfloat16, 0.2}, {Precision::half, 0.05}}) {
    const auto found = beam_search(*make_step_model({cpu_}, gpu, precision).model, sources, options);
    for (size_t i = 0; i < sources.size(); ++i)
      EXPECT_NEAR(found[i].front().score, expected[i].front().score, tolerance)
          << precision_name(precision) << ", sentence " << i;
  }
  EXPECT_THROW(make_step_model({cpu_}, gpu, Precision::int8), std::invalid_argument);
}

// With rounded copies of the matrices and page-locked transfers, as in training.
TEST_F(Gpu, GradientsInBfloat16AreNearTheCpus) {
  WorkerCrew workers(1);
  const Batch batch{source_, target_, target_, {}, source_.numel(), target_.numel()};
  const auto gradients = [&](Transformer& transformer, torch::Device device, Precision precision) {
    Replicas replicas(transformer, device, workers, {precision});
    const StepInput input{{batch, batch}, 2 * batch.target_tokens, 1, true};
    const LossSum loss = replicas.accumulate_gradients(input, 0.1).read();
    return std::pair{loss.sum, replicas.gradients().front()};
  };
  const auto [loss, expected] = gradients(cpu_, torch::kCPU, Precision::float32);
  const auto [found_loss, found] = gradients(gpu_, torch::Device(torch::kCUDA, 0), Precision::bfloat16);
  EXPECT_NEAR(found_loss, loss, 0.01 * loss);
  for (size_t p = 0; p < expected.size(); ++p) {
    const double distance = (found[p].cpu().to(torch::kFloat) - expected[p]).norm().item<double>();
    EXPECT_LT(distance, 0.05 * expected[p].norm().item<double>() + 1e-6) << p;
  }
}

TEST_F(Gpu, RecomputedLayersDropTheSameElements) {
  const torch::Tensor x = torch::ones({64, 64}, torch::kCUDA).requires_grad_();
  const torch::Tensor y = recomputed(
      [](const torch::Tensor& input, const torch::Tensor&) { return kernels::dropout(input * 2, 0.5); }, x, {});
  y.sum().backward();
  EXPECT_TRUE(torch::equal(x.grad().ne(0), y.ne(0)));
}

// Without waiting: what a step came to arrives while the next are under way.
TEST_F(Gpu, StartedUpdatesAreTheCpus) {
  WorkerCrew workers(1);
  const torch::Device gpu(torch::kCUDA, 0);
  torch::manual_seed(3);
  const torch::Tensor weights = torch::randn({30, 40}), bias = torch::randn({40});
  const NamedTensors on_cpu{{"weights", weights.clone()}, {"bias", bias.clone()}};
  const NamedTensors on_gpu{{"weights", weights.to(gpu)}, {"bias", bias.to(gpu)}};
  AdamOptions options;
  options.clip_norm = 1;
  options.weight_decay = 0.1;
  Adam expected(on_cpu, options), adam(on_gpu, options);
  WeightAverage expected_average(on_cpu, 0.9), average(on_gpu, 0.9);
  expected.keep_average(expected_average);
  adam.keep_average(average);
  std::vector<HostCopy> norms;
  std::vector<double> expected_norms;
  for (int step = 0; step < 5; ++step) {
    std::vector<torch::Tensor> gradients{torch::randn({30, 40}), torch::randn({40})};
    std::vector<torch::Tensor> same{gradients[0].to(gpu), gradients[1].to(gpu)};
    const float loss = step == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    norms.emplace_back(adam.start_update(same, 0.1, torch::full({}, loss, gpu)).norms.norm());
    expected_norms.push_back(torch::cat({gradients[0].reshape({-1}), gradients[1]}).norm().item<double>());
    if (std::isfinite(loss)) expected.update({gradients}, 0.1, workers);
  }
  for (size_t step = 0; step < norms.size(); ++step)
    EXPECT_NEAR(norms[step].get().item<double>() / expected_norms[step], 1, 1e-4);
  EXPECT_EQ(adam.steps(), 4);
  for (size_t p = 0; p < 2; ++p) {
    EXPECT_TRUE(torch::allclose(on_gpu[p].second.cpu(), on_cpu[p].second, 1e-4, 1e-5)) << on_cpu[p].first;
    EXPECT_TRUE(torch::allclose(average.values()[p].second.cpu(), expected_average.values()[p].second, 1e-4, 1e-5))
        << on_cpu[p].first;
  }
}

}  // namespace
}  // namespace transmute
