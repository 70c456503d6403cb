// SPDX-License-Identifier: Apache-2.0
// Each fused function on a GPU against its plain twin in double precision on the CPU, from the same rounded inputs and
// with the same dropout masks. Skipped where LibTorch sees no CUDA device.

#include <gtest/gtest.h>
#include <torch/cuda.h>
#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/attention.h>
#include <transmute/model/autograd/cross_entropy.h>
#include <transmute/model/autograd/device_tensors.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/embedding.h>
#include <transmute/model/autograd/feed_forward.h>
#include <transmute/model/autograd/residual.h>
#include <transmute/training/optimization/ema.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using Inputs = std::vector<torch::Tensor>;

class GpuKernels : public ::testing::TestWithParam<torch::Dtype> {
 protected:
  void SetUp() override {
    if (!torch::cuda::is_available()) GTEST_SKIP() << "LibTorch sees no CUDA device";
    if (!kernels::cuda::run_on(torch::Device(torch::kCUDA, 0))) GTEST_SKIP() << "the kernels are for newer GPUs";
    torch::manual_seed(1);
  }

  // Rounding of one number.
  static double epsilon(torch::Dtype type) {
    return type == torch::kFloat ? 0x1p-24 : type == torch::kHalf ? 0x1p-11 : 0x1p-8;
  }
};

double distance(const torch::Tensor& found, const torch::Tensor& expected) {
  const torch::Tensor wanted = expected.to(torch::kDouble).cpu();
  const double norm = wanted.norm().item<double>();
  return (found.to(torch::kDouble).cpu() - wanted).norm().item<double>() / std::max(norm, 1e-9);
}

// Values and gradients of `fused` on the GPU beside those of `plain` in double precision on `reference`. Vectors are
// float32 whatever the type is; tensors of other types are passed as they are. Nothing is trained in half: values
// alone.
void expect_same(const char* what, torch::Dtype type, double tolerance, const Inputs& inputs,
                 const std::function<torch::Tensor(const Inputs&)>& fused,
                 const std::function<torch::Tensor(const Inputs&)>& plain, torch::Device reference = torch::kCPU) {
  Inputs on_gpu, in_double;
  for (const auto& input : inputs) {
    if (!input.defined() || !input.is_floating_point()) {
      on_gpu.push_back(input.defined() ? input.cuda() : input);
      in_double.push_back(input.defined() ? input.to(reference) : input);
      continue;
    }
    const torch::Tensor rounded = input.dim() > 1 ? input.to(type) : input;
    on_gpu.push_back(rounded.cuda().requires_grad_());
    in_double.push_back(rounded.to(reference, torch::kDouble).requires_grad_());
  }
  const auto run = [](const auto& function, const Inputs& arguments) {
    const kernels::DropoutScope scope(7);
    return function(arguments);
  };
  const torch::Tensor found = run(fused, on_gpu), expected = run(plain, in_double);
  ASSERT_EQ(found.sizes(), expected.sizes()) << what;
  EXPECT_LT(distance(found.detach(), expected.detach()), tolerance) << what;
  if (type == torch::kHalf) return;
  const torch::Tensor gradient =
      expected.dim() == 0 ? torch::ones({}) : torch::randn(expected.sizes()).to(found.scalar_type());
  found.backward(gradient.to(found.options()));
  expected.backward(gradient.to(expected.options()));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].is_floating_point()) continue;
    ASSERT_TRUE(on_gpu[i].grad().defined()) << what << ", input " << i;
    EXPECT_LT(distance(on_gpu[i].grad(), in_double[i].grad()), 2 * tolerance) << what << ", input " << i;
  }
}

TEST_P(GpuKernels, ResidualNormsEqualTheirPlainTwins) {
  for (const auto& [rows, columns] : {std::pair{1, 8}, {37, 128}, {700, 512}, {64, 1000}, {33, 1024}, {20, 2048}})
    for (const double dropout : {0.0, 0.3})
      for (const double scale : {1.0, 1.7}) {
        const auto call = [&, dropout = dropout, scale = scale](const auto& function) {
          return [&, dropout, scale, function](const Inputs& i) {
            return function(kernels::Residual(i[0], scale), kernels::Branch{i[1], i[2], dropout},
                            kernels::NormParameters{i[3], i[4], 1e-6});
          };
        };
        const std::string what = "residual_norm " + std::to_string(columns) + ", " + std::to_string(dropout);
        expect_same(what.c_str(), GetParam(), 8 * epsilon(GetParam()),
                    {torch::randn({rows, columns}), torch::randn({rows, columns}), torch::randn({columns}),
                     torch::randn({columns}), torch::randn({columns})},
                    call(kernels::residual_norm), call(kernels::residual_norm_plain));
      }
}

