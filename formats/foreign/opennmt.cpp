// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/formats/foreign/saved_checkpoint.h>
#include <transmute/formats/foreign/stack_reader.h>

#include <filesystem>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

struct Checkpoint {
  Json settings = Json::object();
  NamedArrays tensors;  // those of the generator begin with "generator."
  std::vector<std::string> source, target;
};

const PickleValue& item(const Pickle& pickle, const PickleValue& list, size_t place) {
  if (list.kind != PickleKind::sequence || place >= list.values.size())
    throw PickleError("its vocabularies are not as OpenNMT-py saves them");
  return pickle[list.values[place]];
}

// The pieces of a side: a list, or, before version 3, the field of torchtext that has one.
std::vector<std::string> pieces_of(const Pickle& pickle, const PickleValue& vocabularies, const char* side) {
  const PickleValue* list = pickle.member(vocabularies, side);
  if (list != nullptr && list->kind == PickleKind::object) {
    const PickleValue* fields = pickle.member(*list, "fields");
    if (fields == nullptr || fields->values.size() != 1)
      throw PickleError(fmt::format("its {} has other fields than the text (source features)", side));
    list = pickle.member(item(pickle, item(pickle, *fields, 0), 1), "vocab");
    if (list != nullptr) list = pickle.member(*list, "itos");
  }
  if (list == nullptr || list->kind != PickleKind::sequence)
    throw PickleError(fmt::format("it has no vocabulary \"{}\" as OpenNMT-py saves it", side));
  std::vector<std::string> pieces;
  for (size_t i = 0; i < list->values.size(); ++i) pieces.push_back(item(pickle, *list, i).text);
  return pieces;
}

Checkpoint read_opennmt(const std::string& path) {
  Checkpoint checkpoint;
  read_checkpoint(path, [&](const Pickle& pickle, PickledTensors& tensors) {
    const auto part = [&](const char* name) -> const PickleValue& {
      const PickleValue* value = pickle.member(pickle.root(), name);
      if (value == nullptr)
        throw PickleError(
            fmt::format("it has no \"{}\", as checkpoints of OpenNMT-py do; one of fairseq needs its "
                        "dict.LANGUAGE.txt beside it",
                        name));
      return *value;
    };
    add_settings(pickle, &part("opt"), checkpoint.settings);
    const PickleValue& vocabularies = part("vocab");
    checkpoint.source = pieces_of(pickle, vocabularies, "src");
    checkpoint.target = pieces_of(pickle, vocabularies, "tgt");
    if (pickle.member(vocabularies, "src_feats") != nullptr) throw PickleError("it has source features");
    if (const PickleValue* start = pickle.member(vocabularies, "decoder_start_token"); start != nullptr)
      checkpoint.settings["decoder_start_token"] = start->text;
    checkpoint.tensors = tensors_of(pickle, part("model"), tensors);
    for (auto& [name, tensor] : tensors_of(pickle, part("generator"), tensors))
      checkpoint.tensors.emplace_back("generator." + name, std::move(tensor));
  });
  return checkpoint;
}

void refuse_other_kinds(const JsonConfig& config) {
  for (const auto& [key, wanted] : {std::pair{"model_task", "seq2seq"},
                                    {"model_type", "text"},
                                    {"encoder_type", "transformer"},
                                    {"decoder_type", "transformer"},
                                    {"generator_function", "softmax"},
                                    {"layer_norm", "standard"}})
    if (const std::string value = config.text(key, wanted); value != wanted)
      unsupported(config, fmt::format("its {} is \"{}\"", key, value));
  if (const std::string kind = config.text("self_attn_type", "scaled-dot"); !begins_with(kind, "scaled-dot"))
    unsupported(config, fmt::format("its self_attn_type is \"{}\"", kind));
  for (const char* key : {"max_relative_positions", "relative_positions_buckets", "parallel_residual", "multiquery",
                          "num_experts", "sliding_window", "copy_attn"})
    if (config.number(key, 0) != 0) unsupported(config, fmt::format("it was trained with {}", key));
  if (const int64_t heads = config.integer("num_kv", 0); heads != 0 && heads != config.integer("heads", 8))
    unsupported(config, "it was trained with num_kv");
  if (config.integer("position_encoding", 0) == 0) unsupported(config, "it has no position_encoding");
}

Sinusoids sinusoids_of(const JsonConfig& config) {
  const std::string kind = config.text("position_encoding_type", "SinusoidalInterleaved");
  if (kind == "SinusoidalConcat") return {PositionLayout::halves, PositionFrequencies::tensor2tensor, 0};
  if (kind != "SinusoidalInterleaved") unsupported(config, fmt::format("its position_encoding_type is \"{}\"", kind));
  return {};
}

