// SPDX-License-Identifier: Apache-2.0
#include <transmute/network/weights.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/network/int8_panels.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

class ShapeList {
 public:
  explicit ShapeList(const TransformerOptions& options) : o_(options) {}

  void add(const std::string& name, std::vector<int64_t> shape) { all.push_back({name, std::move(shape)}); }
  void linear(const LinearNames& names, int64_t outputs, int64_t inputs) {
    add(names.weight, {outputs, inputs});
    if (!names.bias.empty()) add(names.bias, {outputs});
  }
  void norm(const NormNames& names) {
    if (names.weight.empty()) return;
    add(names.weight, {o_.d_model});
    add(names.bias, {o_.d_model});
  }
  void attention(const AttentionNames& names, const std::string& module) {
    const int64_t heads = o_.num_heads, keys = heads * o_.d_k, values = heads * o_.d_v;
    linear(names.query, keys, o_.d_model);
    linear(names.key, keys, o_.d_model);
    linear(names.value, values, o_.d_model);
    linear(names.output, o_.d_model, values);
    const std::string score = module + ".pooling.score.";
    if (o_.score_function == ScoreFunction::additive) {
      add(score + "query_weight", {heads, o_.d_k, o_.d_k});
      add(score + "key_weight", {heads, o_.d_k, o_.d_k});
      add(score + "score_weight", {heads, o_.d_k});
    }
    if (o_.score_function == ScoreFunction::bilinear) add(score + "weight", {heads, o_.d_k, o_.d_k});
  }
  void stack(const StackNames& names, const std::string& module) {
    for (size_t i = 0; i < names.layers.size(); ++i) {
      const LayerNames& layer = names.layers[i];
      const std::string name = module + ".layers." + std::to_string(i);
      const bool has_cross_attention = !layer.cross_attention.query.weight.empty();
      if (layer.ssru.input.weight.empty()) {
        attention(layer.self_attention, name + ".self_attention");
      } else {
        linear(layer.ssru.input, o_.d_model, o_.d_model);
        linear(layer.ssru.forget, o_.d_model, o_.d_model);
      }
      if (has_cross_attention) attention(layer.cross_attention, name + ".cross_attention");
      linear(layer.feed_forward.inner, o_.d_ff, o_.d_model);
      linear(layer.feed_forward.outer, o_.d_model, o_.d_ff);
      norm(layer.self_attention.norm);
      if (has_cross_attention) norm(layer.cross_attention.norm);
      norm(layer.feed_forward.norm);
    }
    norm(names.norm);
  }

  std::vector<ParameterShape> all;

 private:
  const TransformerOptions& o_;
};

// Numbers row by row, and a scale for each row.
struct Int8Matrix {
  Array numbers, scales;
};

// The nearest one, the same as int8 products are made of. The largest magnitude of a row becomes 127.
Int8Matrix to_int8(const Array& matrix) {
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  Int8Matrix result{Array({rows, columns}, NumberType::int8), Array({rows})};
  for (int64_t r = 0; r < rows; ++r) {
    const float* from = matrix.floats() + r * columns;
    float largest = 0;
    for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, std::abs(from[c]));
    constexpr float kMost = 127;
    const float inverse = largest == 0 ? 0 : kMost / largest;
    for (int64_t c = 0; c < columns; ++c)
      result.numbers.int8s()[r * columns + c] = static_cast<int8_t>(std::nearbyint(from[c] * inverse));
    result.scales.floats()[r] = largest / kMost;
  }
  return result;
}

Array from_int8(const Int8Matrix& matrix) {
  Array result = matrix.numbers.to_float32();
  const int64_t columns = result.size(1);
  for (int64_t r = 0; r < result.size(0); ++r)
    for (int64_t c = 0; c < columns; ++c) result.floats()[r * columns + c] *= matrix.scales.floats()[r];
  return result;
}

bool is_in_panels(const Array& numbers) {
  return numbers.type() == NumberType::int8 && numbers.dimensions() == 4;
}

