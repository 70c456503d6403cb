// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/writers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/formats/foreign/outgoing_model.h>
#include <transmute/network/weight_names.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr uint32_t kBinaryVersion = 6, kRevision = 7;
constexpr const char* kSpecification = "TransformerSpec";

// The number by which the file calls a type or an activation.
template <class Item, size_t N>
int8_t number_of(Item item, const Item (&numbered)[N]) {
  const auto* const found = std::find(numbered, numbered + N, item);
  if (found == numbered + N) throw std::logic_error("a type that model.bin is not written with");
  return static_cast<int8_t>(found - numbered);
}

Array flag(int8_t value) {
  Array number({}, NumberType::int8);
  *number.int8s() = value;
  return number;
}

Array short_number(int64_t value) {
  Array number({}, NumberType::int16);
  *static_cast<int16_t*>(number.data()) = static_cast<int16_t>(value);
  return number;
}

// The variables of model.bin, under CTranslate2's names.
class CTranslate2Variables {
 public:
  CTranslate2Variables(const LoadedModel& model, Precision precision)
      : model_(model), options_(model.options), precision_(precision), names_(model.options) {}

  void add_all() {
    add_tables();
    add_stack(Stack::encoder, names_.encoder);
    add_stack(Stack::decoder, names_.decoder);
    variables_["decoder/alignment_heads"] = short_number(1);
    variables_["decoder/alignment_layer"] = short_number(-1);
    variables_["decoder/start_from_zero_embedding"] = flag(0);
    variables_["encoder/embeddings_merge"] = flag(0);
  }

  void write(const std::string& path) const {
    AtomicFile file(path);
    put(file, kBinaryVersion);
    put(file, std::string(kSpecification));
    put(file, kRevision);
    put(file, static_cast<uint32_t>(variables_.size()));
    for (const auto& [name, variable] : variables_) {
      put(file, name);
      put(file, static_cast<uint8_t>(variable.dimensions()));
      for (const int64_t size : variable.shape()) put(file, static_cast<uint32_t>(size));
      put(file, number_of(variable.type(), kCTranslate2Types));
      put(file, static_cast<uint32_t>(variable.bytes()));
      file.write(variable.data(), variable.bytes());
    }
    put(file, static_cast<uint32_t>(aliases_.size()));
    for (const auto& [alias, name] : aliases_) {
      put(file, alias);
      put(file, name);
    }
    file.commit();
  }

 private:
  template <class Number>
  static void put(AtomicFile& file, Number number) {
    file.write(&number, sizeof(number));
  }
  // Its length counts a zero at the end.
  static void put(AtomicFile& file, const std::string& text) {
    put(file, static_cast<uint16_t>(text.size() + 1));
    file.write(text.c_str(), text.size() + 1);
  }

  void add_tables() {
    const std::string& target = names_.target_embedding;
    matrix("decoder/embeddings", {target});
    if (names_.source_embedding == target)
      aliases_["encoder/embeddings_0/weight"] = "decoder/embeddings/weight";
    else
      matrix("encoder/embeddings_0", {names_.source_embedding});
    if (names_.output.weight == target)
      aliases_["decoder/projection/weight"] = "decoder/embeddings/weight";
    else
      matrix("decoder/projection", {names_.output.weight});
    if (!names_.output.bias.empty()) vector("decoder/projection/bias", {names_.output.bias});
  }

  void add_stack(Stack which, const StackNames& from) {
    const std::string stack = which == Stack::encoder ? "encoder" : "decoder";
    variables_[stack + "/activation"] = flag(number_of(options_.activation, kCTranslate2Activations));
    variables_[stack + "/num_heads"] = short_number(options_.num_heads);
    variables_[stack + "/pre_norm"] = flag(options_.norm_position == NormPosition::pre ? 1 : 0);
    variables_[stack + "/scale_embeddings"] = flag(options_.embedding_scale ? 1 : 0);
    add(stack + "/position_encodings/encodings", position_table(model_, which));
    if (options_.norm_position == NormPosition::pre) norm(stack + "/layer_norm", from.norm);
    if (options_.embedding_norm)
      norm(stack + "/layernorm_embedding",
           which == Stack::encoder ? names_.source_embedding_norm : names_.target_embedding_norm);
    for (size_t i = 0; i < from.layers.size(); ++i) {
      const LayerNames& layer = from.layers[i];
      const std::string to = fmt::format("{}/layer_{}/", stack, i);
      const AttentionNames &self = layer.self_attention, &cross = layer.cross_attention;
      linear(to + "self_attention/linear_0", {self.query, self.key, self.value});
      linear(to + "self_attention/linear_1", {self.output});
      norm(to + "self_attention/layer_norm", self.norm);
      if (which == Stack::decoder) {
        linear(to + "attention/linear_0", {cross.query});
        linear(to + "attention/linear_1", {cross.key, cross.value});
        linear(to + "attention/linear_2", {cross.output});
        norm(to + "attention/layer_norm", cross.norm);
      }
      linear(to + "ffn/linear_0", {layer.feed_forward.inner});
      linear(to + "ffn/linear_1", {layer.feed_forward.outer});
      norm(to + "ffn/layer_norm", layer.feed_forward.norm);
    }
  }

