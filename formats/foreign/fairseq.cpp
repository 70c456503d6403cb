// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/formats/foreign/saved_checkpoint.h>
#include <transmute/formats/foreign/stack_reader.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

// Rows of a learned table, and numbers of sinusoids, before the first position: as many as the padding's number plus 1.
constexpr int64_t kUnusedPositions = 2;

bool is_dictionary(const fs::path& path) {
  const std::string name = path.filename().string();
  return begins_with(name, "dict.") && path.extension() == ".txt";
}

// The folder of the dictionaries for checkpoints in a folder; empty if there are none.
fs::path dictionaries_for(const fs::path& folder) {
  for (const fs::path& place : {folder, folder / "data-bin"}) {
    if (!fs::is_directory(place)) continue;
    for (const auto& entry : fs::directory_iterator(place))
      if (is_dictionary(entry.path())) return place;
  }
  return {};
}

// Newer versions call the task and the architecture by the name of their record.
void name_by_record(Json& settings, const char* key) {
  if (!settings.contains(key) && settings.contains("_name")) settings[key] = settings["_name"];
  settings.erase("_name");
}

// The settings in `args`, the command line, or in `cfg`, which newer versions make of it.
Json settings_of(const Pickle& pickle) {
  Json settings = Json::object();
  add_settings(pickle, pickle.member(pickle.root(), "args"), settings);
  if (!settings.empty()) return settings;
  const PickleValue* configuration = pickle.member(pickle.root(), "cfg");
  if (configuration == nullptr) return settings;
  add_settings(pickle, pickle.member(*configuration, "task"), settings);
  name_by_record(settings, "task");
  add_settings(pickle, pickle.member(*configuration, "model"), settings);
  name_by_record(settings, "arch");
  return settings;
}

struct Checkpoint {
  Json settings;
  NamedArrays tensors;
};

Checkpoint read_fairseq(const std::string& path) {
  Checkpoint checkpoint;
  read_checkpoint(path, [&](const Pickle& pickle, PickledTensors& tensors) {
    const PickleValue* model = pickle.member(pickle.root(), "model");
    if (model == nullptr) throw PickleError("it has no \"model\", as checkpoints of fairseq do");
    checkpoint = {settings_of(pickle), tensors_of(pickle, *model, tensors)};
  });
  if (checkpoint.settings.empty())
    throw std::runtime_error(
        fmt::format("{}: has neither the \"args\" nor the \"cfg\" with which fairseq trained it", path));
  return checkpoint;
}

bool is_set(const JsonConfig& config, const std::string& key) {
  return config.has(key) && config.integer(key) != 0;
}

void refuse_other_kinds(const JsonConfig& config) {
  const std::string task = config.text("task", ""), architecture = config.text("arch", "");
  if (task != "translation") unsupported(config, fmt::format("it was trained for the task \"{}\"", task));
  if (!begins_with(architecture, "transformer"))
    unsupported(config, fmt::format("it has the architecture \"{}\"", architecture));
  for (const char* flag : {"adaptive_input", "no_cross_attention", "cross_self_attention",
                           "no_token_positional_embeddings", "merge_src_tgt_embed", "no_decoder_final_norm"})
    if (is_set(config, flag)) unsupported(config, fmt::format("it was trained with --{}", flag));
  for (const char* option : {"adaptive_softmax_cutoff", "encoder_layers_to_keep", "decoder_layers_to_keep"})
    if (config.has(option)) unsupported(config, fmt::format("it was trained with --{}", option));
  for (const auto& [of_encoder, of_decoder] : {std::pair{"encoder_attention_heads", "decoder_attention_heads"},
                                               {"encoder_normalize_before", "decoder_normalize_before"},
                                               {"encoder_learned_pos", "decoder_learned_pos"},
                                               {"encoder_ffn_embed_dim", "decoder_ffn_embed_dim"},
                                               {"encoder_embed_dim", "decoder_embed_dim"},
                                               {"decoder_embed_dim", "decoder_input_dim"},
                                               {"decoder_embed_dim", "decoder_output_dim"}})
    if (config.has(of_encoder) && config.has(of_decoder) && config.integer(of_encoder) != config.integer(of_decoder))
      unsupported(config, fmt::format("its {} and {} differ", of_encoder, of_decoder));
}