Precision precision_of(NumberType type) {
  switch (type) {
    case NumberType::int8:
      return Precision::int8;
    case NumberType::bfloat16:
      return Precision::bfloat16;
    case NumberType::float16:
      return Precision::half;
    default:
      return Precision::float32;
  }
}

// Arrays by name, each of which can be taken once.
class ArraysToTake {
 public:
  ArraysToTake(const NamedArrays& arrays, const std::string& path)
      : by_name_(arrays.begin(), arrays.end()), path_(path) {}

  bool has(const std::string& name) const { return by_name_.count(name) > 0; }

  Array take(const std::string& name, const std::vector<int64_t>& shape, const char* needed_by) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end())
      throw std::runtime_error(
          fmt::format("{}: has no \"{}\", which {} needs; the two do not belong together", path_, name, needed_by));
    Array array = found->second;
    const bool fits = is_in_panels(array) && shape.size() == 2
                          ? array.shape() == int8_panels_shape(shape.front(), shape.back())
                          : array.shape() == shape;
    if (!fits)
      throw std::runtime_error(fmt::format("{}: \"{}\" has shape {}, {} needs {}", path_, name, array.shape_text(),
                                           needed_by, shape_text(shape)));
    by_name_.erase(found);
    return array;
  }

  // A parameter's numbers, with their scales if they are an int8 matrix.
  Int8Matrix take_parameter(const std::string& name, const std::vector<int64_t>& shape) {
    Int8Matrix parameter{take(name, shape, "the config's model"), {}};
    const NumberType type = parameter.numbers.type();
    if (type == NumberType::int8 && shape.size() == 2) {
      parameter.scales = take(name + kScaleSuffix, {shape.front()}, "the int8 matrix beside it").to_float32();
    } else if (!is_real(type)) {
      throw std::runtime_error(
          fmt::format("{}: \"{}\" has numbers of type {}, which weights cannot be", path_, name, name_of(type)));
    }
    return parameter;
  }

  void check_all_taken() const {
    if (by_name_.empty()) return;
    throw std::runtime_error(
        fmt::format("{}: holds \"{}\", which the config's model does not have; the two do not belong together", path_,
                    by_name_.begin()->first));
  }

 private:
  std::unordered_map<std::string, Array> by_name_;
  const std::string& path_;
};

