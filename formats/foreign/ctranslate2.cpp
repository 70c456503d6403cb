// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/formats/foreign/ctranslate2_file.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/formats/foreign/stack_reader.h>
#include <transmute/network/sinusoids.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void unsupported(const CTranslate2File& file, const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}, which is not supported", file.path(), what));
}

// A setting that both stacks share; before revision 5 it was written once for both.
double setting(const CTranslate2File& file, const std::string& name, double otherwise) {
  if (const auto both = file.number(name)) return *both;
  const double of_encoder = file.number("encoder/" + name).value_or(otherwise);
  if (of_encoder != file.number("decoder/" + name).value_or(otherwise))
    unsupported(file, fmt::format("encoder and decoder differ in {}", name));
  return of_encoder;
}

int64_t heads_of(const CTranslate2File& file) {
  constexpr double kMostHeads = 1 << 20;
  const double heads = setting(file, "num_heads", file.specification() == "TransformerBig" ? 16 : 8);
  if (!(heads >= 1 && heads <= kMostHeads) || heads != std::floor(heads))
    unsupported(file, fmt::format("it has {} attention heads", heads));
  return static_cast<int64_t>(heads);
}

// config.json says it since version 6 of model.bin.
double norm_epsilon_of(const std::string& folder) {
  constexpr double kDefault = 1e-5;
  const std::string path = path_in(folder, "config.json");
  if (!fs::exists(path)) return kDefault;
  const double epsilon = JsonConfig(path).number("layer_norm_epsilon", kDefault);
  if (!(epsilon > 0 && epsilon <= NetworkBounds::kNormEpsilon.high))
    throw std::runtime_error(fmt::format("{}: \"layer_norm_epsilon\" is {}; it must be more than 0 and at most {}",
                                         path, epsilon, NetworkBounds::kNormEpsilon.high));
  return epsilon;
}

Activation activation_of(const CTranslate2File& file) {
  const double number = setting(file, "activation", 0);
  if (number < 0 || number >= std::size(kCTranslate2Activations) || number != std::floor(number))
    unsupported(file, fmt::format("its activation function has the number {}", number));
  return kCTranslate2Activations[static_cast<size_t>(number)];
}

void refuse_other_kinds(const CTranslate2File& file) {
  const std::string& kind = file.specification();
  if (kind != "TransformerSpec" && kind != "TransformerBase" && kind != "TransformerBig" && !kind.empty())
    unsupported(file, fmt::format("the model is a {}, not a TransformerSpec", kind));
  const std::string attention = "encoder/layer_0/self_attention/";
  for (const auto& [variable, feature] :
       {std::pair<std::string, const char*>{attention + "relative_position_keys", "relative positions"},
        {attention + "relative_attention_bias", "a relative attention bias"},
        {attention + "rotary_dim", "rotary positions"},
        {attention + "q_norm/gamma", "norms of queries and keys"},
        {"encoder/layer_0/ffn/linear_0_noact/weight", "gated feed-forward networks"},
        {"encoder/embeddings_1/weight", "source factors"},
        {"decoder/scale_outputs", "scaled outputs"}})
    if (file.has(variable)) unsupported(file, fmt::format("it has {}", feature));
  if (file.number("decoder/alibi").value_or(0) != 0) unsupported(file, "it has ALiBi positions");
}

int64_t count_layers(const CTranslate2File& file, const std::string& stack) {
  int64_t layers = 0;
  while (file.has(fmt::format("{}/layer_{}/ffn/linear_0/weight", stack, layers))) ++layers;
  if (layers == 0) throw std::runtime_error(fmt::format("{}: its {} has no layers", file.path(), stack));
  return layers;
}

// Takes what is to be the same parameter for the whole network under our names.
class CTranslate2Stacks {
 public:
  CTranslate2Stacks(CTranslate2File& file, ForeignModel& model) : file_(file), model_(model), options_(model.options) {}