TransformerOptions options_of(const JsonConfig& config, int64_t d_model, const TensorTable& tensors) {
  refuse_other_kinds(config);
  TransformerOptions options;
  options.num_encoder_layers = config.integer("enc_layers");
  options.num_decoder_layers = config.integer("dec_layers");
  options.d_model = d_model;
  options.num_heads = config.integer("heads", 8);
  options.d_ff = config.integer("transformer_ff", 2048);
  options.activation =
      activation_in(config, "pos_ffn_activation_fn", "relu", {{"relu", Activation::relu}, {"gelu", Activation::gelu}});
  options.attention_bias = tensors.has("encoder.transformer.0.self_attn.linear_query.bias");
  options.norm_position = NormPosition::pre;
  options.norm_epsilon = config.number("norm_eps", 1e-6);
  options.sinusoids = sinusoids_of(config);
  options.source_end = false;
  return options;
}

Renumbering order_of(std::vector<std::string> pieces, const std::string& start, const std::string& name, int64_t rows) {
  check_rows_have_pieces(pieces, rows, name);
  Vocabulary vocabulary;
  vocabulary.pieces = std::move(pieces);
  vocabulary.padding = find_piece(vocabulary.pieces, "<blank>");
  vocabulary.unknown = find_piece(vocabulary.pieces, "<unk>");
  vocabulary.start = find_piece(vocabulary.pieces, start);
  vocabulary.end = find_piece(vocabulary.pieces, "</s>");
  return renumber(vocabulary, name);
}

// The SentencePiece model that the settings name, beside the checkpoint, or one by its usual name.
std::shared_ptr<const SubwordModel> tokenizer_of(const JsonConfig& config, const std::string& side, const char* key,
                                                 const Renumbering& order) {
  const fs::path folder = fs::absolute(config.path()).parent_path();
  const fs::path named = folder / fs::path(config.text(key, "")).filename();
  const std::string sentencepiece =
      named.extension() == ".model" && fs::exists(named) ? named.string() : find_sentencepiece(folder.string(), side);
  return subword_model_or_pieces(sentencepiece, order, config.path());
}

ForeignStackNames names_of(const std::string& stack, const TensorTable& tensors) {
  const bool is_decoder = stack == "decoder";
  ForeignStackNames names;
  names.layers = stack + (is_decoder ? ".transformer_layers" : ".transformer");
  names.self_attention = "self_attn";
  names.self_attention_norm = is_decoder ? "layer_norm_1" : "layer_norm";
  names.cross_attention = "context_attn";
  names.cross_attention_norm = "layer_norm_2";
  names.query = "linear_query";
  names.key = "linear_keys";
  names.value = "linear_values";
  names.output = "final_linear";
  names.inner = "feed_forward.w_1";
  names.outer = "feed_forward.w_2";
  names.feed_forward_norm = "feed_forward.layer_norm";
  names.has_feed_forward_bias = tensors.has("encoder.transformer.0.feed_forward.w_1.bias");
  names.norm = stack + ".layer_norm";
  return names;
}

}  // namespace

std::string find_opennmt_checkpoint(const std::string& path) {
  return find_checkpoint(path, {}, [](const fs::path& file) {
    return file.extension() == ".pt" && is_saved(file.string()) && !is_torchscript(file.string());
  });
}

LoadedModel load_opennmt_checkpoint(const std::string& path) {
  Checkpoint checkpoint = read_opennmt(path);
  const JsonConfig config(path, std::move(checkpoint.settings));
  TensorTable tensors(checkpoint.tensors, path);
  const auto table = [&](const char* stack, const char* side, std::vector<std::string> pieces) {
    ForeignTable read{tensors.take_matrix(fmt::format("{}.embeddings.make_embedding.emb_luts.0.weight", stack)), {}};
    read.renumbering = order_of(std::move(pieces), config.text("decoder_start_token", "<s>"),
                                fmt::format("{}: vocabulary \"{}\"", path, side), read.weight.size(0));
    return read;
  };
  const ForeignTable source = table("encoder", "src", std::move(checkpoint.source)),
                     target = table("decoder", "tgt", std::move(checkpoint.target));
  ForeignModel model;
  model.path = path;
  model.bound_by(fs::file_size(path));
  model.options = options_of(config, source.weight.size(1), tensors);
  model.source = tokenizer_of(config, "source", "src_subword_model", source.renumbering);
  model.target = tokenizer_of(config, "target", "tgt_subword_model", target.renumbering);
  const std::string generator = tensors.has("generator.0.weight") ? "generator.0" : "generator";  // before version 3
  const Array output = tensors.take(generator + ".weight", {target.weight.size(0), model.options.d_model}),
              bias = tensors.take(generator + ".bias", {target.weight.size(0)});
  model.options.embedding_tying = tying_of(source, target, output);
  model.add_tables(source, target, output, bias);
  for (const char* stack : {"encoder", "decoder"}) read_stack(tensors, names_of(stack, tensors), stack, model);
  tensors.check_all_taken([](const std::string& name) { return ends_in(name, ".make_embedding.pe.pe"); });
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