std::unordered_set<std::string> product_matrices(const TransformerOptions& options) {
  const std::vector<std::string> names = WeightNames(options).product_matrices();
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<ParameterShape> parameter_shapes(const TransformerOptions& given) {
  const TransformerOptions o = validated(given);
  const WeightNames names(o);
  const bool has_encoder = o.architecture != Architecture::decoder_only;
  ShapeList list(o);
  if (o.output_bias) list.add(names.output.bias, {o.target_vocab_size});
  if (names.source_embedding != names.target_embedding)
    list.add(names.source_embedding, {o.source_vocab_size, o.d_model});
  list.add(names.target_embedding, {o.target_vocab_size, o.d_model});
  if (names.output.weight != names.target_embedding) list.add(names.output.weight, {o.target_vocab_size, o.d_model});
  if (o.positional_encoding == PositionalEncodingKind::learned) {
    if (has_encoder) list.add(names.source_positions, {o.max_positions, o.d_model});
    list.add(names.target_positions, {o.max_positions, o.d_model});
  }
  list.norm(names.source_embedding_norm);
  list.norm(names.target_embedding_norm);
  list.stack(names.encoder, "encoder");
  list.stack(names.decoder, "decoder");
  return std::move(list.all);
}

int64_t parameter_count(const TransformerOptions& options) {
  int64_t sum = 0;
  for (const ParameterShape& parameter : parameter_shapes(options)) {
    int64_t count = 1;
    for (const int64_t size : parameter.shape) count *= size;
    sum += count;
  }
  return sum;
}

Weights::Weights(const TransformerOptions& options, const NamedArrays& arrays, const std::string& path)
    : options_(validated(options)) {
  const std::unordered_set<std::string> products = product_matrices(options_);
  ArraysToTake values(arrays, path);
  const auto take = [&](const std::string& name, const std::vector<int64_t>& shape) {
    auto [numbers, scales] = values.take_parameter(name, shape);
    if (products.count(name) > 0) stored_ = precision_of(numbers.type());
    order_.push_back(name);
    parameters_.emplace(name, Parameter{shape, std::move(numbers), std::move(scales)});
  };
  for (const auto& [name, shape] : parameter_shapes(options_)) take(name, shape);
  const std::string output = WeightNames(options_).output.weight;
  if (products.count(output) == 0 && values.has(output + kInt8Suffix)) take(output + kInt8Suffix, shape(output));
  values.check_all_taken();
}

const Weights::Parameter& Weights::at(const std::string& name) const {
  return parameters_.at(name);
}

Array Weights::int8_rows(const std::string& name) const {
  const Parameter& parameter = at(name);
  return is_in_panels(parameter.numbers)
             ? from_int8_panels(parameter.numbers, parameter.shape.front(), parameter.shape.back())
             : parameter.numbers;
}

Array Weights::float32(const std::string& name) const {
  const Parameter& parameter = at(name);
  return parameter.scales.defined() ? from_int8({int8_rows(name), parameter.scales}) : parameter.numbers.to_float32();
}

void Weights::release(const std::string& name) {
  Parameter& parameter = parameters_.at(name);
  for (Array* array : {&parameter.numbers, &parameter.scales}) *array = Array(array->shape(), array->type(), nullptr);
}

NamedArrays Weights::arrays() const {
  NamedArrays arrays;
  for (const bool int8 : {true, false})
    for (const std::string& name : order_)
      if (is_int8(name) == int8) arrays.emplace_back(name, numbers(name));
  for (const std::string& name : order_)
    if (is_int8(name)) arrays.emplace_back(name + kScaleSuffix, scales(name));
  return arrays;
}

Weights Weights::stored_as(Precision precision) const {
  const auto in_int8 = [&](const std::string& name) -> Parameter {
    const Int8Matrix matrix = is_int8(name) ? Int8Matrix{int8_rows(name), scales(name)} : to_int8(float32(name));
    return {shape(name), to_int8_panels(matrix.numbers), matrix.scales};
  };
  const auto in_half_the_bits = [&](const std::string& name) -> Parameter {
    const bool is_half = precision == Precision::half;
    Array numbers = rounded(float32(name), is_half ? NumberType::float16 : NumberType::bfloat16);
    if (!all_finite(numbers.data(), static_cast<size_t>(numbers.count()), numbers.type()))
      throw std::runtime_error(fmt::format("\"{}\" has numbers that are too large for the precision {}; choose {}",
                                           name, precision_name(precision), is_half ? "bfloat16" : "float32"));
    return {shape(name), std::move(numbers), {}};
  };
  const std::string output = WeightNames(options_).output.weight, output_in_int8 = output + kInt8Suffix;
  const std::unordered_set<std::string> products = product_matrices(options_);
  Weights result;
  result.options_ = options_;
  result.stored_ = precision;
  const auto add = [&](const std::string& name, Parameter parameter) {
    result.order_.push_back(name);
    result.parameters_.emplace(name, std::move(parameter));
  };
  for (const std::string& name : order_) {
    if (name == output_in_int8) continue;
    if (products.count(name) == 0 || precision == Precision::float32) {
      add(name, {shape(name), float32(name), {}});
    } else {
      add(name, precision == Precision::int8 ? in_int8(name) : in_half_the_bits(name));
    }
  }
  if (precision == Precision::int8 && products.count(output) == 0)
    add(output_in_int8, in_int8(has(output_in_int8) ? output_in_int8 : output));
  return result;
}

}  // namespace v0
}  // namespace transmute
