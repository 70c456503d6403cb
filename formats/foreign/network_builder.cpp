// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/network_builder.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/tokenizer/actual_options.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// The logit of an id that is never predicted, next to a row of zeros: its share of the probability vanishes in every
// type, and label smoothing, which wants every id a little, stays finite.
constexpr float kUnpredictedBias = -1e4;

}  // namespace

void refuse_leftovers(const std::string& path, std::vector<std::string> names) {
  if (names.empty()) return;
  std::sort(names.begin(), names.end());
  const std::string others = names.size() == 1 ? "" : fmt::format(", nor {} others", names.size() - 1);
  throw std::runtime_error(
      fmt::format("{}: the network that its configuration describes does not use the weights \"{}\"{}; the two do not "
                  "belong together, restore both from one source",
                  path, names.front(), others));
}

TensorTable::TensorTable(const NamedArrays& tensors, std::string path)
    : tensors_(tensors.begin(), tensors.end()), path_(std::move(path)) {}

Array TensorTable::in_float(const std::string& name) {
  const Array& tensor = tensors_.at(first_of({name}));
  if (!is_real(tensor.type()))
    throw std::runtime_error(
        fmt::format("{}: \"{}\" has the type {}, not one of real numbers", path_, name, name_of(tensor.type())));
  taken_.insert(name);
  return tensor.to_float32();
}

int64_t TensorTable::rows_of(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() || found->second.dimensions() != 2 || found->second.count() == 0
             ? 0
             : found->second.size(0);
}

const std::string& TensorTable::first_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names)
    if (const auto found = tensors_.find(name); found != tensors_.end()) return found->first;
  throw std::runtime_error(
      fmt::format("{}: has no \"{}\", which its configuration needs", path_, fmt::join(names, "\" or \"")));
}

bool TensorTable::are_equal(const std::string& one, const std::string& other) const {
  return tensors_.at(one).equals(tensors_.at(other));
}

Array TensorTable::take(const std::string& name, const std::vector<int64_t>& shape) {
  Array tensor = in_float(name);
  if (tensor.shape() != shape)
    throw std::runtime_error(fmt::format("{}: \"{}\" has shape {}, its configuration needs {}", path_, name,
                                         tensor.shape_text(), shape_text(shape)));
  return tensor;
}

Array TensorTable::take_int8(const std::string& name, const std::vector<int64_t>& shape) {
  const Array& tensor = tensors_.at(first_of({name}));
  if (tensor.type() != NumberType::int8 || tensor.shape() != shape)
    throw std::runtime_error(fmt::format("{}: \"{}\" has shape {} and type {}, its configuration needs {} and int8",
                                         path_, name, tensor.shape_text(), name_of(tensor.type()), shape_text(shape)));
  taken_.insert(name);
  return tensor;
}

Array TensorTable::take_matrix(const std::string& name) {
  Array matrix = in_float(name);
  if (matrix.dimensions() != 2 || matrix.count() == 0)
    throw std::runtime_error(
        fmt::format("{}: \"{}\" has shape {}, it should be a matrix", path_, name, matrix.shape_text()));
  return matrix;
}

void TensorTable::check_all_taken(const std::function<bool(const std::string&)>& is_harmless) const {
  std::vector<std::string> left;
  for (const auto& [name, tensor] : tensors_)
    if (taken_.count(name) == 0 && !is_harmless(name)) left.push_back(name);
  refuse_leftovers(path_, std::move(left));
}

Array renumbered(const Array& matrix, const Renumbering& renumbering) {
  std::vector<int64_t> numbers = renumbering.numbers;
  for (int64_t& number : numbers) number = std::max<int64_t>(number, 0);
  Array rows = matrix.gathered(numbers);
  for (int64_t id = 0; id < special_ids::kCount; ++id) {
    if (renumbering.numbers[static_cast<size_t>(id)] != kNoPiece) continue;
    Array row = rows.rows(id, 1);
    std::memset(row.data(), 0, row.bytes());
  }
  return rows;
}

