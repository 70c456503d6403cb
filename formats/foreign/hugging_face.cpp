// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/hugging_face_tokenizer.h>
#include <transmute/formats/foreign/hugging_face_weights.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/formats/foreign/stack_reader.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

constexpr int64_t kMostPositions = int64_t{1} << 24;  // as TransformerOptions allow

// Their families differ in what their files need not say.
enum class Family { marian, m2m_100, mbart };

Family family_of(const JsonConfig& config) {
  const std::string type = config.text("model_type", "");
  if (type == "marian") return Family::marian;
  if (type == "m2m_100") return Family::m2m_100;
  if (type == "mbart") return Family::mbart;
  throw std::runtime_error(
      fmt::format("{}: models of the type \"{}\" are not supported; marian, m2m_100 (also NLLB-200) and mbart are{}",
                  config.path(), type, type == "nllb-moe" ? ". NLLB-MoE has a mixture of experts" : ""));
}

void require_equal_stacks(const JsonConfig& config, const std::string& what) {
  if (config.integer("encoder_" + what) != config.integer("decoder_" + what))
    throw std::runtime_error(
        fmt::format("{}: encoder_{} and decoder_{} differ, which is not supported", config.path(), what, what));
}

TransformerOptions options_of(const JsonConfig& config, Family family) {
  TransformerOptions options;
  options.num_encoder_layers = config.integer("encoder_layers");
  options.num_decoder_layers = config.integer("decoder_layers");
  options.d_model = config.integer("d_model");
  require_equal_stacks(config, "attention_heads");
  require_equal_stacks(config, "ffn_dim");
  options.num_heads = config.integer("encoder_attention_heads");
  options.d_ff = config.integer("encoder_ffn_dim");
  options.max_positions = config.integer("max_position_embeddings");
  if (options.max_positions < 1 || options.max_positions > kMostPositions)
    throw std::runtime_error(fmt::format("{}: \"max_position_embeddings\" is {}, which is not possible", config.path(),
                                         options.max_positions));
  options.activation = activation_in(config, "activation_function", family == Family::m2m_100 ? "relu" : "gelu",
                                     {{"relu", Activation::relu},
                                      {"swish", Activation::swish},
                                      {"silu", Activation::swish},
                                      {"gelu", Activation::gelu},
                                      {"gelu_new", Activation::gelu_tanh},
                                      {"gelu_fast", Activation::gelu_tanh},
                                      {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                      {"quick_gelu", Activation::gelu_sigmoid}});
  options.attention_bias = true;
  options.embedding_scale = config.boolean("scale_embedding", family == Family::m2m_100);
  options.dropout = config.number("dropout", 0.1);
  options.attention_dropout = config.number("attention_dropout", family == Family::m2m_100 ? 0.1 : 0);
  options.activation_dropout = config.number("activation_dropout", 0);
  options.norm_epsilon = 1e-5;  // torch.nn.LayerNorm's
  options.norm_position = family == Family::marian ? NormPosition::post : NormPosition::pre;
  options.embedding_norm = family == Family::mbart;
  if (family == Family::mbart) options.positional_encoding = PositionalEncodingKind::learned;
  const int64_t padding = config.integer("pad_token_id");
  options.sinusoids = family == Family::marian
                          ? Sinusoids{PositionLayout::halves, PositionFrequencies::paper, 0}
                          : Sinusoids{PositionLayout::halves, PositionFrequencies::tensor2tensor, padding + 1};
  // Such a token would have the padding's position, and those after it the position before theirs.
  for (const char* key : {"eos_token_id", "decoder_start_token_id"})
    if (family == Family::m2m_100 && config.has(key) && config.integer(key) == padding)
      throw std::runtime_error(
          fmt::format("{}: pad_token_id and {} are both {}, which is not supported", config.path(), key, padding));
  return options;
}

// The settings with which the model's makers search, as far as they say so: in a file of its own, or, as older models,
// in config.json.
SearchOptions read_search(const std::string& folder) {
  SearchOptions search;
  const std::string own = path_in(folder, "generation_config.json");
  const JsonConfig config(std::filesystem::exists(own) ? own : path_in(folder, "config.json"));
  const auto checked = [&](const char* key, auto value, const auto& bounds) {
    return within(bounds, static_cast<double>(value), config.path() + ": " + key, fmt::format("{}", value));
  };
  if (config.has("num_beams")) {
    search.beam_size = checked("num_beams", config.integer("num_beams"), SearchBounds::kBeamSize);
    search.length_penalty = LengthPenalty::power;
    // Negative ones, for shorter translations still, have no counterpart here; without any, log P prefers short ones.
    search.length_alpha =
        checked("length_penalty", std::max(config.number("length_penalty", 1), 0.0), SearchBounds::kLengthAlpha);
  }
  search.no_repeat_ngram =
      checked("no_repeat_ngram_size", config.integer("no_repeat_ngram_size", 0), SearchBounds::kNoRepeatNgram);
  search.repetition_penalty =
      checked("repetition_penalty", config.number("repetition_penalty", 1), SearchBounds::kRepetitionPenalty);
  return search;
}

constexpr const char* kSharedTable = "model.shared.weight";
constexpr const char* kEncoderTable = "model.encoder.embed_tokens.weight";
constexpr const char* kDecoderTable = "model.decoder.embed_tokens.weight";
constexpr const char* kOutputTable = "lm_head.weight";
constexpr const char* kOutputBias = "final_logits_bias";

// Before memory is taken for as many pieces.
void check_vocabulary_sizes(const JsonConfig& config, const TensorTable& tensors) {
  int64_t most = 0;
  const std::vector<std::string> tables = {kSharedTable, kEncoderTable, kDecoderTable, kOutputTable};
  for (const std::string& name : tables) most = std::max(most, tensors.rows_of(name));
  if (most == 0) tensors.first_of(tables);  // says that there is none
  for (const char* key : {"vocab_size", "decoder_vocab_size"})
    if (config.has(key) && config.integer(key) > most)
      throw std::runtime_error(fmt::format("{}: \"{}\" is {}, but the weights have embeddings of {} pieces",
                                           config.path(), key, config.integer(key), most));
}

// Names of the matrices that embed sources and targets and that give the output.
struct TableNames {
  std::string source, target, output;
};

// A table that the file has under its own name is that one, as Transformers 5 reads it even where the configuration
// says that it is tied to another. Of tied tables the file needs to have only one, under any of their names.
TableNames find_tables(const JsonConfig& config, const TensorTable& tensors, bool separate) {
  using Names = std::vector<std::string>;
  const bool tied = config.boolean("tie_word_embeddings", true);
  const auto first = [&](const Names& names) { return tensors.first_of(names); };
  if (separate)
    return {first({kEncoderTable, kSharedTable}),
            first(tied ? Names{kDecoderTable, kOutputTable} : Names{kDecoderTable}),
            first(tied ? Names{kOutputTable, kDecoderTable} : Names{kOutputTable})};
  if (!tied)
    return {first({kEncoderTable, kSharedTable, kDecoderTable}), first({kDecoderTable, kSharedTable, kEncoderTable}),
            first({kOutputTable})};
  return {first({kEncoderTable, kSharedTable, kOutputTable, kDecoderTable}),
          first({kDecoderTable, kSharedTable, kOutputTable, kEncoderTable}),
          first({kOutputTable, kSharedTable, kDecoderTable, kEncoderTable})};
}

// Older versions of Transformers saved what they computed, such as tables of sinusoids, and versions of their layers.
bool is_no_weight(const std::string& name) {
  return name.find(".embed_positions.") != std::string::npos || name == "model.encoder.version" ||
         name == "model.decoder.version";
}

uint64_t bytes_of_files(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

}  // namespace

bool is_hugging_face_folder(const std::string& folder) {
  const std::string path = path_in(folder, "config.json");
  if (!std::filesystem::exists(path) || !JsonConfig(path).has("model_type")) return false;
  // A conversion by CTranslate2 may have a copy of the original's configuration.
  return has_hugging_face_weights(folder) || find_ctranslate2_folder(folder).empty();
}

LoadedModel load_hugging_face_folder(const std::string& folder, const ParallelFor& parallel_for) {
  const JsonConfig config(path_in(folder, "config.json"));
  const Family family = family_of(config);
  ForeignModel model;
  model.path = folder;
  model.bound_by(bytes_of_files(folder));
  model.options = options_of(config, family);
  model.search = read_search(folder);

  TensorTable tensors(read_hugging_face_weights(folder, parallel_for), folder);
  check_vocabulary_sizes(config, tensors);
  const bool separate = !config.boolean("share_encoder_decoder_embeddings", true);
  VocabularyPair vocabularies = family == Family::marian ? read_marian_vocabularies(folder, config, separate)
                                                         : read_multilingual_vocabularies(folder, config);
  model.source = vocabularies.source_model;
  model.target = vocabularies.target_model;

  const TableNames names = find_tables(config, tensors, separate);
  const bool tied_output = tensors.are_equal(names.target, names.output);
  const bool tied_sources = tied_output && !separate && tensors.are_equal(names.source, names.target);
  model.options.embedding_tying = tied_sources  ? EmbeddingTying::all
                                  : tied_output ? EmbeddingTying::target_output
                                                : EmbeddingTying::none;
  const auto table = [&](const std::string& name, int64_t rows) {
    return tensors.take(name, {rows, model.options.d_model});
  };
  const Array target = table(names.target, vocabularies.target_size);
  const Array source = tied_sources ? target : table(names.source, vocabularies.source_size);
  const Array output = tied_output ? target : table(names.output, vocabularies.target_size);
  const int64_t pieces = vocabularies.target_size;
  const Array bias = tensors.has(kOutputBias) ? tensors.take(kOutputBias, {1, pieces}).reshaped({pieces}) : Array();
  model.add_tables({source, std::move(vocabularies.source)}, {target, std::move(vocabularies.target)}, output, bias);

  for (const auto& [stack, side] : {std::pair<std::string, std::string>{"encoder", "source"}, {"decoder", "target"}}) {
    read_stack(tensors, fairseq_names("model." + stack), stack, model);
    if (model.options.positional_encoding != PositionalEncodingKind::learned) continue;
    constexpr int64_t kUnusedRows = 2;  // the first ones, which no text uses
    const int64_t positions = model.options.max_positions;
    const Array all_rows =
        tensors.take("model." + stack + ".embed_positions.weight", {positions + kUnusedRows, model.options.d_model});
    model.add(side + "_positions.weight", all_rows.rows(kUnusedRows, positions));
  }
  const std::set<std::string> tables = {kSharedTable, kEncoderTable, kDecoderTable, kOutputTable};
  tensors.check_all_taken([&](const std::string& name) { return tables.count(name) > 0 || is_no_weight(name); });
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