  void read_stack(const std::string& stack, int64_t layers) {
    const bool is_decoder = stack == "decoder";
    for (int64_t i = 0; i < layers; ++i) {
      const std::string from = fmt::format("{}/layer_{}/", stack, i), to = fmt::format("{}.layers.{}.", stack, i);
      linear(from + "self_attention/linear_0", to + "self_attention.", {"query", "key", "value"});
      linear(from + "self_attention/linear_1", to + "self_attention.", {"output"});
      norm(from + "self_attention/layer_norm", to + "self_attention_norm");
      if (is_decoder) {
        linear(from + "attention/linear_0", to + "cross_attention.", {"query"});
        linear(from + "attention/linear_1", to + "cross_attention.", {"key", "value"});
        linear(from + "attention/linear_2", to + "cross_attention.", {"output"});
        norm(from + "attention/layer_norm", to + "cross_attention_norm");
      }
      linear(from + "ffn/linear_0", to + "feed_forward.", {"inner"});
      linear(from + "ffn/linear_1", to + "feed_forward.", {"outer"});
      norm(from + "ffn/layer_norm", to + "feed_forward_norm");
    }
    const std::string side = is_decoder ? "target" : "source";
    if (options_.norm_position == NormPosition::pre) norm(stack + "/layer_norm", stack + ".norm");
    if (options_.embedding_norm) norm(stack + "/layernorm_embedding", side + "_embedding_norm");
    if (options_.positional_encoding == PositionalEncodingKind::learned)
      model_.add(side + "_positions.weight", file_.take(stack + "/position_encodings/encodings"));
  }

 private:
  // A matrix that concatenates the rows of several of ours.
  void linear(const std::string& from, const std::string& to, const std::vector<std::string>& names) {
    const Array weight = file_.take(from + "/weight");
    const auto parts = static_cast<int64_t>(names.size());
    if (weight.dimensions() != 2 || weight.size(0) % parts != 0)
      throw std::runtime_error(
          fmt::format("{}: '{}/weight' has the shape {}", file_.path(), from, weight.shape_text()));
    const Array bias = file_.has(from + "/bias") ? file_.take(from + "/bias") : Array::zeros({weight.size(0)});
    if (bias.dimensions() != 1 || bias.size(0) != weight.size(0))
      throw std::runtime_error(fmt::format("{}: '{}/bias' does not fit its weight", file_.path(), from));
    const int64_t rows = weight.size(0) / parts;
    for (int64_t part = 0; part < parts; ++part) {
      const std::string name = to + names[static_cast<size_t>(part)];
      model_.add(name + ".weight", weight.rows(part * rows, rows));
      model_.add(name + ".bias", bias.rows(part * rows, rows));
    }
  }
  void norm(const std::string& from, const std::string& to) {
    model_.add(to + ".weight", file_.take(from + "/gamma"));
    model_.add(to + ".bias", file_.take(from + "/beta"));
  }

  CTranslate2File& file_;
  ForeignModel& model_;
  const TransformerOptions& options_;
};

// The tables of positions that there are, of either stack.
std::vector<Array> position_tables(CTranslate2File& file, int64_t d_model) {
  std::vector<Array> tables;
  for (const char* name : {"encoder/position_encodings/encodings", "decoder/position_encodings/encodings"}) {
    if (!file.has(name)) continue;
    tables.push_back(file.take(name));
    if (tables.back().dimensions() != 2 || tables.back().size(1) != d_model)
      throw std::runtime_error(fmt::format("{}: '{}' has the shape {}", file.path(), name, tables.back().shape_text()));
  }
  return tables;
}

// Finds the sinusoids in the tables of positions; tables that have none of them were learned.
void find_positions(CTranslate2File& file, TransformerOptions& options) {
  constexpr int64_t kComparedRows = 64;
  options.sinusoids = {PositionLayout::halves, PositionFrequencies::tensor2tensor, 1};
  const std::vector<Array> tables = position_tables(file, options.d_model);
  if (tables.empty()) return;
  options.max_positions = tables.front().size(0);
  for (const PositionLayout layout : {PositionLayout::halves, PositionLayout::interleaved})
    for (const PositionFrequencies frequencies : {PositionFrequencies::paper, PositionFrequencies::tensor2tensor})
      for (const int64_t first : {0, 1, 2}) {
        if (options.d_model < 4 || options.d_model % 2 != 0) break;
        const Sinusoids sinusoids{layout, frequencies, first};
        const std::vector<float> expected = sinusoids_at(0, kComparedRows, options.d_model, sinusoids);
        const auto fits = [&](const Array& table) {
          const Array compared = table.rows(0, std::min(table.size(0), kComparedRows));
          return std::equal(compared.floats(), compared.floats() + compared.count(), expected.begin(),
                            [](float one, float other) { return std::abs(one - other) <= 2e-3F; });
        };
        if (!std::all_of(tables.begin(), tables.end(), fits)) continue;
        options.sinusoids = sinusoids;
        return;
      }
  options.positional_encoding = PositionalEncodingKind::learned;
}