void ForeignModel::bound_by(uint64_t file_bytes) {
  constexpr uint64_t kTimes = 32, kAlways = uint64_t{64} << 20;  // 8-bit weights become four times as large
  most_bytes_ = file_bytes * kTimes + kAlways;
}

void ForeignModel::add(const std::string& name, const Array& weight) {
  taken_bytes_ += weight.bytes();
  if (taken_bytes_ > most_bytes_)
    throw std::runtime_error(fmt::format(
        "{}: its network takes more than {} bytes, far more than its file has: it names the same weights many "
        "times; do not use it",
        path, most_bytes_));
  if (!all_finite(weight.data(), static_cast<size_t>(weight.count()), weight.type()))
    throw std::runtime_error(
        fmt::format("{}: \"{}\" has numbers that are infinite or not numbers; restore the file", path, name));
  weights.emplace_back(name, weight);
}

void ForeignModel::add_int8(const std::string& name, const Array& matrix, float scale) {
  const auto rows = static_cast<size_t>(matrix.size(0));
  add(name, matrix);
  add(name + kScaleSuffix, Array::of({matrix.size(0)}, std::vector<float>(rows, scale)));
}

void ForeignModel::add_table(const std::string& name, const ForeignTable& table) {
  const Array ours = renumbered(table.weight, table.renumbering);
  if (ours.type() == NumberType::int8) return add_int8(name, ours, table.scale);
  add(name, ours);
}

void ForeignModel::add_tables(const ForeignTable& source_table, const ForeignTable& target_table,
                              const Array& output_weight, const Array& bias) {
  const Renumbering& target_order = target_table.renumbering;
  if (options.embedding_tying == EmbeddingTying::all) {
    add_table("embedding.weight", target_table);
  } else {
    add_table("source_embedding.weight", source_table);
    add_table("target_embedding.weight", target_table);
  }
  if (options.embedding_tying == EmbeddingTying::none) add("output.weight", renumbered(output_weight, target_order));
  options.output_bias = true;
  Array ours = renumbered(bias.defined() ? bias : Array::zeros({target_table.weight.size(0)}), target_order);
  for (const int64_t id : target_order.unpredicted) ours.floats()[id] = kUnpredictedBias;
  add("output_bias", ours);
}

namespace {

// Checks the network that the other program's files describe. The names of our keys would mean nothing to their owner.
void check_network(const ForeignModel& model) {
  const TransformerOptions& o = model.options;
  const auto require = [&](bool holds, const std::string& fault) {
    if (!holds) throw std::runtime_error(fmt::format("{}: damaged ({}); restore the file", model.path, fault));
  };
  for (const int64_t pieces : {model.source->size(), model.target->size()})
    require(pieces > special_ids::kCount, fmt::format("a vocabulary of {} pieces is not possible", pieces));
  for (const int64_t size : {o.num_encoder_layers, o.num_decoder_layers, o.d_ff})
    require(size >= 1, fmt::format("a size of its layers, or their number, is {}", size));
  require(o.num_heads >= 1 && o.d_model % o.num_heads == 0,
          fmt::format("{} attention heads cannot share vectors of {} numbers evenly", o.num_heads, o.d_model));
  for (const double dropout : {o.dropout, o.attention_dropout, o.activation_dropout})
    require(dropout >= NetworkBounds::kDropout.low && dropout <= NetworkBounds::kDropout.high,
            fmt::format("a dropout rate of {} is not possible", dropout));
}

}  // namespace

LoadedModel make_loaded_model(const ForeignModel& model) {
  check_network(model);
  ModelConfig config;
  config.model = model.options;
  config.search = model.search;
  Tokenizer tokenizer(model.source, model.target);
  config.tokenizer = actual_options(tokenizer, config.tokenizer);
  ConfigSchema schema;
  config.declare(schema);
  uint64_t bytes = 0;
  for (const auto& [name, weight] : model.weights) bytes += weight.bytes();
  return make_model(std::move(tokenizer), schema.to_yaml(), model.path, model.weights, model.path, bytes);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
