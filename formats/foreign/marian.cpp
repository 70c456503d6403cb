// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/parsed_number.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/formats/foreign/marian_shortlist.h>
#include <transmute/formats/foreign/network_builder.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

// Operations around a layer have one letter each: n normalizes, a adds the input. That of d is for training.
std::string without_dropout(std::string operations) {
  operations.erase(std::remove(operations.begin(), operations.end(), 'd'), operations.end());
  return operations;
}

// The options of a model.
class Settings {
 public:
  Settings(const MarianFile& file, const std::string& path) : values_(file.settings), path_(path) {}

  std::string text(const std::string& key, const std::string& otherwise = "") const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  int64_t integer(const std::string& key) const {
    constexpr uint32_t kMost = 1'000'000'000;
    const auto value = parsed_number<uint32_t>(text(key));
    if (!value || *value >= kMost)
      throw std::runtime_error(fmt::format("{}: its option {} is \"{}\", not a number", path_, key, text(key)));
    return *value;
  }
  bool is_on(const std::string& key) const { return text(key) == "true"; }

  // Marian writes v1.12.0 and more; models that were converted may have no version.
  std::optional<std::array<int, 3>> version() const {
    std::array<int, 3> numbers{};
    const int found = std::sscanf(text("version").c_str(), "v%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]);
    return found == 3 ? std::optional(numbers) : std::nullopt;
  }

  void require_operations(const std::string& key, const std::string& wanted) const {
    if (without_dropout(text(key)) != without_dropout(wanted)) require(key, wanted);
  }

  void require(const std::string& key, const std::string& wanted, const std::string& otherwise = "") const {
    if (const std::string value = text(key, otherwise); value != wanted)
      throw std::runtime_error(
          fmt::format("{}: its option {} is \"{}\"; only \"{}\" is supported", path_, key, value, wanted));
  }

 private:
  const std::map<std::string, std::string>& values_;
  const std::string& path_;
};

Activation activation_of(const Settings& settings, const std::string& path) {
  const std::string name = settings.text("transformer-ffn-activation", "swish");
  if (name == "relu") return Activation::relu;
  if (name == "swish") return Activation::swish;
  // Marian's was that approximation before.
  if (name == "gelu") return settings.version() >= std::array{1, 12, 3} ? Activation::gelu : Activation::gelu_sigmoid;
  throw std::runtime_error(
      fmt::format("{}: its option transformer-ffn-activation is \"{}\"; relu, swish and gelu are "
                  "supported",
                  path, name));
}

// Options that change the network in ways that are not supported, with the values at which they do not.
constexpr std::pair<const char*, const char*> kPlainOptions[] = {
    {"transformer-attention-mask", "default"},
    {"transformer-no-projection", "false"},
    {"transformer-no-bias", "false"},
    {"transformer-no-affine", "false"},
    {"transformer-pool", "false"},
    {"transformer-train-position-embeddings", "false"},
    {"transformer-train-positions", "false"},  // its name in the versions that read it
    {"transformer-disable-position-embeddings", "false"},
    {"transformer-tied-layers", ""},
    {"transformer-rnn-projection", "false"},
    {"transformer-ffn-depth", "2"},
    {"lemma-dim-emb", "0"},
    {"lemma-dependency", ""},
    {"right-left", "false"},
    {"ulr", "false"},
};

void refuse_other_kinds(const Settings& settings, const std::string& path) {
  settings.require("type", "transformer");
  for (const auto& [key, plain] : kPlainOptions) settings.require(key, plain, plain);
  for (const auto& [decoder, both] : {std::pair{"transformer-decoder-dim-ffn", "transformer-dim-ffn"},
                                      {"transformer-decoder-ffn-depth", "transformer-ffn-depth"}})
    if (settings.text(decoder, "0") != "0") settings.require(decoder, settings.text(both));
  // Input that a training had beside the text leaves the network as it is.
  if (!begins_with(settings.text("input-types"), "sequence, sequence")) settings.require("input-types", "", "");
  if (without_dropout(settings.text("transformer-preprocess")).empty()) {
    settings.require_operations("transformer-postprocess", "dan");
    settings.require_operations("transformer-postprocess-top", "");
  } else {
    settings.require_operations("transformer-preprocess", "n");
    settings.require_operations("transformer-postprocess", "da");
    settings.require_operations("transformer-postprocess-top", "n");
    if (settings.version() && settings.version() < std::array{1, 11, 0})
      throw std::runtime_error(
          fmt::format("{}: is of Marian {}, which did not normalize the keys and values of self-attention where "
                      "transformer-preprocess is \"n\"; only such models of version 1.11 and later are supported",
                      path, settings.text("version")));
  }
  if (without_dropout(settings.text("transformer-postprocess-emb")) != "n")
    settings.require_operations("transformer-postprocess-emb", "d");
}

DecoderSelfAttention decoder_self_attention_of(const Settings& settings, const std::string& path) {
  const std::string kind = settings.text("transformer-decoder-autoreg", "self-attention");
  if (kind == "self-attention") return DecoderSelfAttention::attention;
  if (kind != "rnn")
    throw std::runtime_error(
        fmt::format("{}: its option transformer-decoder-autoreg is \"{}\"; self-attention, and rnn with dec-cell "
                    "ssru, are supported",
                    path, kind));
  settings.require("dec-cell", "ssru");
  settings.require("layer-normalization", "false", "false");
  return DecoderSelfAttention::ssru;
}

TransformerOptions options_of(const Settings& settings, const std::string& path) {
  refuse_other_kinds(settings, path);
  TransformerOptions options;
  options.num_encoder_layers = settings.integer("enc-depth");
  options.num_decoder_layers = settings.integer("dec-depth");
  options.d_model = settings.integer("dim-emb");
  options.num_heads = settings.integer("transformer-heads");
  options.d_ff = settings.integer("transformer-dim-ffn");
  options.activation = activation_of(settings, path);
  options.decoder_self_attention = decoder_self_attention_of(settings, path);
  if (options.decoder_self_attention == DecoderSelfAttention::ssru) options.dropout = 0;  // as students are trained
  options.attention_bias = true;
  options.norm_position =
      without_dropout(settings.text("transformer-preprocess")).empty() ? NormPosition::post : NormPosition::pre;
  options.embedding_norm = settings.text("transformer-postprocess-emb").find('n') != std::string::npos;
  options.norm_epsilon = 1e-6;  // of its layerNorm
  options.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 0};
  options.embedding_tying = settings.is_on("tied-embeddings-all") ? EmbeddingTying::all
                            : settings.is_on("tied-embeddings")   ? EmbeddingTying::target_output
                                                                  : EmbeddingTying::none;
  return options;
}