// A flag says whether it is sqrt(d_model); another number is the scale itself.
double scale_of(const CTranslate2File& file, const std::string& stack, int64_t d_model) {
  const double root = std::sqrt(static_cast<double>(d_model));
  for (const std::string& name : {stack + "/scale_embeddings", stack + "/embeddings/multiply_by_sqrt_depth"})
    if (const auto value = file.number(name)) return !file.is_flag(name) ? *value : *value != 0 ? root : 1;
  return root;
}

std::vector<std::string> pieces_of_list(const std::string& path, size_t most) {
  const Json json = read_json(path);
  if (!json.is_array()) throw std::runtime_error(fmt::format("{}: damaged (no JSON list); restore the file", path));
  if (json.size() > most) refuse_more_pieces(path, static_cast<int64_t>(most));
  std::vector<std::string> pieces;
  for (const auto& piece : json) {
    if (!piece.is_string())
      throw std::runtime_error(fmt::format("{}: piece {} is no text; restore the file", path, pieces.size()));
    pieces.push_back(piece.get<std::string>());
  }
  return pieces;
}

std::vector<std::string> pieces_of_text(const std::string& path, size_t most) {
  std::vector<std::string> pieces;
  std::istringstream lines(read_model_text(path));
  for (std::string line; std::getline(lines, line);) {
    if (pieces.size() == most) refuse_more_pieces(path, static_cast<int64_t>(most));
    pieces.push_back(line);
  }
  // Windows ends lines so; a single piece may be a carriage return.
  const auto ends_in_return = [](const std::string& line) { return !line.empty() && line.back() == '\r'; };
  if (std::all_of(pieces.begin(), pieces.end(), ends_in_return))
    for (std::string& piece : pieces) piece.pop_back();
  return pieces;
}

// The file of a side, and its pieces: one a line, or a JSON list of them.
std::pair<std::string, std::vector<std::string>> read_pieces(const std::string& folder, const std::string& side,
                                                             size_t most) {
  for (const std::string& name : {side + "_vocabulary", std::string("shared_vocabulary")}) {
    const std::string json_path = path_in(folder, name + ".json"), text_path = path_in(folder, name + ".txt");
    if (fs::exists(json_path)) return {json_path, pieces_of_list(json_path, most)};
    if (fs::exists(text_path)) return {text_path, pieces_of_text(text_path, most)};
  }
  throw std::runtime_error(
      fmt::format("{}: has neither {}_vocabulary nor shared_vocabulary as .json or .txt", folder, side));
}

// The folder of the package that a model's folder is in, where it is in one.
fs::path package_of(const std::string& folder) {
  return (fs::absolute(folder) / "").lexically_normal().parent_path().parent_path();
}

// Beside the model or, in a package of Argos Translate, beside the model's folder; empty if there is none.
std::string sentencepiece_of(const std::string& folder, const std::string& side) {
  if (const std::string beside = find_sentencepiece(folder, side); !beside.empty()) return beside;
  const fs::path package = package_of(folder);
  if (!fs::exists(package / "metadata.json")) return "";
  if (fs::exists(package / "sentencepiece.model")) return (package / "sentencepiece.model").string();
  if (fs::exists(package / "bpe.model"))
    throw std::runtime_error(fmt::format(
        "{}: the package splits text with subword-nmt (bpe.model), which is not supported; only SentencePiece is",
        package.string()));
  return "";
}

// Argos Translate begins every translation with this piece and cuts it off afterwards.
void refuse_target_prefix(const std::string& folder) {
  const fs::path path = package_of(folder) / "metadata.json";
  if (!fs::exists(path)) return;
  const Json package = read_json(path.string());
  if (package.is_object() && package.contains("target_prefix") && package["target_prefix"].is_string() &&
      package["target_prefix"] != "")
    throw std::runtime_error(
        fmt::format("{}: the package begins its translations with \"{}\" (target_prefix), which is not supported",
                    path.string(), package["target_prefix"].get<std::string>()));
}

// The meaning of its tokens to a model: in config.json, and before version 6 of model.bin among the variables.
struct TokenSettings {
  std::string unknown = "<unk>", end = "</s>";
  std::string begin = "<s>";  // of sources, where they have one
  std::string start = "<s>";  // of the decoder
  bool source_begin = false, source_end = false;
  bool starts_from_zeros = false;
  bool names_start = false;  // or `start` is a guess
};

