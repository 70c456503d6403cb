// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/network.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/formats/int8_weights.h>
#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

using Tensors = torch::OrderedDict<std::string, torch::Tensor>;

// Rows of the feed-forward network at a time: its inner states should stay in the cache.
constexpr int64_t kFeedForwardRows = 256;

torch::Tensor as_float(const torch::Tensor& tensor) {
  return tensor.detach().to(torch::kCPU, torch::kFloat).contiguous();
}

// Takes the parameters of a Transformer by their names and packs them.
class Packer {
 public:
  Packer(const Transformer& transformer, Precision precision, kernels::Simd simd, WeightUse use)
      : parameters_(transformer->named_parameters()),
        buffers_(transformer->named_buffers()),
        precision_(precision),
        simd_(simd),
        use_(use) {}

  /// In float32; of a transformer that stays as it is, a copy.
  torch::Tensor own(const std::string& name) const {
    return use_ == WeightUse::taken ? tensor(name) : tensor(name).clone();
  }
  Norm norm(const NormNames& names, double residual_scale = 1) const {
    return {own(names.weight), own(names.bias), residual_scale};
  }

  /// In pack_all(), makes `to` of the named matrices' rows, one matrix behind the other, and of their biases, which all
  /// of them have or none. It must stay in its place.
  void linear(PackedLinear& to, const std::vector<LinearNames>& names) {
    std::vector<std::string> matrices, biases;
    int64_t outputs = 0;
    for (const LinearNames& linear : names) {
      matrices.push_back(linear.weight);
      if (!linear.bias.empty()) biases.push_back(linear.bias);
      outputs += parameters_[linear.weight].size(0);
    }
    to = PackedLinear(outputs, parameters_[matrices.front()].size(1), precision_, simd_);
    jobs_.push_back([this, &to, matrices = std::move(matrices), biases = std::move(biases)] {
      std::vector<torch::Tensor> parts;
      for (const std::string& name : biases) parts.push_back(tensor(name));
      pack(to, matrices, parts.empty() ? torch::Tensor() : torch::cat(parts));
      if (use_ == WeightUse::taken)
        for (const std::string& name : matrices) release(name);
    });
  }
  void feed_forward(FeedForwardLayer& to, const FeedForwardNames& names, double residual_scale) {
    linear(to.inner, {names.inner});
    linear(to.outer, {names.outer});
    to.norm = norm(names.norm, residual_scale);
  }
  void pack_all(const ParallelFor& parallel_for) {
    parallel_for(jobs_.size(), [&](size_t j) {
      const torch::NoGradGuard no_grad;
      jobs_[j]();
    });
    jobs_.clear();
  }

 private:
  torch::Tensor tensor(const std::string& name) const {
    const auto int8 = kept_int8(buffers_, name);
    return int8 ? to_float32(*int8) : as_float(parameters_[name]);
  }

  void release(const std::string& name) const {
    torch::Tensor(parameters_[name]).set_data(torch::empty({0}, torch::kFloat));
    if (const auto int8 = kept_int8(buffers_, name))
      torch::Tensor(int8->numbers).set_data(torch::empty({0}, torch::kChar));
  }

  void pack(PackedLinear& to, const std::vector<std::string>& matrices, const torch::Tensor& bias) const {
    const float* bias_data = bias.defined() ? bias.data_ptr<float>() : nullptr;
    std::vector<torch::Tensor> numbers, scales;
    for (const auto& name : matrices) {
      const auto int8 = kept_int8(buffers_, name);
      if (!int8 || precision_ != Precision::int8) break;
      numbers.push_back(int8->numbers.contiguous());
      scales.push_back(int8->scales);
    }
    if (numbers.size() == matrices.size())
      return to.pack(rows_of<int8_t>(numbers), torch::cat(scales).data_ptr<float>(), bias_data);
    std::vector<torch::Tensor> weights;
    for (const auto& name : matrices) weights.push_back(tensor(name));
    to.pack(rows_of<float>(weights), bias_data);
  }

  template <class Number>
  static std::vector<Rows<Number>> rows_of(const std::vector<torch::Tensor>& matrices) {
    std::vector<Rows<Number>> rows;
    for (const torch::Tensor& matrix : matrices) rows.push_back({matrix.data_ptr<Number>(), matrix.size(0)});
    return rows;
  }

  Tensors parameters_, buffers_;
  Precision precision_;
  kernels::Simd simd_;
  WeightUse use_;
  std::vector<std::function<void()>> jobs_;
};

std::vector<LinearNames> projections_of(const AttentionNames& attention) {
  return {attention.query, attention.key, attention.value};
}

}  // namespace

Positions::Positions(const Transformer& transformer, const std::string& module)
    : d_model_(transformer->options.d_model),
      is_learned_(transformer->options.positional_encoding == PositionalEncodingKind::learned),
      sinusoids_(transformer->options.sinusoids) {
  const std::string name = module + (is_learned_ ? ".weight" : ".sinusoids");
  const Tensors tensors = is_learned_ ? transformer->named_parameters() : transformer->named_buffers();
  if (const torch::Tensor* table = tensors.find(name))
    table_ = is_learned_ ? as_float(*table).clone() : as_float(*table);
}

void Positions::check(int64_t position) const {
  if (is_learned_ && position >= table_.size(0))
    throw std::invalid_argument(
        fmt::format("position {} is beyond the {} learned positions (model.max_positions)", position, table_.size(0)));
}

