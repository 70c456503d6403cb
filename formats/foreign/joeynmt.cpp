// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/readers.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/config_schema.h>
#include <transmute/common/files.h>
#include <transmute/common/yaml.h>
#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/network_builder.h>
#include <transmute/formats/foreign/saved_checkpoint.h>
#include <transmute/formats/foreign/stack_reader.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.yaml";

// A single value of YAML as PyYAML takes it.
Json value_of(const YAML::Node& node) {
  int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  if (node.IsNull()) return nullptr;
  if (node.Tag() == "!") return node.Scalar();  // in quotes
  if (YAML::convert<int64_t>::decode(node, integer)) return integer;
  if (YAML::convert<double>::decode(node, number)) return number;
  if (YAML::convert<bool>::decode(node, boolean)) return boolean;
  return node.Scalar();
}

// The sections of a config.yaml.
class JoeyConfig {
 public:
  explicit JoeyConfig(const std::string& path) : path_(path) {
    try {
      root_ = parse_yaml(read_regular_file(path, kMaxConfigBytes), path);
    } catch (const std::invalid_argument& error) {
      throw std::runtime_error(error.what());
    }
    if (!root_.IsMap() || !root_["model"].IsMap())
      throw std::runtime_error(path + ": has no section \"model\", as configurations of JoeyNMT do; restore the file");
  }

  const std::string& path() const { return path_; }

  /// The single values of a section such as data.src; none if there is no such section.
  JsonConfig section(const std::string& name) const {
    auto values = Json::object();
    if (const YAML::Node node = find(name); node.IsMap())
      for (const auto& entry : node)
        if (entry.first.IsScalar() && (entry.second.IsScalar() || entry.second.IsNull()))
          values[entry.first.Scalar()] = value_of(entry.second);
    return {fmt::format("{}: {}", path_, name), std::move(values)};
  }
  /// True if there is a list or section that is not empty.
  bool has_items(const std::string& name) const { return find(name).size() > 0; }

 private:
  YAML::Node find(const std::string& name) const {
    YAML::Node node;
    node.reset(root_);
    std::istringstream keys(name);
    for (std::string key; std::getline(keys, key, '.');) {
      const YAML::Node& section = node;
      if (!section.IsMap() || !section[key]) return YAML::Node(YAML::NodeType::Null);
      node.reset(section[key]);
    }
    return node;
  }

  std::string path_;
  YAML::Node root_;
};

void require_equal(const JsonConfig& encoder, const JsonConfig& decoder, const char* key) {
  const auto value = [&](const JsonConfig& config) { return config.has(key) ? config.json().at(key).dump() : "null"; };
  if (value(encoder) != value(decoder)) unsupported(decoder, fmt::format("its {} is not the encoder's", key));
}

// Versions before 2.0 know pre-norm layers alone and do not name them.
NormPosition norm_position_of(const JsonConfig& encoder, const JsonConfig& decoder, bool has_deep_init,
                              const TensorTable& tensors) {
  const bool has_last_norm = tensors.has("encoder.layer_norm.weight");
  const std::string position = encoder.text("layer_norm", has_last_norm ? "pre" : "");
  if (position != decoder.text("layer_norm", has_last_norm ? "pre" : "post"))
    unsupported(decoder, "its layer_norm is not the encoder's (\"pre\" without a last norm if nothing is said)");
  if (position != "pre" && position != "post") unsupported(encoder, fmt::format("its layer_norm is \"{}\"", position));
  for (const JsonConfig* stack : {&encoder, &decoder})
    if (stack->number("alpha", 1) != 1 && !has_deep_init) unsupported(*stack, "its alpha is not 1");
  if (!has_deep_init) return position == "pre" ? NormPosition::pre : NormPosition::post;
  if (position == "pre") unsupported(encoder, "it has pre-norm layers with the initializer xavier_normal (DeepNet)");
  return NormPosition::deep;
}