TEST_P(GpuKernels, NormsAndSumsEqualTheirPlainTwins) {
  expect_same(
      "layer_norm", GetParam(), 8 * epsilon(GetParam()),
      {torch::randn({3, 50, 512}), torch::randn({512}), torch::randn({512})},
      [](const Inputs& i) {
        return kernels::layer_norm(i[0], {i[1], i[2], 1e-5});
      },
      [](const Inputs& i) {
        return kernels::layer_norm_plain(i[0], {i[1], i[2], 1e-5});
      });
  for (const double dropout : {0.0, 0.4})
    expect_same(
        "residual_add", GetParam(), 4 * epsilon(GetParam()),
        {torch::randn({3, 91, 520}), torch::randn({3, 91, 520}), torch::randn({520})},
        [&](const Inputs& i) {
          return kernels::residual_add(i[0], {i[1], i[2], dropout});
        },
        [&](const Inputs& i) {
          return kernels::residual_add_plain(i[0], {i[1], i[2], dropout});
        });
  expect_same(
      "dropout", GetParam(), 4 * epsilon(GetParam()), {torch::randn({30, 7000})},
      [](const Inputs& i) { return kernels::dropout(i[0], 0.25); },
      [](const Inputs& i) { return kernels::dropout(i[0], 0.25); });
}

TEST_P(GpuKernels, InnerLayersEqualTheirPlainTwins) {
  for (const double dropout : {0.0, 0.3})
    expect_same(
        "linear_relu_dropout", GetParam(), 8 * epsilon(GetParam()),
        {torch::randn({3, 61, 64}), torch::randn({264, 64}), torch::randn({264})},
        [&](const Inputs& i) { return kernels::linear_relu_dropout(i[0], i[1], i[2], dropout); },
        [&](const Inputs& i) { return kernels::linear_relu_dropout_plain(i[0], i[1], i[2], dropout); });
}

TEST_P(GpuKernels, EmbeddingsEqualTheirPlainTwins) {
  const torch::Tensor positions = torch::randn({29, 72});
  for (const double dropout : {0.0, 0.3}) {
    const kernels::EmbedOptions options{8.0, dropout};
    expect_same(
        "embed", GetParam(), 8 * epsilon(GetParam()),
        {torch::randn({50, 72}), torch::randint(0, 50, {40, 29}, torch::kLong)},
        [&](const Inputs& i) { return kernels::embed(i[0], i[1], positions.cuda(), options); },
        [&](const Inputs& i) { return kernels::embed_plain(i[0], i[1], positions.to(torch::kDouble), options); });
  }
}

TEST_P(GpuKernels, CrossEntropiesEqualTheirPlainTwins) {
  // Whole vectors of logits; single ones, as 1,001 pieces want them; several chunks.
  for (const auto& [rows, vocabulary] : {std::pair{300, 8000}, {77, 1001}, {1500, 130000}}) {
    torch::Tensor targets = torch::randint(0, vocabulary, {rows}, torch::kLong);
    targets.slice(0, 0, rows / 7).fill_(2);
    const kernels::CrossEntropyOptions options{0.1, 2, 1.0 / rows};
    const std::string what = "cross-entropy of " + std::to_string(vocabulary);
    expect_same(
        what.c_str(), GetParam(), 8 * epsilon(GetParam()),
        {torch::randn({rows, 16}), torch::randn({vocabulary, 16}), targets},
        [&](const Inputs& i) { return kernels::projected_cross_entropy(i[0], i[1], i[2], options); },
        [&](const Inputs& i) { return kernels::projected_cross_entropy_plain(i[0], i[1], i[2], options); },
        torch::kCUDA);
  }
  for (const bool second_too : {false, true})
    for (const auto& [tokens, vocabulary] : {std::pair{200, 8000}, {77, 1001}, {700, 130000}}) {
      torch::Tensor targets = torch::randint(0, vocabulary, {tokens}, torch::kLong);
      targets.slice(0, 0, tokens / 7).fill_(2);
      const kernels::CrossEntropyOptions options{0.1, 2, 1.0 / tokens};
      const kernels::DivergenceOptions divergence{second_too, 1.5, second_too ? 2.5 : 0.0};
      const auto both = [](const kernels::ConsistentCrossEntropy& result) {
        return torch::stack({result.loss, result.divergence.to(result.loss.scalar_type())});
      };
      const std::string what = "consistent cross-entropy of " + std::to_string(vocabulary);
      // Differences of logarithms lose digits.
      expect_same(
          what.c_str(), GetParam(), (GetParam() == torch::kFloat ? 64 : 8) * epsilon(GetParam()),
          {torch::randn({2 * tokens, 16}), torch::randn({vocabulary, 16}), targets},
          [&](const Inputs& i) {
            return both(kernels::consistent_cross_entropy(i[0], i[1], i[2], options, divergence));
          },
          [&](const Inputs& i) {
            return both(kernels::consistent_cross_entropy_plain(i[0], i[1], i[2], options, divergence));
          },
          torch::kCUDA);
    }
  const auto loss_of = [&](float state, int64_t target) {
    const torch::Tensor weight = torch::randn({64, 8}).to(GetParam()).cuda();
    return kernels::projected_cross_entropy(torch::full({1, 8}, state).to(GetParam()).cuda(), weight,
                                            torch::full({1}, target, torch::kLong).cuda(), {0.1, 2, 1})
        .item<double>();
  };
  EXPECT_TRUE(std::isfinite(loss_of(1, 5)));
  EXPECT_FALSE(std::isfinite(loss_of(std::numeric_limits<float>::quiet_NaN(), 5)));
  EXPECT_FALSE(std::isfinite(loss_of(std::numeric_limits<float>::infinity(), 5)));
  EXPECT_FALSE(std::isfinite(loss_of(1, 64)));
}

