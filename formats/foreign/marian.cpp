// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/marian.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/zip_archive.h>
#include <transmute/formats/foreign/marian_files.h>
#include <transmute/formats/foreign/network_builder.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
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
    const std::string value = text(key);
    if (value.empty() || value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos)
      throw std::runtime_error(fmt::format("{}: its option {} is \"{}\", not a number", path_, key, value));
    return std::stoll(value);
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
    {"transformer-decoder-autoreg", "self-attention"},
    {"transformer-attention-mask", "default"},
    {"transformer-no-projection", "false"},
    {"transformer-no-bias", "false"},
    {"transformer-no-affine", "false"},
    {"transformer-pool", "false"},
    {"transformer-train-position-embeddings", "false"},
    {"transformer-train-positions", "false"},  // its name in the versions that read it
    {"transformer-disable-position-embeddings", "false"},
    {"transformer-tied-layers", ""},
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
  // What training read beside the text leaves the network as it is.
  if (settings.text("input-types").rfind("sequence, sequence", 0) != 0) settings.require("input-types", "", "");
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

TransformerOptions options_of(const Settings& settings, const std::string& path) {
  refuse_other_kinds(settings, path);
  TransformerOptions options;
  options.num_encoder_layers = settings.integer("enc-depth");
  options.num_decoder_layers = settings.integer("dec-depth");
  options.d_model = settings.integer("dim-emb");
  options.num_heads = settings.integer("transformer-heads");
  options.d_ff = settings.integer("transformer-dim-ffn");
  options.activation = activation_of(settings, path);
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

// Matrices are [inputs,outputs] in Marian, and vectors have a dimension of 1 in front.
class MarianStacks {
 public:
  MarianStacks(TensorTable& tensors, ForeignModel& model) : tensors_(tensors), model_(model) {}

  void read(const std::string& stack, int64_t layers) {
    const bool is_decoder = stack == "decoder";
    for (int64_t i = 0; i < layers; ++i) {
      const std::string from = fmt::format("{}_l{}", stack, i + 1), to = fmt::format("{}.layers.{}.", stack, i);
      attention(from + "_self", to + "self_attention");
      if (is_decoder) attention(from + "_context", to + "cross_attention");
      const TransformerOptions& o = model_.options;
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
  void linear(const std::string& weight, const std::string& bias, const std::string& to, int64_t inputs,
              int64_t outputs) {
    model_.add(to + ".weight", tensors_.take(weight, {inputs, outputs}).transposed());
    model_.add(to + ".bias", tensors_.take(bias, {1, outputs}).reshaped({outputs}));
  }
  void norm(const std::string& from, const std::string& to) {
    const int64_t d = model_.options.d_model;
    for (const auto& [theirs, ours] : {std::pair{"_ln_scale", ".weight"}, {"_ln_bias", ".bias"}}) {
      const std::string before = from + theirs + "_pre";  // where the norm stands in front
      model_.add(to + ours, tensors_.take(tensors_.has(before) ? before : from + theirs, {1, d}).reshaped({d}));
    }
  }

  TensorTable& tensors_;
  ForeignModel& model_;
};

// Undefined where the model has none of its own.
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

// Files of both sides beside a model.
struct Vocabularies {
  std::string source, target;
};

// Where a model's settings for translating may be: the file that training writes, and that of a published folder.
std::array<std::string, 2> decoder_files(const std::string& npz) {
  return {npz + ".decoder.yml", path_in(fs::path(npz).parent_path().string(), "decoder.yml")};
}

// A file as a decoder.yml names it: by its path from there, or from where Marian was trained.
std::string named_file(const std::string& folder, const std::string& name) {
  const std::string beside = path_in(folder, fs::path(name).filename().string());
  return fs::exists(path_in(folder, name)) || !fs::exists(beside) ? path_in(folder, name) : beside;
}

// What a decoder.yml lists; nothing where it does not exist.
std::vector<std::string> listed_files(const std::string& decoder, std::vector<std::string> MarianDecoder::*list) {
  std::vector<std::string> files;
  if (!fs::exists(decoder)) return files;
  const std::string folder = fs::path(decoder).parent_path().string();
  const MarianDecoder content = read_marian_decoder(decoder);
  for (const std::string& name : content.*list) files.push_back(named_file(folder, name));
  return files;
}

std::vector<std::string> files_that_end_in(const std::string& folder, const std::string& end) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
    if (ends_in(entry.path().filename().string(), end)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Vocabularies find_vocabularies(const std::string& npz) {
  const std::string folder = fs::path(npz).parent_path().string();
  std::vector<std::string> files;
  for (const std::string& decoder : decoder_files(npz))
    if (files.empty()) files = listed_files(decoder, &MarianDecoder::vocabs);
  for (const char* name : {"vocab.spm", "vocab.yml"})
    if (files.empty() && fs::exists(path_in(folder, name))) files.push_back(path_in(folder, name));
  for (const char* end : {".vocab.yml", ".spm"})
    if (const auto found = files_that_end_in(folder, end); files.empty() && found.size() == 1) files = found;
  if (files.empty() || files.size() > 2)
    throw std::runtime_error(
        fmt::format("{}: its vocabularies are not known; a decoder.yml beside it should list them under vocabs", npz));
  return {files.front(), files.back()};
}

bool is_sentencepiece(const std::string& path) {
  return fs::path(path).extension() == ".spm";
}

// A number of a decoder.yml, or true or false; NaN for anything else.
double number_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? value : std::numeric_limits<double>::quiet_NaN();
}

// What the model's makers search with, as far as they say so.
SearchOptions read_search(const std::string& npz) {
  SearchOptions search;
  const auto files = decoder_files(npz);
  const auto path = std::find_if(files.begin(), files.end(), [](const auto& file) { return fs::exists(file); });
  if (path == files.end()) return search;
  const MarianDecoder decoder = read_marian_decoder(*path);
  const std::string &beam_size = decoder.beam_size, &normalize = decoder.normalize;
  if (!beam_size.empty())
    search.beam_size = within(SearchBounds::kBeamSize, number_of(beam_size), *path + ": beam-size", beam_size);
  if (normalize.empty()) return search;
  search.length_penalty = LengthPenalty::power;
  search.length_alpha = within(SearchBounds::kLengthAlpha, number_of(normalize), *path + ": normalize", normalize);
  return search;
}

Renumbering read_order(const std::string& path, int64_t rows) {
  if (rows > kMostPieces)
    throw std::runtime_error(fmt::format("{}: the model has {} pieces, more than any vocabulary", path, rows));
  Vocabulary vocabulary;
  vocabulary.pieces = is_sentencepiece(path) ? pieces_of(read_model_text(path), path)
                                             : read_marian_vocabulary(path, static_cast<size_t>(rows));
  // --dim-vocabs leaves out the last ones of a list.
  if (static_cast<int64_t>(vocabulary.pieces.size()) != rows)
    throw std::runtime_error(
        fmt::format("{}: has {} pieces, but the model has {}", path, vocabulary.pieces.size(), rows));
  check_numbers_are_complete(vocabulary.pieces, path);
  for (int64_t number = 0; number < rows; ++number) {
    const std::string& piece = vocabulary.pieces[static_cast<size_t>(number)];
    if (piece == "</s>") vocabulary.end = number;
    if (piece == "<unk>") vocabulary.unknown = number;
    if (is_language_tag(piece)) vocabulary.control.insert(piece);
    if (ends_in(piece, "@@"))
      throw std::runtime_error(
          fmt::format("{}: has pieces of subword-nmt (\"{}\"); only SentencePiece is supported", path, piece));
  }
  if (vocabulary.end == kNoPiece) throw std::runtime_error(fmt::format("{}: has no piece \"</s>\"", path));
  return renumber(vocabulary, path);
}

std::shared_ptr<const SubwordModel> marian_tokenizer(const std::string& vocabulary, const std::string& side,
                                                     const Renumbering& order) {
  if (is_sentencepiece(vocabulary)) return make_subword_model(vocabulary, order);
  const std::string beside = find_sentencepiece(fs::path(vocabulary).parent_path().string(), side);
  return beside.empty() ? std::make_shared<SubwordModel>(model_of_spaced_pieces(order.table, vocabulary), vocabulary)
                        : make_subword_model(beside, order);
}

// Which are not read: to say so.
std::vector<std::string> binaries_in(const std::string& folder) {
  std::vector<std::string> found = files_that_end_in(folder, ".bin");
  found.erase(
      std::remove_if(found.begin(), found.end(),
                     [](const std::string& path) { return !fs::is_regular_file(path) || !is_marian_binary(path); }),
      found.end());
  if (found.size() > 1) found.resize(1);
  return found;
}

}  // namespace

bool is_marian_file(const std::string& path) {
  return is_marian_binary(path) ||
         (fs::path(path).extension() == ".npz" && ZipArchive(path).has("special:model.yml.npy"));
}

std::string find_marian_file(const std::string& folder) {
  const std::string decoder = path_in(folder, "decoder.yml");
  const std::vector<std::string> listed = listed_files(decoder, &MarianDecoder::models);
  if (listed.size() > 1)
    throw std::runtime_error(fmt::format("{}: lists {} models, an ensemble; name each of their files: --model {}",
                                         decoder, listed.size(), fmt::join(listed, " --model ")));
  if (!listed.empty() && fs::exists(listed.front())) return listed.front();
  std::vector<std::string> found = files_that_end_in(folder, ".npz");
  found.erase(std::remove_if(found.begin(), found.end(), [](const std::string& path) { return !is_marian_file(path); }),
              found.end());
  if (found.empty()) found = binaries_in(folder);
  if (found.size() < 2) return found.empty() ? "" : found.front();
  if (const std::string latest = path_in(folder, "model.npz"); fs::exists(latest)) return latest;
  throw std::runtime_error(fmt::format("{}: has {} models of Marian; give the path of one of them: {}", folder,
                                       found.size(), fmt::join(found, ", ")));
}

LoadedModel load_marian_model(const std::string& npz) {
  const MarianFile file = read_marian_file(npz);
  const Settings settings(file, npz);
  ForeignModel model;
  model.path = npz;
  model.options = options_of(settings, npz);
  model.search = read_search(npz);
  TensorTable tensors(file.tensors, npz);
  const Array source = tensors.take_matrix(tensors.first_of({"encoder_Wemb", "Wemb"}));
  const Array target = tensors.take_matrix(tensors.first_of({"decoder_Wemb", "Wemb"}));
  const Vocabularies vocabularies = find_vocabularies(npz);
  Renumbering source_order = read_order(vocabularies.source, source.size(0));
  Renumbering target_order = read_order(vocabularies.target, target.size(0));
  model.source = marian_tokenizer(vocabularies.source, "source", source_order);
  model.target = marian_tokenizer(vocabularies.target, "target", target_order);
  const OutputLayer output = take_output(tensors, model.options, target.size(0), settings.is_on("output-omit-bias"));
  model.add_tables({source, std::move(source_order)}, {target, std::move(target_order)}, output.weight, output.bias);
  MarianStacks reader(tensors, model);
  reader.read("encoder", model.options.num_encoder_layers);
  reader.read("decoder", model.options.num_decoder_layers);
  // Ranges of activations, which a model that was prepared for products in 8 bits has beside its weights.
  tensors.check_all_taken([](const std::string& name) { return ends_in(name, "_QuantMultA"); });
  return make_loaded_model(model);
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