TokenSettings token_settings(const std::string& folder, const CTranslate2File& file) {
  constexpr int64_t kFirstVersionWithConfig = 6;
  const auto is_set = [&](const char* flag, double otherwise) { return file.number(flag).value_or(otherwise) != 0; };
  TokenSettings settings;
  if (file.version() >= kFirstVersionWithConfig) {
    const JsonConfig config(path_in(folder, "config.json"));
    settings.unknown = config.text("unk_token", settings.unknown);
    settings.end = config.text("eos_token", settings.end);
    if (config.json().contains("decoder_start_token") && !config.has("decoder_start_token"))
      unsupported(file, "its decoder starts with a token that the user names, as mBART-25's do (decoder_start_token)");
    settings.start = config.text("decoder_start_token", settings.end);
    settings.names_start = true;
    settings.source_begin = config.boolean("add_source_bos", false);
    settings.begin = config.text("bos_token", settings.begin);
    settings.source_end = config.boolean("add_source_eos", false);
  } else {
    settings.source_begin = is_set("with_source_bos", 0);
    settings.source_end = is_set("with_source_eos", 0);
    if (!is_set("with_target_bos", 1) || is_set("user_decoder_start_tokens", 0)) settings.start = settings.end;
  }
  settings.starts_from_zeros = is_set("decoder/start_from_zero_embedding", 0);
  // Conversions from Hugging Face do not say it, because there the end is among the tokens that users pass on; the
  // decoders of those models start with it.
  settings.source_end = settings.source_end || settings.start == settings.end;
  return settings;
}

// Its letters as 'a' and 'A': "__aaa__" of "__ast__".
std::string form_of(const std::string& piece) {
  std::string form = piece;
  for (char& c : form) c = c >= 'a' && c <= 'z' ? 'a' : c >= 'A' && c <= 'Z' ? 'A' : c;
  return form;
}

// >>deu<< of OPUS-MT, __de__ and __ast__ of M2M-100, deu_Latn of NLLB, de_DE of mBART. A vocabulary with the languages
// of one of the last three has English among them; in any other, __url__ and en_US are pieces of text.
std::set<std::string> languages_among(const std::vector<std::string>& pieces) {
  std::set<std::string> forms, languages;
  for (const auto& [form, english] :
       {std::pair{"__aa__", "__en__"}, {"__aaa__", "__en__"}, {"aaa_Aaaa", "eng_Latn"}, {"aa_AA", "en_XX"}})
    if (std::find(pieces.begin(), pieces.end(), english) != pieces.end()) forms.insert(form);
  for (const std::string& piece : pieces)
    if (is_language_tag(piece) || forms.count(form_of(piece)) > 0) languages.insert(piece);
  return languages;
}

Renumbering read_side(const std::string& folder, const std::string& side, const TokenSettings& settings, int64_t rows) {
  Vocabulary vocabulary;
  std::string path;
  std::tie(path, vocabulary.pieces) = read_pieces(folder, side, static_cast<size_t>(std::min(rows, kMostPieces)));
  std::vector<std::string>& pieces = vocabulary.pieces;
  // CTranslate2 puts it after the others where a file does not have it.
  if (find_piece(pieces, settings.unknown) == kNoPiece) pieces.push_back(settings.unknown);
  check_rows_have_pieces(pieces, rows, path);
  vocabulary.control = languages_among(pieces);
  vocabulary.unknown = find_piece(pieces, settings.unknown);
  vocabulary.start = settings.starts_from_zeros ? kNoPiece : find_piece(pieces, settings.start);
  if (side == "source" && settings.source_begin) vocabulary.start = required_piece(pieces, settings.begin, path);
  vocabulary.padding = find_piece(pieces, "<pad>");
  if (vocabulary.padding == kNoPiece) vocabulary.padding = find_piece(pieces, "<blank>");
  vocabulary.end = required_piece(pieces, settings.end, path);
  if (side == "target" && (settings.names_start || !settings.starts_from_zeros))
    required_piece(pieces, settings.start, path);
  return renumber(vocabulary, path);
}

std::shared_ptr<const SubwordModel> ctranslate2_tokenizer(const std::string& folder, const std::string& side,
                                                          const Renumbering& renumbering) {
  return subword_model_or_pieces(sentencepiece_of(folder, side), renumbering, folder);
}

