// SPDX-License-Identifier: Apache-2.0
#include <transmute/engine/network.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/kernels/cpu/row_kernels.h>
#include <transmute/kernels/simd/tile_layout.h>
#include <transmute/network/sinusoids.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace inference {

namespace {

// Rows of the feed-forward network at a time: its inner states should stay in the cache.
constexpr int64_t kFeedForwardRows = 256;

// Takes the parameters of a network by their names and packs them.
class Packer {
 public:
  Packer(Weights& weights, Precision precision, WeightUse use) : weights_(weights), precision_(precision), use_(use) {}

  /// The parameter in float32; a copy if the weights stay as they are.
  Array own(const std::string& name) const {
    const Array array = weights_.float32(name);
    return use_ == WeightUse::taken ? array : array.copy();
  }
  Norm norm(const NormNames& names, double residual_scale = 1) const {
    return {own(names.weight), own(names.bias), residual_scale};
  }

  /// Makes `to`, in pack_all(), of the named matrices' rows, one matrix after the other, and of their biases, 0 for a
  /// matrix without one. It must stay in its place.
  void linear(PackedLinear& to, const std::vector<LinearNames>& names) {
    std::vector<std::string> matrices;
    bool has_bias = false;
    int64_t outputs = 0;
    for (const LinearNames& linear : names) {
      matrices.push_back(linear.weight);
      has_bias |= !linear.bias.empty();
      outputs += weights_.shape(linear.weight).front();
    }
    to = PackedLinear(outputs, weights_.shape(matrices.front()).back(), precision_);
    jobs_.push_back([this, &to, names, matrices = std::move(matrices), has_bias] {
      std::vector<Array> parts;
      for (const LinearNames& linear : names)
        parts.push_back(linear.bias.empty() ? Array::zeros({weights_.shape(linear.weight).front()})
                                            : weights_.float32(linear.bias));
      pack(to, matrices, has_bias ? Array::joined(parts) : Array());
      if (use_ == WeightUse::taken)
        for (const std::string& name : matrices) weights_.release(name);
    });
  }
  void feed_forward(FeedForwardLayer& to, const FeedForwardNames& names, double residual_scale) {
    linear(to.inner, {names.inner});
    linear(to.outer, {names.outer});
    to.norm = norm(names.norm, residual_scale);
  }
  void pack_all(const ParallelFor& parallel_for) {
    parallel_for(jobs_.size(), [&](size_t j) { jobs_[j](); });
    jobs_.clear();
  }

 private:
  void pack(PackedLinear& to, const std::vector<std::string>& matrices, const Array& bias) const {
    const float* bias_data = bias.defined() ? bias.floats() : nullptr;
    const bool are_int8 =
        std::all_of(matrices.begin(), matrices.end(), [&](const std::string& name) { return weights_.is_int8(name); });
    if (are_int8 && precision_ == Precision::int8) return pack_int8(to, matrices, bias_data);
    std::vector<Array> float32;
    std::vector<Rows<float>> rows;
    for (const std::string& name : matrices) {
      float32.push_back(weights_.float32(name));
      rows.push_back({float32.back().floats(), float32.back().size(0)});
    }
    to.pack(rows, bias_data);
  }

  void pack_int8(PackedLinear& to, const std::vector<std::string>& matrices, const float* bias) const {
    std::vector<Array> scales;
    for (const std::string& name : matrices) scales.push_back(weights_.scales(name));
    const Array all_scales = Array::joined(scales);
    if (Array panels = adjoining_panels(matrices); panels.defined())
      return to.pack(std::move(panels), all_scales.floats(), bias);
    std::vector<Array> numbers;
    std::vector<Rows<int8_t>> rows;
    for (const std::string& name : matrices) {
      numbers.push_back(weights_.int8_rows(name));
      rows.push_back({numbers.back().int8s(), numbers.back().size(0)});
    }
    to.pack(rows, all_scales.floats(), bias);
  }

