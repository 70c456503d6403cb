// SPDX-License-Identifier: Apache-2.0
#include <transmute/model/initialization.h>

#include <transmute/common/random.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/autograd/random_key.h>

#include <cmath>

namespace transmute {
inline namespace v0 {

namespace {

constexpr double kPi = 3.14159265358979323846;

thread_local bool are_drawn = true;

// weight[i] = number(key, i)
template <class Number>
void fill(torch::Tensor& weight, Number number) {
  TORCH_CHECK_VALUE(weight.is_contiguous() && weight.scalar_type() == torch::kFloat && weight.device().is_cpu(),
                    "initial weights are drawn into contiguous float32 tensors on the CPU");
  const uint64_t key = kernels::random_key();
  float* to = weight.data_ptr<float>();
  for (int64_t i = 0; i < weight.numel(); ++i) to[i] = static_cast<float>(number(key, static_cast<uint64_t>(i)));
}

}  // namespace

UndrawnWeights::UndrawnWeights() : outer_(are_drawn) {
  are_drawn = false;
}

UndrawnWeights::~UndrawnWeights() {
  are_drawn = outer_;
}

bool weights_are_drawn() {
  return are_drawn;
}

void draw_uniform(torch::Tensor& weight, double bound) {
  if (!are_drawn) return;
  fill(weight, [bound](uint64_t key, uint64_t i) { return bound * (2 * uniform(combine_keys(key, i)) - 1); });
}

// The method of Box and Muller, 1958. Each pair of uniform numbers gives only one normal number, so that an element
// does not depend on the number of elements.
void draw_normal(torch::Tensor& weight, double standard_deviation) {
  if (!are_drawn) return;
  fill(weight, [standard_deviation](uint64_t key, uint64_t i) {
    const double radius = std::sqrt(-2 * std::log(1 - uniform(combine_keys(key, 2 * i))));
    const double angle = 2 * kPi * uniform(combine_keys(key, 2 * i + 1));
    return standard_deviation * radius * std::cos(angle);
  });
}

torch::nn::Linear make_linear(int64_t in, int64_t out, Bias bias, double gain) {
  // The module is made without outputs: for others LibTorch would draw weights, with numbers from the generator that
  // the application may use, too.
  torch::nn::Linear linear(torch::nn::LinearOptions(1, 0).bias(bias == Bias::zero));
  linear->options.in_features(in).out_features(out);
  linear->weight.set_data(torch::empty({out, in}, torch::kFloat));
  if (bias == Bias::zero) linear->bias.set_data(torch::zeros({out}, torch::kFloat));
  draw_uniform(linear->weight, gain * std::sqrt(6.0 / static_cast<double>(in + out)));
  return linear;
}

torch::nn::Embedding make_embedding(int64_t vocab_size, int64_t d_model) {
  torch::nn::Embedding table(
      torch::nn::EmbeddingOptions(vocab_size, d_model)._weight(torch::empty({vocab_size, d_model}, torch::kFloat)));
  draw_normal(table->weight, 1.0 / std::sqrt(static_cast<double>(d_model)));
  return table;
}

}  // namespace v0
}  // namespace transmute