// A setting that is missing has the value of fairseq's architecture `transformer`.
TransformerOptions options_of(const JsonConfig& config) {
  refuse_other_kinds(config);
  TransformerOptions options;
  options.num_encoder_layers = config.integer("encoder_layers", 6);
  options.num_decoder_layers = config.integer("decoder_layers", 6);
  options.d_model = config.integer("encoder_embed_dim", 512);
  options.num_heads = config.integer("encoder_attention_heads", 8);
  options.d_ff = config.integer("encoder_ffn_embed_dim", 2048);
  options.activation = activation_in(config, "activation_fn", "relu",
                                     {{"relu", Activation::relu},
                                      {"gelu", Activation::gelu},
                                      {"gelu_accurate", Activation::gelu_tanh},
                                      {"gelu_fast", Activation::gelu_tanh},
                                      {"swish", Activation::swish}});
  options.attention_bias = true;
  options.embedding_scale = !is_set(config, "no_scale_embedding");
  options.embedding_norm = is_set(config, "layernorm_embedding");
  options.norm_position = is_set(config, "encoder_normalize_before") ? NormPosition::pre : NormPosition::post;
  options.norm_epsilon = 1e-5;  // torch.nn.LayerNorm's
  options.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, kUnusedPositions};
  if (is_set(config, "encoder_learned_pos")) options.positional_encoding = PositionalEncodingKind::learned;
  options.dropout = config.number("dropout", 0.1);
  options.attention_dropout = config.number("attention_dropout", 0);
  options.activation_dropout = config.number("activation_dropout", config.number("relu_dropout", 0));
  return options;
}

// Lines of a piece and its count, in the order of their numbers, which begin after those of four reserved pieces.
std::vector<std::string> read_dictionary(const std::string& path, size_t most) {
  constexpr const char* kReplaces = "#fairseq:overwrite";
  std::vector<std::string> pieces{"<s>", "<pad>", "</s>", "<unk>"};
  std::unordered_map<std::string, size_t> last_numbers;
  for (const std::string& piece : pieces) last_numbers.emplace(piece, last_numbers.size());
  std::istringstream lines(read_model_text(path));
  for (std::string line; std::getline(lines, line);) {
    const auto cut_last_field = [&] {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      const size_t space = line.rfind(' ');
      const std::string field = space == std::string::npos ? "" : line.substr(space + 1);
      line.resize(space == std::string::npos ? 0 : space);
      return field;
    };
    std::string count = cut_last_field();
    const bool replaces = count == kReplaces;
    if (replaces) count = cut_last_field();
    if (line.empty() || count.empty() || count.find_first_not_of("0123456789") != std::string::npos)
      throw std::runtime_error(
          fmt::format("{}: line {} is not a piece and its count; restore the file", path, pieces.size() - 3));
    if (pieces.size() == most) refuse_more_pieces(path, static_cast<int64_t>(most));
    const auto [known, is_new] = last_numbers.emplace(line, pieces.size());
    if (replaces && !is_new) pieces[known->second].clear();  // its number is not used any more
    known->second = pieces.size();
    pieces.push_back(line);
  }
  return pieces;
}

Renumbering dictionary_order(const std::string& path, int64_t rows) {
  Vocabulary vocabulary;
  vocabulary.pieces = read_dictionary(path, static_cast<size_t>(std::min(rows, kMostPieces)));
  check_rows_have_pieces(vocabulary.pieces, rows, path);
  vocabulary.padding = 1;
  vocabulary.end = vocabulary.start = 2;
  vocabulary.unknown = 3;
  return renumber(vocabulary, path);
}

void replace(std::string& name, const std::string& from, const std::string& to) {
  if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
}

// Gives the tensors of older versions their newer names, and takes joined projections apart.
NamedArrays with_newer_names(NamedArrays tensors) {
  NamedArrays newer;
  for (auto& [name, tensor] : tensors) {
    const bool is_decoder = begins_with(name, "decoder.");
    replace(name, ".layer_norms.0.", ".self_attn_layer_norm.");
    replace(name, ".layer_norms.1.", is_decoder ? ".encoder_attn_layer_norm." : ".final_layer_norm.");
    replace(name, ".layer_norms.2.", ".final_layer_norm.");
    if (name.find("in_proj_") != std::string::npos && tensor.dimensions() > 0 && tensor.size(0) % 3 == 0) {
      const int64_t rows = tensor.size(0) / 3;
      int64_t first = 0;
      for (const char* part : {"q_proj.", "k_proj.", "v_proj."}) {
        newer.emplace_back(name, tensor.rows(first, rows));
        replace(newer.back().first, "in_proj_", part);
        first += rows;
      }
    } else {
      newer.emplace_back(name, std::move(tensor));
    }
  }
  return newer;
}