// Matrices of float32 are [inputs,outputs], those of int8 [outputs,inputs], and vectors have a dimension of 1 in front.
class MarianStacks {
 public:
  MarianStacks(const MarianFile& file, TensorTable& tensors, ForeignModel& model)
      : scales_(file.int8_scales), tensors_(tensors), model_(model) {}

  void read(const std::string& stack, int64_t layers) {
    const bool is_decoder = stack == "decoder";
    for (int64_t i = 0; i < layers; ++i) {
      const std::string from = fmt::format("{}_l{}", stack, i + 1), to = fmt::format("{}.layers.{}.", stack, i);
      const TransformerOptions& o = model_.options;
      if (is_decoder && o.decoder_self_attention == DecoderSelfAttention::ssru)
        ssru(from + "_rnn", to);
      else
        attention(from + "_self", to + "self_attention");
      if (is_decoder) attention(from + "_context", to + "cross_attention");
      linear(from + "_ffn_W1", from + "_ffn_b1", to + "feed_forward.inner", o.d_model, o.d_ff);
      linear(from + "_ffn_W2", from + "_ffn_b2", to + "feed_forward.outer", o.d_ff, o.d_model);
      norm(from + "_ffn_ffn", to + "feed_forward_norm");
    }
    const std::string side = is_decoder ? "target" : "source";
    if (model_.options.norm_position == NormPosition::pre) norm(stack + "_top", stack + ".norm");
    if (model_.options.embedding_norm) norm(stack + "_emb", side + "_embedding_norm");
  }

 private:
  void attention(const std::string& from, const std::string& to) {
    const int64_t d = model_.options.d_model;
    for (const auto& [letter, name] : {std::pair{"q", "query"}, {"k", "key"}, {"v", "value"}, {"o", "output"}})
      linear(from + "_W" + letter, from + "_b" + letter, to + "." + name, d, d);
    norm(from + "_Wo", to + "_norm");
  }
  void ssru(const std::string& from, const std::string& to) {
    const int64_t d = model_.options.d_model;
    matrix(from + "_W", to + "ssru.input.weight", d, d);
    linear(from + "_Wf", from + "_bf", to + "ssru.forget", d, d);
    norm(from + "_ffn", to + "self_attention_norm");
  }
  void linear(const std::string& weight, const std::string& bias, const std::string& to, int64_t inputs,
              int64_t outputs) {
    matrix(weight, to + ".weight", inputs, outputs);
    model_.add(to + ".bias", tensors_.take(bias, {1, outputs}).reshaped({outputs}));
  }
  void matrix(const std::string& from, const std::string& to, int64_t inputs, int64_t outputs) {
    if (const auto scale = scales_.find(from); scale != scales_.end())
      model_.add_int8(to, tensors_.take_int8(from, {outputs, inputs}), scale->second);
    else
      model_.add(to, tensors_.take(from, {inputs, outputs}).transposed());
  }
  void norm(const std::string& from, const std::string& to) {
    const int64_t d = model_.options.d_model;
    for (const auto& [theirs, ours] : {std::pair{"_ln_scale", ".weight"}, {"_ln_bias", ".bias"}}) {
      const std::string before = from + theirs + "_pre";  // where the norm comes first
      model_.add(to + ours, tensors_.take(tensors_.has(before) ? before : from + theirs, {1, d}).reshaped({d}));
    }
  }

