// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include <cstdint>

// Initial weights of a network. The paper does not specify them.
namespace transmute {
inline namespace v0 {

/// While an object of this class lives, networks that the calling thread makes have undefined weights. Use it where the
/// weights are replaced at once, because drawing them takes longer than reading them from a file.
class UndrawnWeights {
 public:
  UndrawnWeights();
  ~UndrawnWeights();
  UndrawnWeights(const UndrawnWeights&) = delete;
  UndrawnWeights& operator=(const UndrawnWeights&) = delete;

 private:
  bool outer_;
};

/// False while an UndrawnWeights of the calling thread lives.
bool weights_are_drawn();

/// Fills `weight`, float32 on the CPU, from the uniform distribution over [-bound, bound].
///
/// Each call takes one 64-bit key from LibTorch's default generator, and element i is a function of (key, i) alone.
/// After torch::manual_seed, a network therefore has the same initial weights with every LibTorch, CPU and number of
/// threads; a test pins them.
void draw_uniform(torch::Tensor& weight, double bound);

/// The same from the normal distribution around 0.
void draw_normal(torch::Tensor& weight, double standard_deviation);

enum class Bias { none, zero };

/// Weight [out,in]: uniform, by `gain` times the bound of Glorot and Bengio (2010), Eq. 16.
torch::nn::Linear make_linear(int64_t in, int64_t out, Bias bias, double gain = 1.0);

/// Weight [V,D]: N(0, 1/D), so that embeddings scaled by sqrt(D) have entries of variance 1 (section 3.4).
torch::nn::Embedding make_embedding(int64_t vocab_size, int64_t d_model);

}  // namespace v0
}  // namespace transmute