INSTANTIATE_TEST_SUITE_P(Types, GpuKernels, ::testing::Values(torch::kFloat, torch::kBFloat16, torch::kHalf),
                         [](const auto& info) { return std::string(c10::toString(info.param)); });

// Rows of which some end early, and one that is empty.
torch::Tensor padding_of(int64_t batch, int64_t keys) {
  torch::Tensor mask = torch::ones({batch, 1, 1, keys}, torch::kBool);
  for (int64_t b = 0; b < batch; ++b) mask[b].slice(2, keys - keys * b / batch, keys).fill_(false);
  if (batch > 3) mask[3].fill_(false);
  return mask;
}

torch::Tensor causal_of(int64_t length) {
  return torch::ones({1, 1, length, length}, torch::kBool).tril_();
}

using GpuAttention = GpuKernels;

TEST_F(GpuAttention, OfOneSentenceToItselfEqualsItsPlainTwin) {
  for (const int64_t width : {32, 64})
    for (const int64_t length : {1, 7, 16, 17, 40, 64, 100, 128})
      for (const double dropout : {0.0, 0.2})
        for (const bool is_causal : {false, true}) {
          const kernels::HeadOptions options{3, width, width, 0.125, dropout};
          const torch::Tensor packed = torch::randn({5, length, 9 * width});
          const torch::Tensor mask = is_causal ? causal_of(length) : padding_of(5, length);
          // With the 99 KB of shared memory that all these GPUs have.
          ASSERT_TRUE(length > 96 || kernels::can_attend(packed.to(torch::kBFloat16).cuda(), packed, mask, options));
          const std::string what =
              "width " + std::to_string(width) + ", length " + std::to_string(length) + ", " + std::to_string(dropout);
          expect_same(
              what.c_str(), torch::kBFloat16, 0.01, {packed, mask},
              [&](const Inputs& i) { return kernels::self_attention(i[0], i[1], options); },
              [&](const Inputs& i) { return kernels::self_attention_plain(i[0], i[1], options); });
        }
}

TEST_F(GpuAttention, OfOneSentenceToAnotherEqualsItsPlainTwin) {
  for (const auto& [queries, keys] : {std::pair{1, 128}, {128, 3}, {20, 50}, {70, 33}, {90, 128}})
    for (const bool has_mask : {false, true}) {
      const kernels::HeadOptions options{2, 64, 64, 0.125, 0.1};
      expect_same(
          "cross-attention", torch::kBFloat16, 0.01,
          {torch::randn({4, queries, 128}), torch::randn({4, keys, 256}),
           has_mask ? padding_of(4, keys) : torch::Tensor()},
          [&](const Inputs& i) { return kernels::cross_attention(i[0], i[1], i[2], options); },
          [&](const Inputs& i) { return kernels::cross_attention_plain(i[0], i[1], i[2], options); });
    }
}