  const std::unordered_map<std::string, float>& scales_;
  TensorTable& tensors_;
  ForeignModel& model_;
};

ForeignTable take_embeddings(const MarianFile& file, TensorTable& tensors, const std::string& name, int64_t d_model) {
  const auto scale = file.int8_scales.find(name);
  if (scale == file.int8_scales.end()) return {tensors.take_matrix(name), {}};
  return {tensors.take_int8(name, {tensors.rows_of(name), d_model}), {}, scale->second};
}

// Undefined if the model has none of its own.
struct OutputLayer {
  Array weight;  // [V,D]
  Array bias;    // [V]
};

OutputLayer take_output(TensorTable& tensors, const TransformerOptions& options, int64_t rows, bool omits_bias) {
  OutputLayer output;
  if (!omits_bias) output.bias = tensors.take("decoder_ff_logit_out_b", {1, rows}).reshaped({rows});
  if (options.embedding_tying != EmbeddingTying::none) return output;
  // Marian transposes it since version 1.8.
  output.weight = tensors.has("decoder_ff_logit_out_W")
                      ? tensors.take("decoder_ff_logit_out_W", {options.d_model, rows}).transposed()
                      : tensors.take("decoder_ff_logit_out_Wt", {rows, options.d_model});
  return output;
}

bool is_sentencepiece(const std::string& path) {
  return fs::path(path).extension() == ".spm";
}

Renumbering read_order(const std::string& path, int64_t rows) {
  if (rows > kMostPieces)
    throw std::runtime_error(fmt::format("{}: the model has {} pieces, more than any vocabulary", path, rows));
  Vocabulary vocabulary;
  vocabulary.pieces = is_sentencepiece(path) ? pieces_of(read_model_text(path), path)
                                             : read_marian_vocabulary(path, static_cast<size_t>(rows));
  // --dim-vocabs leaves out the last ones of a list.
  check_rows_have_pieces(vocabulary.pieces, rows, path);
  check_numbers_are_complete(vocabulary.pieces, path);
  for (const std::string& piece : vocabulary.pieces)
    if (is_language_tag(piece)) vocabulary.control.insert(piece);
  vocabulary.end = required_piece(vocabulary.pieces, "</s>", path);
  vocabulary.unknown = find_piece(vocabulary.pieces, "<unk>");
  return renumber(vocabulary, path);
}

// A SentencePiece model may have pieces of this form as well: texts have "@@" in them.
void refuse_subword_nmt(const Renumbering& order, const std::string& path) {
  for (const std::string& piece : order.table.pieces)
    if (ends_in(piece, "@@"))
      throw std::runtime_error(
          fmt::format("{}: has pieces of subword-nmt (\"{}\"); only SentencePiece is supported", path, piece));
}

std::shared_ptr<const SubwordModel> marian_tokenizer(const std::string& vocabulary, const std::string& side,
                                                     const Renumbering& order) {
  if (is_sentencepiece(vocabulary)) return make_subword_model(vocabulary, order);
  const std::string beside = find_sentencepiece(fs::path(vocabulary).parent_path().string(), side);
  if (beside.empty()) refuse_subword_nmt(order, vocabulary);
  return subword_model_or_pieces(beside, order, vocabulary);
}

}  // namespace

LoadedModel load_marian_model(const std::string& path) {
  const MarianFile file = read_marian_file(path);
  const Settings settings(file, path);
  ForeignModel model;
  model.path = path;
  model.options = options_of(settings, path);
  TensorTable tensors(file.tensors, path);
  const auto embeddings = [&](const char* side) {
    return take_embeddings(file, tensors, tensors.first_of({side, "Wemb"}), model.options.d_model);
  };
  ForeignTable source = embeddings("encoder_Wemb"), target = embeddings("decoder_Wemb");
  const MarianNeighbors beside = find_marian_neighbors(path, !file.int8_scales.empty());
  model.search = beside.search;
  source.renumbering = read_order(beside.source_vocabulary, source.weight.size(0));
  target.renumbering = read_order(beside.target_vocabulary, target.weight.size(0));
  model.source = marian_tokenizer(beside.source_vocabulary, "source", source.renumbering);
  model.target = marian_tokenizer(beside.target_vocabulary, "target", target.renumbering);
  const OutputLayer output =
      take_output(tensors, model.options, target.weight.size(0), settings.is_on("output-omit-bias"));
  model.add_tables(source, target, output.weight, output.bias);
  MarianStacks reader(file, tensors, model);
  reader.read("encoder", model.options.num_encoder_layers);
  reader.read("decoder", model.options.num_decoder_layers);
  // Ranges of activations, which a model that was prepared for products in 8 bits has beside its weights.
  tensors.check_all_taken([](const std::string& name) { return ends_in(name, "_QuantMultA"); });
  LoadedModel loaded = make_loaded_model(model);
  if (!beside.shortlist.empty())
    loaded.shortlist = read_marian_shortlist(beside.shortlist, source.renumbering, target.renumbering,
                                             beside.source_vocabulary == beside.target_vocabulary);
  return loaded;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