TransformerOptions options_of(const JoeyConfig& config, const TensorTable& tensors) {
  const JsonConfig model = config.section("model"), encoder = config.section("model.encoder"),
                   decoder = config.section("model.decoder");
  for (const JsonConfig* stack : {&encoder, &decoder})
    if (stack->text("type", "recurrent") != "transformer") unsupported(*stack, "it is no transformer");
  for (const char* key : {"num_heads", "hidden_size", "ff_size", "activation"}) require_equal(encoder, decoder, key);
  const JsonConfig source = config.section("model.encoder.embeddings"),
                   target = config.section("model.decoder.embeddings");
  if (!model.boolean("tied_embeddings", false)) require_equal(source, target, "scale");
  TransformerOptions options;
  options.num_encoder_layers = encoder.integer("num_layers");
  options.num_decoder_layers = decoder.integer("num_layers");
  options.d_model = encoder.integer("hidden_size");
  options.num_heads = encoder.integer("num_heads");
  options.d_ff = encoder.integer("ff_size");
  options.activation =
      activation_in(encoder, "activation", "relu",
                    {{"relu", Activation::relu}, {"gelu", Activation::gelu}, {"swish", Activation::swish}});
  options.attention_bias = true;
  options.embedding_scale = source.boolean("scale", false);
  options.norm_position = norm_position_of(encoder, decoder, model.text("initializer", "") == "xavier_normal", tensors);
  options.dropout = options.attention_dropout = options.activation_dropout = encoder.number("dropout", 0);
  return options;
}

SearchOptions search_of(const JoeyConfig& config) {
  const JsonConfig testing = config.section("testing");
  SearchOptions search;
  const auto checked = [&](const char* key, double otherwise, const auto& bounds) {
    const double value = testing.number(key, otherwise);
    return within(bounds, value, testing.path() + ": " + key, fmt::format("{}", value));
  };
  search.beam_size = checked("beam_size", 1, SearchBounds::kBeamSize);
  // -1 stands for none.
  const char* alpha = testing.has("alpha") ? "alpha" : "beam_alpha";
  search.length_alpha = testing.number(alpha, -1) < 0 ? 0 : checked(alpha, 0, SearchBounds::kLengthAlpha);
  if (testing.number("no_repeat_ngram_size", -1) > 0)
    search.no_repeat_ngram = checked("no_repeat_ngram_size", 0, SearchBounds::kNoRepeatNgram);
  return search;
}

// The file of a config's path beside it: the path is one of the machine that trained.
std::string beside(const JoeyConfig& config, const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  const std::string file = (fs::path(config.path()).parent_path() / name).string();
  return !name.empty() && fs::is_regular_file(file) ? file : "";
}

std::string vocabulary_file(const JoeyConfig& config, const char* side) {
  std::string file = beside(config, fmt::format("{}_vocab.txt", side));
  if (file.empty()) file = beside(config, config.section(fmt::format("data.{}", side)).text("voc_file", ""));
  if (file.empty())
    throw std::runtime_error(fmt::format("{}: there is no {}_vocab.txt beside it, nor the file that its voc_file names",
                                         config.path(), side));
  return file;
}

// The reserved pieces, then those of the file, each at its first place.
Renumbering read_vocabulary(const JoeyConfig& config, const std::string& path, int64_t rows) {
  const JsonConfig symbols = config.section("data.special_symbols");
  if (symbols.has("sep_token") || config.has_items("data.special_symbols.lang_tags"))
    unsupported(symbols, "it is a model with prompts or tags of languages (sep_token, lang_tags)");
  Vocabulary vocabulary;
  std::set<std::string> known;
  const auto add = [&](const std::string& piece) {
    if (!known.insert(piece).second) return;
    if (static_cast<int64_t>(vocabulary.pieces.size()) == std::min(rows, kMostPieces)) refuse_more_pieces(path, rows);
    vocabulary.pieces.push_back(piece);
  };
  const std::string names[] = {symbols.text("unk_token", "<unk>"), symbols.text("pad_token", "<pad>"),
                               symbols.text("bos_token", "<s>"), symbols.text("eos_token", "</s>")};
  for (const std::string& name : names) add(name);
  std::istringstream lines(read_model_text(path));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) throw std::runtime_error(path + ": has an empty line; restore the file");
    add(line);
  }
  check_rows_have_pieces(vocabulary.pieces, rows, path);
  const std::pair<const char*, int64_t*> numbers[] = {{"unk_id", &vocabulary.unknown},
                                                      {"pad_id", &vocabulary.padding},
                                                      {"bos_id", &vocabulary.start},
                                                      {"eos_id", &vocabulary.end}};
  for (int64_t i = 0; i < 4; ++i) {
    *numbers[i].second = symbols.integer(numbers[i].first, i);
    if (*numbers[i].second != i)
      unsupported(symbols, fmt::format("its {} is {}, but JoeyNMT gives {} to {}", numbers[i].first, *numbers[i].second,
                                       i, names[i]));
  }
  Renumbering order = renumber(vocabulary, path);
  order.table.limits_splitting = true;
  return order;
}