Array matrix_of(CTranslate2File& file, const std::string& name) {
  Array matrix = file.take(name);
  if (matrix.dimensions() != 2 || matrix.count() == 0)
    throw std::runtime_error(
        fmt::format("{}: '{}' has the shape {}, but should be a matrix", file.path(), name, matrix.shape_text()));
  return matrix;
}

TransformerOptions options_of(CTranslate2File& file, const std::string& folder, const TokenSettings& tokens,
                              int64_t d_model) {
  TransformerOptions options;
  options.d_model = d_model;
  options.num_encoder_layers = count_layers(file, "encoder");
  options.num_decoder_layers = count_layers(file, "decoder");
  options.num_heads = heads_of(file);
  options.d_ff = matrix_of(file, "encoder/layer_0/ffn/linear_0/weight").size(0);
  options.activation = activation_of(file);
  options.attention_bias = true;
  options.source_begin = tokens.source_begin;
  options.source_end = tokens.source_end;
  options.norm_position = setting(file, "pre_norm", 1) != 0 ? NormPosition::pre : NormPosition::post;
  options.embedding_norm = file.has("encoder/layernorm_embedding/gamma");
  options.norm_epsilon = norm_epsilon_of(folder);
  if (options.norm_position == NormPosition::pre && !file.has("encoder/layer_norm/gamma"))
    unsupported(file, "it has pre-norm layers without a norm behind the last");
  find_positions(file, options);

  // Ours is one scale for both sides: sqrt(d_model) or 1.
  const double scale = scale_of(file, "encoder", options.d_model);
  const double root = std::sqrt(static_cast<double>(options.d_model));
  if (scale != scale_of(file, "decoder", options.d_model) ||
      (std::abs(scale - 1) > 1e-6 && std::abs(scale / root - 1) > 1e-6))
    unsupported(file, "it scales embeddings by other numbers than 1 and sqrt(d_model)");
  options.embedding_scale = std::abs(scale - 1) > 1e-6;
  return options;
}

}  // namespace

std::string find_ctranslate2_folder(const std::string& path) {
  for (const std::string& folder : {path, path_in(path, "model")})
    if (const std::string file = path_in(folder, "model.bin"); fs::exists(file) && !is_marian_binary(file))
      return folder;
  return "";
}

LoadedModel load_ctranslate2_folder(const std::string& folder) {
  CTranslate2File file(path_in(folder, "model.bin"));
  refuse_other_kinds(file);
  refuse_target_prefix(folder);
  const TokenSettings settings = token_settings(folder, file);
  const std::string source_name =
      file.has("encoder/embeddings_0/weight") ? "encoder/embeddings_0/weight" : "encoder/embeddings/weight";
  ForeignTable source{matrix_of(file, source_name), {}}, target{matrix_of(file, "decoder/embeddings/weight"), {}};
  const Array output = matrix_of(file, "decoder/projection/weight");
  source.renumbering = read_side(folder, "source", settings, source.weight.size(0));
  target.renumbering = read_side(folder, "target", settings, target.weight.size(0));
  if (output.shape() != target.weight.shape())
    throw std::runtime_error(fmt::format("{}: 'decoder/projection/weight' has the shape {}, but the embeddings {}",
                                         file.path(), output.shape_text(), target.weight.shape_text()));

  ForeignModel model;
  model.path = file.path();
  model.bound_by(fs::file_size(file.path()));
  model.source = ctranslate2_tokenizer(folder, "source", source.renumbering);
  model.target = ctranslate2_tokenizer(folder, "target", target.renumbering);

  model.options = options_of(file, folder, settings, source.weight.size(1));
  model.options.embedding_tying = tying_of(source, target, output);
  const Array bias = file.has("decoder/projection/bias") ? file.take("decoder/projection/bias") : Array();
  if (bias.defined() && (bias.dimensions() != 1 || bias.size(0) != output.size(0)))
    throw std::runtime_error(fmt::format("{}: 'decoder/projection/bias' has the shape {}, but there are {} pieces",
                                         file.path(), bias.shape_text(), output.size(0)));
  model.add_tables(source, target, output, bias);
  CTranslate2Stacks stacks(file, model);
  stacks.read_stack("encoder", model.options.num_encoder_layers);
  stacks.read_stack("decoder", model.options.num_decoder_layers);
  refuse_leftovers(file.path(), file.left());
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