void read_learned_positions(TensorTable& tensors, const std::string& stack, const std::string& side,
                            ForeignModel& model) {
  const Array table = tensors.take_matrix(stack + ".embed_positions.weight");
  if (model.options.max_positions < 1 || table.size(1) != model.options.d_model)
    throw std::runtime_error(fmt::format("{}: \"{}.embed_positions.weight\" has shape {}, which is not possible",
                                         tensors.path(), stack, table.shape_text()));
  model.add(side + "_positions.weight", table.rows(kUnusedPositions, model.options.max_positions));
}

constexpr const char* kSourceTable = "encoder.embed_tokens.weight";
constexpr const char* kTargetTable = "decoder.embed_tokens.weight";

// The matrix of the output, which newer versions save even where it is the target's embeddings.
std::string output_table(const JsonConfig& config, const TensorTable& tensors) {
  if (is_set(config, "share_all_embeddings") || is_set(config, "share_decoder_input_output_embed")) return kTargetTable;
  return tensors.first_of({"decoder.output_projection.weight", "decoder.embed_out"});
}

// Numbers of versions, and what sinusoids leave in a checkpoint.
bool is_no_parameter(const std::string& name) {
  for (const char* stack : {"encoder", "decoder"})
    for (const char* what : {".version", ".embed_positions._float_tensor", ".embed_positions.weights"})
      if (name == std::string(stack) + what) return true;
  return false;
}

}  // namespace

std::string find_fairseq_checkpoint(const std::string& path) {
  return find_checkpoint(path, {"checkpoint_best.pt", "model.pt"}, [](const fs::path& file) {
    return file.extension() == ".pt" && !dictionaries_for(file.parent_path()).empty() && !is_torchscript(file.string());
  });
}

LoadedModel load_fairseq_checkpoint(const std::string& path) {
  Checkpoint checkpoint = read_fairseq(path);
  const JsonConfig config(path, std::move(checkpoint.settings));
  ForeignModel model;
  model.path = path;
  model.bound_by(fs::file_size(path));
  model.options = options_of(config);
  TensorTable tensors(with_newer_names(std::move(checkpoint.tensors)), path);

  const std::string folder = fs::absolute(path).parent_path().string();
  const fs::path dictionaries = dictionaries_for(folder);
  const auto dictionary = [&](const char* key) {
    const std::string language = config.text(key, "");
    const fs::path file = dictionaries / fmt::format("dict.{}.txt", language);
    if (language.empty() || language.find('/') != std::string::npos || !fs::exists(file))
      throw std::runtime_error(
          fmt::format("{}: its {} is \"{}\", for which there is no dictionary {}", path, key, language, file.string()));
    return file.string();
  };
  const std::string output_name = output_table(config, tensors);
  const auto table = [&](const char* name, const std::string& file) {
    ForeignTable read{tensors.take_matrix(name), {}};
    if (read.weight.size(1) != model.options.d_model)
      throw std::runtime_error(fmt::format("{}: its embeddings have the shape {}, but encoder_embed_dim is {}", path,
                                           read.weight.shape_text(), model.options.d_model));
    read.renumbering = dictionary_order(file, read.weight.size(0));
    return read;
  };
  const std::string source_file = dictionary("source_lang"), target_file = dictionary("target_lang");
  const ForeignTable source = table(kSourceTable, source_file), target = table(kTargetTable, target_file);
  const Array output = tensors.take(output_name, target.weight.shape());
  model.source = subword_model_or_pieces(find_sentencepiece(folder, "source"), source.renumbering, source_file);
  model.target = subword_model_or_pieces(find_sentencepiece(folder, "target"), target.renumbering, target_file);
  model.options.embedding_tying = tying_of(source, target, output);
  model.add_tables(source, target, output, Array());

  if (model.options.positional_encoding == PositionalEncodingKind::learned)
    model.options.max_positions =
        std::min(tensors.rows_of("encoder.embed_positions.weight"), tensors.rows_of("decoder.embed_positions.weight")) -
        kUnusedPositions;
  for (const auto& [stack, side] : {std::pair<std::string, std::string>{"encoder", "source"}, {"decoder", "target"}}) {
    read_stack(tensors, fairseq_names(stack), stack, model);
    if (model.options.positional_encoding == PositionalEncodingKind::learned)
      read_learned_positions(tensors, stack, side, model);
  }
  tensors.check_all_taken([&](const std::string& name) {
    const bool is_output = name == "decoder.output_projection.weight" || name == "decoder.embed_out";
    return is_no_parameter(name) || (is_output && tensors.are_equal(name, output_name));
  });
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
