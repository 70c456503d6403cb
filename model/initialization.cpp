#include <transmute/model/initialization.h>

#include <transmute/model/libtorch.h>

#include <cmath>

namespace transmute {
inline namespace v0 {

namespace {

thread_local bool are_drawn = true;

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
  if (are_drawn) torch::nn::init::uniform_(weight, -bound, bound);
}

void draw_normal(torch::Tensor& weight, double standard_deviation) {
  if (are_drawn) torch::nn::init::normal_(weight, 0.0, standard_deviation);
}

torch::nn::Linear make_linear(int64_t in, int64_t out, Bias bias) {
  // Made small: LibTorch draws the weights of its modules in a way of its own.
  torch::nn::Linear linear(torch::nn::LinearOptions(1, 1).bias(bias == Bias::zero));
  linear->options.in_features(in).out_features(out);
  linear->weight.set_data(torch::empty({out, in}));
  if (bias == Bias::zero) linear->bias.set_data(torch::zeros({out}));
  draw_uniform(linear->weight, std::sqrt(6.0 / static_cast<double>(in + out)));
  return linear;
}

torch::nn::Embedding make_embedding(int64_t vocab_size, int64_t d_model) {
  torch::nn::Embedding table(
      torch::nn::EmbeddingOptions(vocab_size, d_model)._weight(torch::empty({vocab_size, d_model})));
  draw_normal(table->weight, 1.0 / std::sqrt(static_cast<double>(d_model)));
  return table;
}

}  // namespace v0
}  // namespace transmute