  // The parameters in float32, one below the other.
  Array joined(const std::vector<std::string>& names) const {
    std::vector<Array> parts;
    parts.reserve(names.size());
    for (const std::string& name : names) parts.push_back(model_.weights.float32(name));
    return parts.size() == 1 ? parts.front() : Array::joined(parts);
  }
  void add(const std::string& name, const Array& numbers) {
    variables_[name] = precision_ == Precision::bfloat16 ? rounded(numbers, NumberType::bfloat16)
                       : precision_ == Precision::half   ? rounded(numbers, NumberType::float16)
                                                         : numbers;
  }
  void vector(const std::string& name, const std::vector<std::string>& from) { add(name, joined(from)); }
  void matrix(const std::string& to, const std::vector<std::string>& from) {
    if (precision_ == Precision::int8)
      add_int8(to + "/weight", joined(from));
    else
      vector(to + "/weight", from);
  }
  void linear(const std::string& to, const std::vector<LinearNames>& from) {
    std::vector<std::string> weights, biases;
    for (const LinearNames& names : from) {
      weights.push_back(names.weight);
      if (!names.bias.empty()) biases.push_back(names.bias);
    }
    matrix(to, weights);
    if (!biases.empty()) vector(to + "/bias", biases);
  }
  void norm(const std::string& to, const NormNames& from) {
    vector(to + "/gamma", {from.weight});
    vector(to + "/beta", {from.bias});
  }

  // Numbers times the row's scale are rounded, and the largest of a row becomes 127.
  void add_int8(const std::string& name, const Array& weight) {
    const int64_t rows = weight.size(0), columns = weight.size(1);
    Array numbers({rows, columns}, NumberType::int8), scales({rows});
    for (int64_t r = 0; r < rows; ++r) {
      constexpr float kMost = 127;
      const float* from = weight.floats() + r * columns;
      float largest = 0;
      for (int64_t c = 0; c < columns; ++c) largest = std::max(largest, std::abs(from[c]));
      // A tiny row's scale remains finite.
      const float scale = largest == 0 ? 1 : std::min(kMost / largest, std::numeric_limits<float>::max());
      for (int64_t c = 0; c < columns; ++c)
        numbers.int8s()[r * columns + c] = static_cast<int8_t>(std::nearbyint(from[c] * scale));
      scales.floats()[r] = scale;
    }
    variables_[name] = std::move(numbers);
    variables_[name + "_scale"] = std::move(scales);
  }

  const LoadedModel& model_;
  const TransformerOptions& options_;
  const Precision precision_;
  const WeightNames names_;
  std::map<std::string, Array> variables_;
  std::map<std::string, std::string> aliases_;
};

}  // namespace

void save_ctranslate2_folder(const LoadedModel& given, Precision precision, const std::string& folder) {
  require_expressible(
      given, "CTranslate2",
      {{"decoder_self_attention", given.options.decoder_self_attention == DecoderSelfAttention::attention}});
  const LoadedModel model = without_residual_scales(given);
  const TransformerOptions& options = model.options;
  CTranslate2Variables variables(model, precision);
  variables.add_all();
  variables.write(path_in(folder, "model.bin"));
  write_json(folder, "config.json",
             {{"add_source_bos", options.source_begin},
              {"add_source_eos", options.source_end},
              {"bos_token", "<s>"},
              {"decoder_start_token", "<s>"},
              {"eos_token", "</s>"},
              {"layer_norm_epsilon", options.norm_epsilon},
              {"multi_query_attention", false},
              {"unk_token", "<unk>"}});
  if (has_one_vocabulary(model.tokenizer)) {
    write_json(folder, "shared_vocabulary.json", pieces_by_id(model.tokenizer.source()));
  } else {
    write_json(folder, "source_vocabulary.json", pieces_by_id(model.tokenizer.source()));
    write_json(folder, "target_vocabulary.json", pieces_by_id(model.tokenizer.target()));
  }
  write_sentencepiece_models(model.tokenizer, folder);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