void Positions::add(int64_t position, const float* x, float scale, float* y) const {
  check(position);
  if (position < table_.size(0)) return add(table_.data_ptr<float>() + position * d_model_, x, scale, y);
  add(sinusoidal_positions(position, 1, d_model_, sinusoids_).data_ptr<float>(), x, scale, y);
}

void Positions::add(const float* vector, const float* x, float scale, float* y) const {
  for (int64_t i = 0; i < d_model_; ++i) y[i] = vector[i] + scale * x[i];
}

Network::Network(const Transformer& transformer, Precision precision, kernels::Simd simd,
                 const ParallelFor& parallel_for, WeightUse use)
    : options(transformer->options),
      precision(precision),
      simd(simd),
      shape{options.d_k, options.d_v, static_cast<float>(score_scale(options.score_function, options.d_k))},
      embedding_scale(static_cast<float>(transmute::embedding_scale(options))),
      source_positions(transformer, "source_positions"),
      target_positions(transformer, "target_positions") {
  Packer packer(transformer, precision, simd, use);
  const WeightNames names(options);
  target_embedding = packer.own(names.target_embedding);
  const bool one_table = names.source_embedding == names.target_embedding;
  source_embedding = one_table ? target_embedding : packer.own(names.source_embedding);
  packer.linear(output, {names.output});
  const double encoder_scale = residual_scale(options, Stack::encoder);
  encoder.resize(names.encoder.layers.size());
  for (size_t i = 0; i < encoder.size(); ++i) {
    const LayerNames& from = names.encoder.layers[i];
    packer.linear(encoder[i].query_key_value, projections_of(from.self_attention));
    packer.linear(encoder[i].output, {from.self_attention.output});
    encoder[i].attention_norm = packer.norm(from.self_attention.norm, encoder_scale);
    packer.feed_forward(encoder[i].feed_forward, from.feed_forward, encoder_scale);
  }
  const double decoder_scale = residual_scale(options, Stack::decoder);
  decoder.resize(names.decoder.layers.size());
  for (size_t i = 0; i < decoder.size(); ++i) {
    const LayerNames& from = names.decoder.layers[i];
    packer.linear(decoder[i].query_key_value, projections_of(from.self_attention));
    packer.linear(decoder[i].self_output, {from.self_attention.output});
    decoder[i].self_norm = packer.norm(from.self_attention.norm, decoder_scale);
    packer.feed_forward(decoder[i].feed_forward, from.feed_forward, decoder_scale);
    if (!has_encoder()) continue;
    CrossAttentionWeights& cross = decoder[i].cross;
    packer.linear(cross.query, {from.cross_attention.query});
    packer.linear(cross.key, {from.cross_attention.key});
    packer.linear(cross.value, {from.cross_attention.value});
    packer.linear(cross.output, {from.cross_attention.output});
    cross.norm = packer.norm(from.cross_attention.norm, decoder_scale);
  }
  packer.pack_all(parallel_for);
  if (norm_first()) decoder_norm = packer.norm(names.decoder.norm);
  if (norm_first() && has_encoder()) encoder_norm = packer.norm(names.encoder.norm);
  if (!options.embedding_norm) return;
  target_embedding_norm = packer.norm(names.target_embedding_norm);
  if (has_encoder()) source_embedding_norm = packer.norm(names.source_embedding_norm);
}

void Network::normalize(const Norm& norm, const float* x, int64_t rows, float* y) const {
  const RowNorm rows_norm{norm.weight.data_ptr<float>(), norm.bias.data_ptr<float>(), options.d_model,
                          static_cast<float>(options.norm_epsilon)};
  layer_norm(rows_norm, x, rows, y, simd);
}

void Network::normalize_embeddings(const Norm& norm, float* x, int64_t rows) const {
  if (options.embedding_norm) normalize(norm, x, rows, x);
}

const float* Network::sublayer_input(const Norm& norm, const float* x, int64_t rows, Workspace& workspace) const {
  if (!norm_first()) return x;
  float* normed = workspace.normed.at_least(rows * options.d_model);
  normalize(norm, x, rows, normed);
  return normed;
}

void Network::scale_residual(const Norm& norm, float* x, int64_t rows) const {
  if (norm.residual_scale == 1) return;
  const auto scale = static_cast<float>(norm.residual_scale);
  for (int64_t i = 0; i < rows * options.d_model; ++i) x[i] *= scale;
}

void Network::end_sublayer(const Norm& norm, float* x, int64_t rows) const {
  if (!norm_first()) normalize(norm, x, rows, x);
}

void Network::feed_forward(const FeedForwardLayer& layer, const float* input, float* x, int64_t rows,
                           Workspace& workspace) const {
  float* hidden = workspace.hidden.at_least(std::min(rows, kFeedForwardRows) * options.d_ff);
  for (int64_t row = 0; row < rows; row += kFeedForwardRows) {
    const int64_t count = std::min(kFeedForwardRows, rows - row);
    float* part = x + row * options.d_model;
    const bool relu = options.activation == Activation::relu;
    layer.inner.apply(input + row * options.d_model, count, hidden, {nullptr, relu}, workspace.scratch);
    if (!relu) activate(options.activation, count, options.d_ff, hidden, simd);
    scale_residual(layer.norm, part, count);
    layer.outer.apply(hidden, count, part, {part, false}, workspace.scratch);
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