// Matrices that begin at no vector, bfloat16 gradients, decay, clipping, an average, rounded copies.
TEST_F(GpuKernels, AnAdamStepIsThatOfLibTorchsOperations) {
  AdamOptions options;
  options.clip_norm = 1;
  options.weight_decay = 0.1;
  NamedTensors expected, found;
  std::vector<torch::Tensor> copies, expected_copies;
  const std::vector<std::vector<int64_t>> shapes{{7, 9}, {300, 400}, {5}, {512}, {64, 8}};
  for (size_t i = 0; i < 100; ++i) {
    const auto& shape = shapes[i % shapes.size()];
    const torch::Tensor value = torch::randn(shape);
    expected.emplace_back(std::to_string(i), value.clone());
    found.emplace_back(std::to_string(i), value.cuda());
    copies.push_back(shape.size() > 1 ? torch::zeros(shape, torch::kBFloat16).cuda() : torch::Tensor());
    expected_copies.push_back(shape.size() > 1 ? torch::zeros(shape, torch::kBFloat16) : torch::Tensor());
  }
  WorkerCrew workers(1);
  Adam reference(expected, options), adam(found, options);
  WeightAverage expected_average(expected, 0.9), average(found, 0.9);
  reference.keep_average(expected_average);
  adam.keep_average(average);
  reference.keep_rounded(expected_copies);
  adam.keep_rounded(copies);
  for (int step = 0; step < 4; ++step) {
    std::vector<torch::Tensor> gradients, same;
    for (size_t i = 0; i < expected.size(); ++i) {
      const torch::Tensor gradient =
          torch::randn(expected[i].second.sizes()).to(i % 2 == 0 ? torch::kBFloat16 : torch::kFloat);
      gradients.push_back(i == 4 ? torch::Tensor() : gradient.to(torch::kFloat));
      same.push_back(i == 4 ? torch::Tensor() : gradient.cuda());
    }
    const float loss = step == 2 ? std::numeric_limits<float>::quiet_NaN() : 1.0F;
    const torch::Tensor expected_norms = reference.start_update(gradients, 0.01, torch::full({}, loss)).norms;
    const auto started = adam.start_update(same, 0.01, torch::full({}, loss).cuda());
    EXPECT_LT(distance(started.norms, expected_norms), 1e-5);
    EXPECT_EQ(started.happens.item<bool>(), step != 2);
  }
  EXPECT_EQ(adam.steps(), 3);
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(torch::allclose(found[i].second.cpu(), expected[i].second, 1e-5, 1e-6)) << i;
    EXPECT_TRUE(torch::allclose(average.values()[i].second.cpu(), expected_average.values()[i].second, 1e-5, 1e-6))
        << i;
    if (!copies[i].defined()) continue;
    EXPECT_TRUE(torch::equal(copies[i], found[i].second.to(torch::kBFloat16))) << i;
  }
}

// A network's whole step; with dropout, from the same masks on both.
TEST_F(GpuKernels, AStepHasTheCpusGradientsWithDropoutAndWithout) {
  for (const double dropout : {0.1, 0.0})
    for (const NormPosition position : {NormPosition::post, NormPosition::pre}) {
      TransformerOptions options;
      options.source_vocab_size = options.target_vocab_size = 200;
      options.num_encoder_layers = options.num_decoder_layers = 2;
      options.d_model = 128;
      options.num_heads = 4;
      options.d_ff = 256;
      options.dropout = options.activation_dropout = options.attention_dropout = dropout;
      options.norm_position = position;
      Transformer on_cpu(options), on_gpu = replica_of(on_cpu, torch::kCUDA);
      torch::Tensor source = torch::randint(4, 200, {30, 19}, torch::kLong);
      source.slice(0, 10, 20).slice(1, 12, 19).fill_(0);
      const torch::Tensor target = torch::randint(4, 200, {30, 23}, torch::kLong);
      const Batch batch{source, target, target, {}, source.numel(), target.numel()};
      WorkerCrew workers(1);
      const auto gradients = [&](Transformer& transformer, torch::Device device, Precision precision) {
        Replicas replicas(transformer, device, workers, {precision});
        const LossSum loss =
            replicas.accumulate_gradients({{batch, batch}, 2 * batch.target_tokens, 1, true}, 0.1).read();
        return std::pair{loss.sum, replicas.gradients().front()};
      };
      const auto [loss, expected] = gradients(on_cpu, torch::kCPU, Precision::float32);
      for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
        const auto [found_loss, found] = gradients(on_gpu, torch::Device(torch::kCUDA, 0), precision);
        // LibTorch's own attention, in float32, draws masks of its own.
        if (precision == Precision::float32 && dropout > 0) {
          EXPECT_NEAR(found_loss, loss, 0.02 * loss);
          continue;
        }
        EXPECT_NEAR(found_loss, loss, 0.003 * loss);
        const double tolerance = precision == Precision::float32 ? 0.02 : 0.06;
        for (size_t p = 0; p < expected.size(); ++p)
          EXPECT_LT(distance(found[p], expected[p]), tolerance) << on_cpu->named_parameters().keys()[p];
      }
    }
}

}  // namespace
}  // namespace transmute