// JoeyNMT can change a text before it splits it into pieces, and a translation after it has joined them.
void refuse_preparation(const JsonConfig& side, const JsonConfig& tokenizer) {
  std::string what;
  for (const char* key : {"lowercase", "normalize"})
    if (side.boolean(key, false)) what = key;
  if (tokenizer.text("pretokenizer", "none") != "none") what = "tokenizer_cfg.pretokenizer";
  if (!what.empty())
    throw std::runtime_error(fmt::format(
        "{}: {} prepares texts in a way that transmute does not have; prepare them outside of it, and take the key out",
        side.path(), what));
}

std::shared_ptr<const SubwordModel> tokenizer_of(const JoeyConfig& config, const std::string& side,
                                                 const std::string& vocabulary, const Renumbering& order) {
  const std::string name = "data." + std::string(side == "source" ? "src" : "trg");
  // Versions before 2.0 have the settings of both sides in the section above.
  const JsonConfig settings = config.section(config.has_items(name) ? name : "data"),
                   tokenizer = config.section(name + ".tokenizer_cfg");
  refuse_preparation(settings, tokenizer);
  const std::string level = settings.text("level", "word");
  if (level != "word" && level != "bpe") unsupported(settings, fmt::format("its level is \"{}\"", level));
  std::string sentencepiece;
  if (level == "bpe" &&
      settings.text("tokenizer_type", settings.text("bpe_type", "sentencepiece")) == "sentencepiece") {
    sentencepiece = beside(config, tokenizer.text("model_file", ""));
    if (sentencepiece.empty()) sentencepiece = find_sentencepiece(fs::path(config.path()).parent_path().string(), side);
  }
  return subword_model_or_pieces(sentencepiece, order, vocabulary);
}

NamedArrays read_tensors(const std::string& path) {
  NamedArrays arrays;
  read_checkpoint(path, [&](const Pickle& pickle, PickledTensors& tensors) {
    const PickleValue* model = pickle.member(pickle.root(), "model_state");
    if (model == nullptr) throw PickleError("it has no \"model_state\", as checkpoints of JoeyNMT do");
    arrays = tensors_of(pickle, *model, tensors);
  });
  return arrays;
}

ForeignStackNames names_of(const std::string& stack) {
  const bool is_decoder = stack == "decoder";
  ForeignStackNames names;
  names.layers = stack + ".layers";
  names.self_attention = is_decoder ? "trg_trg_att" : "src_src_att";
  names.self_attention_norm = is_decoder ? "x_layer_norm" : "layer_norm";
  names.cross_attention = "src_trg_att";
  names.cross_attention_norm = "dec_layer_norm";
  names.query = "q_layer";
  names.key = "k_layer";
  names.value = "v_layer";
  names.output = "output_layer";
  names.inner = "feed_forward.pwff_layer.0";
  names.outer = "feed_forward.pwff_layer.3";
  names.feed_forward_norm = "feed_forward.layer_norm";
  names.norm = stack + ".layer_norm";
  return names;
}

}  // namespace

std::string find_joeynmt_checkpoint(const std::string& path) {
  return find_checkpoint(path, {"best.ckpt"}, [](const fs::path& file) {
    return file.extension() == ".ckpt" && fs::exists(file.parent_path() / kConfig);
  });
}

LoadedModel load_joeynmt_checkpoint(const std::string& path) {
  const JoeyConfig config((fs::absolute(path).parent_path() / kConfig).string());
  TensorTable tensors(read_tensors(path), path);
  ForeignModel model;
  model.path = path;
  model.bound_by(fs::file_size(path));
  model.options = options_of(config, tensors);
  model.search = search_of(config);

  const std::string source_file = vocabulary_file(config, "src"), target_file = vocabulary_file(config, "trg");
  const auto table = [&](const char* name, const std::string& file) {
    ForeignTable read{tensors.take_matrix(name), {}};
    if (read.weight.size(1) != model.options.d_model)
      throw std::runtime_error(fmt::format("{}: \"{}\" has the shape {}, but hidden_size is {}", path, name,
                                           read.weight.shape_text(), model.options.d_model));
    read.renumbering = read_vocabulary(config, file, read.weight.size(0));
    return read;
  };
  const ForeignTable source = table("src_embed.lut.weight", source_file),
                     target = table("trg_embed.lut.weight", target_file);
  const Array output = tensors.take("decoder.output_layer.weight", target.weight.shape());
  model.source = tokenizer_of(config, "source", source_file, source.renumbering);
  model.target = tokenizer_of(config, "target", target_file, target.renumbering);
  model.options.embedding_tying = tying_of(source, target, output);
  model.add_tables(source, target, output, Array());
  for (const char* stack : {"encoder", "decoder"}) read_stack(tensors, names_of(stack), stack, model);
  tensors.check_all_taken(
      [](const std::string& name) { return name == "encoder.pe.pe" || name == "decoder.pe.pe"; });  // sinusoids
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