  /// The panels of all the matrices' outputs as one array, where they lie so already and may be kept; else undefined.
  Array adjoining_panels(const std::vector<std::string>& matrices) const {
    constexpr uintptr_t kCacheLine = 64;
    const Array& first = weights_.numbers(matrices.front());
    std::vector<int64_t> shape = first.shape();
    if (use_ != WeightUse::taken || shape.size() != 4 || reinterpret_cast<uintptr_t>(first.data()) % kCacheLine != 0)
      return {};
    shape.front() = 0;
    auto parts = std::make_shared<std::vector<Array>>();
    const int8_t* end = first.int8s();
    for (const std::string& name : matrices) {
      const Array& part = weights_.numbers(name);
      const bool is_last = name == matrices.back();
      if (part.dimensions() != 4 || part.int8s() != end ||
          (!is_last && weights_.shape(name).front() % kernels::kPanel != 0))
        return {};
      shape.front() += part.size(0);
      end += part.count();
      parts->push_back(part);
    }
    return {std::move(shape), NumberType::int8, std::shared_ptr<void>(parts, parts->front().data())};
  }

  Weights& weights_;
  Precision precision_;
  WeightUse use_;
  std::vector<std::function<void()>> jobs_;
};

std::vector<LinearNames> projections_of(const AttentionNames& attention) {
  return {attention.query, attention.key, attention.value};
}

}  // namespace

Positions::Positions(const TransformerOptions& options, Array table)
    : d_model_(options.d_model), is_learned_(table.defined()), sinusoids_(options.sinusoids), table_(std::move(table)) {
  if (is_learned_) return;
  const int64_t rows = sinusoid_rows(options);
  table_ = Array::of({rows, d_model_}, sinusoids_at(0, rows, d_model_, sinusoids_));
}

void Positions::check(int64_t position) const {
  if (is_learned_ && position >= table_.size(0))
    throw std::invalid_argument(
        fmt::format("position {} is beyond the {} learned positions (model.max_positions)", position, table_.size(0)));
}

void Positions::add(int64_t position, const float* x, float scale, float* y) const {
  check(position);
  std::vector<float> beyond_table;
  if (position >= table_.size(0)) beyond_table = sinusoids_at(position, 1, d_model_, sinusoids_);
  const float* vector = beyond_table.empty() ? table_.floats() + position * d_model_ : beyond_table.data();
  for (int64_t i = 0; i < d_model_; ++i) y[i] = vector[i] + scale * x[i];
}

Network::Network(Weights weights, Precision precision, const ParallelFor& parallel_for, WeightUse use)
    : options(weights.options()),
      precision(precision),
      shape{options.d_k, options.d_v, static_cast<float>(score_scale(options.score_function, options.d_k))},
      embedding_scale(static_cast<float>(transmute::embedding_scale(options))) {
  Packer packer(weights, precision, use);
  const WeightNames names(options);
  const bool is_learned = options.positional_encoding == PositionalEncodingKind::learned;
  target_positions = Positions(options, is_learned ? packer.own(names.target_positions) : Array());
  if (has_encoder())
    source_positions = is_learned ? Positions(options, packer.own(names.source_positions)) : target_positions;
  target_embedding = packer.own(names.target_embedding);
  const bool one_table = names.source_embedding == names.target_embedding;
  source_embedding = one_table ? target_embedding : packer.own(names.source_embedding);
  LinearNames output_names = names.output;
  if (precision == Precision::int8 && weights.has(output_names.weight + kInt8Suffix))
    output_names.weight += kInt8Suffix;
  packer.linear(output, {output_names});
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
    if (is_ssru()) {
      packer.linear(decoder[i].ssru, {from.ssru.input, from.ssru.forget});
    } else {
      packer.linear(decoder[i].query_key_value, projections_of(from.self_attention));
      packer.linear(decoder[i].self_output, {from.self_attention.output});
    }
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

int64_t Network::decoder_layer_bytes() const {
  const int64_t self = is_ssru() ? 2 * options.d_model : projected_width() + values_width();
  const int64_t cross = has_encoder() ? keys_width() + values_width() : 0;  // of each step
  const int64_t number_bytes = precision == Precision::float32 ? 4 : precision == Precision::bfloat16 ? 2 : 1;
  return options.d_model * (self + cross + 2 * options.d_ff) * number_bytes;
}

void Network::normalize(const Norm& norm, const float* x, int64_t rows, float* y) const {
  const RowNorm rows_norm{norm.weight.floats(), norm.bias.floats(), options.d_model,
                          static_cast<float>(options.norm_epsilon)};
  layer_norm(rows_norm, x, rows, y);
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
    if (!relu) activate(options.activation, count, options.d_ff, hidden);
    scale_residual(layer.norm, part, count);
    layer.outer.apply(hidden, count, part, {part, false}, workspace.scratch);
  }
}

}  // namespace inference
}  // namespace v0
}  // namespace transmute
