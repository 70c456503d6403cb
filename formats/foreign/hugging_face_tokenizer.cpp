// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/hugging_face_tokenizer.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/parsed_number.h>
#include <transmute/formats/foreign/hugging_face_weights.h>
#include <transmute/formats/foreign/tokenizer_json.h>
#include <transmute/tokenizer/piece_table.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// The languages of M2M-100 and of its variant WMT21 in the order of their numbers, which begin after the pieces of
// vocab.json: its files need not list them.
constexpr const char* kM2m100Languages =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu";
constexpr const char* kWmt21Languages = "en ha is ja cs ru zh de";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kFairseqReserved[] = {"<s>", "<pad>", "</s>", "<unk>"};
constexpr const char* kEnglish = "__en__";  // both have it, and no other model calls a language so

void require_size(const JsonConfig& config, int64_t size) {
  if (size < 1 || size > kMostPieces)
    throw std::runtime_error(fmt::format("{}: a vocabulary of {} pieces is not possible", config.path(), size));
}

void check_is_inside(const std::string& file, const std::string& piece, int64_t number, int64_t size) {
  if (number < 0 || number >= size)
    throw std::runtime_error(
        fmt::format("{}: \"{}\" has the number {}, but the model has {} pieces", file, piece, number, size));
}

// JsonConfig::integer(), but of a member at hand: looking it up among all pieces would take as long as there are many.
int64_t whole_number(const std::string& file, const std::string& piece, const Json& number) {
  if (!number.is_number_integer())
    throw std::runtime_error(fmt::format("{}: \"{}\" is not a whole number", file, piece));
  return number.get<int64_t>();
}

// {"piece": number, …}; numbers after the last are for pieces that other files add, or are not used.
std::vector<std::string> read_vocabulary(const std::string& path, int64_t size) {
  const JsonConfig file(path);
  std::vector<std::string> pieces;
  for (const auto& [piece, json] : file.json().items()) {
    const int64_t number = whole_number(path, piece, json);
    check_is_inside(path, piece, number, size);
    give_number(pieces, static_cast<size_t>(number), piece, path);
  }
  check_numbers_are_complete(pieces, path);
  return pieces;
}

// The number that a configuration gives under the key `key`, which some piece must have: `piece`, where the file has
// it.
int64_t configured_number(const JsonConfig& config, const std::string& key, const std::vector<std::string>& pieces,
                          const std::string& file, const std::string& piece = "") {
  const int64_t number = config.integer(key);
  const int64_t of_piece = piece.empty() ? kNoPiece : find_piece(pieces, piece);
  const auto refuse = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{}: {} is {}, {} in {}; restore both files from one source", config.path(),
                                         key, number, why, file));
  };
  if (number < 0 || number >= static_cast<int64_t>(pieces.size()) || pieces[static_cast<size_t>(number)].empty())
    refuse("which no piece has");
  if (of_piece != kNoPiece && of_piece != number) refuse(fmt::format("but \"{}\" has the number {}", piece, of_piece));
  return number;
}

// The padding may have the number of the end or of unknown instead of its own.
int64_t padding_number(const JsonConfig& config, const Vocabulary& vocabulary, const std::string& file) {
  const int64_t number = config.integer("pad_token_id");
  const bool is_shared = number == vocabulary.end || number == vocabulary.unknown;
  return configured_number(config, "pad_token_id", vocabulary.pieces, file, is_shared ? "" : "<pad>");
}

enum class Side { source, target };

Vocabulary marian_vocabulary(const std::string& path, const JsonConfig& config, int64_t size, Side side) {
  require_size(config, size);
  Vocabulary vocabulary;
  std::vector<std::string>& pieces = vocabulary.pieces;
  pieces = read_vocabulary(path, size);
  for (const std::string& piece : pieces)
    if (is_language_tag(piece)) vocabulary.control.insert(piece);
  vocabulary.end = configured_number(config, "eos_token_id", pieces, path, "</s>");
  vocabulary.unknown = required_piece(pieces, "<unk>", path);
  // A vocabulary of targets may give its padding another number, which the model does not use.
  vocabulary.padding = side == Side::source ? padding_number(config, vocabulary, path)
                                            : configured_number(config, "pad_token_id", pieces, path);
  vocabulary.start = configured_number(config, "decoder_start_token_id", pieces, path);
  pieces.resize(static_cast<size_t>(size));
  return vocabulary;
}

struct AddedPiece {
  std::string text;
  int64_t number;
  std::string file;
};

// Pieces that are added to a vocabulary, with their numbers where the file says them.
struct AddedPieces {
  std::vector<AddedPiece> numbered;
  std::vector<std::string> in_order;

  bool are_of_m2m100() const {
    const auto is_english = [](const std::string& piece) { return piece == kEnglish; };
    return std::any_of(in_order.begin(), in_order.end(), is_english) ||
           std::any_of(numbered.begin(), numbered.end(), [&](const auto& piece) { return is_english(piece.text); });
  }
};

std::string content_of(const Json& piece) {
  if (piece.is_string()) return piece.get<std::string>();
  if (piece.is_object() && piece.contains("content") && piece["content"].is_string())
    return piece["content"].get<std::string>();
  return "";
}

// tokenizer.json has a list of {"id": …, "content": …}, tokenizer_config.json a map from number to {"content": …},
// added_tokens.json a map from piece to number.
AddedPieces read_added_pieces(const std::string& folder, const std::optional<JsonConfig>& tokenizer) {
  AddedPieces added;
  const auto add = [&](const std::string& piece, int64_t number, const std::string& file) {
    if (!piece.empty()) added.numbered.push_back({piece, number, file});
  };
  const auto file = [&](const char* name) { return path_in(folder, name); };
  if (tokenizer && tokenizer->has("added_tokens") && tokenizer->json().at("added_tokens").is_array())
    for (const Json& piece : tokenizer->json().at("added_tokens"))
      if (piece.is_object() && piece.contains("id") && piece["id"].is_number_integer())
        add(content_of(piece), piece["id"].get<int64_t>(), tokenizer->path());
  if (std::filesystem::exists(file("added_tokens.json"))) {
    const JsonConfig pieces(file("added_tokens.json"));
    for (const auto& [piece, number] : pieces.json().items())
      add(piece, whole_number(pieces.path(), piece, number), pieces.path());
  }
  for (const char* name : {kTokenizerConfig, "special_tokens_map.json"}) {
    if (!std::filesystem::exists(file(name))) continue;
    const JsonConfig config(file(name));
    if (config.has("added_tokens_decoder") && config.json().at("added_tokens_decoder").is_object())
      for (const auto& [number, piece] : config.json().at("added_tokens_decoder").items())
        if (const auto id = parsed_number<uint32_t>(number)) add(content_of(piece), *id, config.path());
    if (config.has("additional_special_tokens") && config.json().at("additional_special_tokens").is_array() &&
        added.in_order.empty())
      for (const Json& piece : config.json().at("additional_special_tokens"))
        added.in_order.push_back(content_of(piece));
  }
  return added;
}

// The vocabulary as fairseq numbers SentencePiece's pieces: four reserved ones, then all from its third on.
std::vector<std::string> fairseq_pieces(const std::string& sentencepiece, const std::string& path, int64_t size) {
  constexpr size_t kReservedBySentencePiece = 3;  // <unk>, <s>, </s>
  std::vector<std::string> pieces(std::begin(kFairseqReserved), std::end(kFairseqReserved));
  const std::vector<std::string> own = pieces_of(sentencepiece, path);
  for (size_t i = kReservedBySentencePiece; i < own.size(); ++i) pieces.push_back(own[i]);
  if (static_cast<int64_t>(pieces.size()) > size) refuse_more_pieces(path, size);
  return pieces;
}

constexpr const char* kM2m100Tokenizer = "M2M100Tokenizer";

std::string tokenizer_setting(const std::string& folder, const std::string& key, const std::string& otherwise) {
  const std::string path = path_in(folder, kTokenizerConfig);
  return std::filesystem::exists(path) ? JsonConfig(path).text(key, otherwise) : otherwise;
}

// Empty if no file names it.
std::string tokenizer_class(const std::string& folder, const JsonConfig& config) {
  const std::string name = tokenizer_setting(folder, "tokenizer_class", "");
  return name.empty() ? config.text("tokenizer_class", "") : name;
}

std::vector<std::string> languages_of_m2m100(const std::string& folder) {
  const std::string codes = tokenizer_setting(folder, "language_codes", "m2m100");
  if (codes != "m2m100" && codes != "wmt21")
    throw std::runtime_error(fmt::format("{}: language_codes \"{}\" is not supported; m2m100 and wmt21 are",
                                         path_in(folder, kTokenizerConfig), codes));
  std::istringstream names(codes == "wmt21" ? kWmt21Languages : kM2m100Languages);
  std::vector<std::string> languages;
  for (std::string name; names >> name;) languages.push_back("__" + name + "__");
  return languages;
}

// Most tokenizers also have a version in Rust.
bool is_class(const std::string& tokenizer, const std::string& name) {
  return tokenizer == name || tokenizer == name + "Fast";
}

[[noreturn]] void refuse_mbart25(const std::string& folder) {
  throw std::runtime_error(
      fmt::format("{}: an mBART-25 model, whose order of languages is not supported; mBART-50 is", folder));
}

// Models whose tokenizers put languages elsewhere: with this order they would translate badly without a word.
void refuse_other_order(const std::string& folder, const std::string& tokenizer) {
  // It names the target's language before the source, and has M2M-100's class and configuration.
  if (std::filesystem::exists(path_in(folder, "tokenization_small100.py")))
    throw std::runtime_error(
        fmt::format("{}: a SMaLL-100 model (it has tokenization_small100.py), whose order of languages is not "
                    "supported; M2M-100 is",
                    folder));
  // It names the source's language after the source, and starts the decoder with the target's.
  if (is_class(tokenizer, "MBartTokenizer")) refuse_mbart25(folder);
  // NLLB-200's as Transformers once had it: the source's language after the source.
  const std::string settings = path_in(folder, kTokenizerConfig);
  if (std::filesystem::exists(settings) && JsonConfig(settings).boolean("legacy_behaviour", false))
    throw std::runtime_error(
        fmt::format("{}: legacy_behaviour is true, which is not supported: it puts the source language behind the "
                    "source. A model that was trained without it needs the value false",
                    settings));
  if (!tokenizer.empty() && !is_class(tokenizer, kM2m100Tokenizer) && !is_class(tokenizer, "NllbTokenizer") &&
      !is_class(tokenizer, "MBart50Tokenizer"))
    throw std::runtime_error(fmt::format(
        "{}: tokenizer_class \"{}\" is not supported; M2M100Tokenizer, NllbTokenizer and MBart50Tokenizer are", folder,
        tokenizer));
}

// Numbers languages that are listed without numbers in a row from `number` on.
void place_languages(Vocabulary& vocabulary, const std::string& folder, bool is_m2m100,
                     const std::vector<std::string>& languages, int64_t number) {
  const auto is_placed = [&](const std::string& piece) { return vocabulary.control.count(piece) > 0; };
  if (is_m2m100 ? is_placed(kEnglish) : std::any_of(languages.begin(), languages.end(), is_placed)) return;
  for (const std::string& language : languages) {
    const int64_t own = number++;
    if (language.empty() || is_placed(language)) continue;  // a list may have added pieces besides
    const std::string before = own < static_cast<int64_t>(vocabulary.pieces.size())
                                   ? vocabulary.pieces[static_cast<size_t>(own)]
                                   : std::string();
    // Transformers gives an added piece the number of M2M-100's first language, which keeps it.
    if (is_placed(before)) {
      if (!is_m2m100) continue;
      vocabulary.control.erase(before);
    }
    check_is_inside(folder, language, own, static_cast<int64_t>(vocabulary.pieces.size()));
    vocabulary.pieces[static_cast<size_t>(own)] = language;
    vocabulary.control.insert(language);
  }
}

}  // namespace

VocabularyPair read_marian_vocabularies(const std::string& folder, const JsonConfig& config, bool separate) {
  VocabularyPair pair;
  pair.source_size = config.integer("vocab_size");
  pair.target_size = separate ? config.integer("decoder_vocab_size", pair.source_size) : pair.source_size;
  const std::string source_path = downloaded_file(folder, "vocab.json");
  const std::string target_path = separate ? downloaded_file(folder, "target_vocab.json") : source_path;
  Vocabulary source = marian_vocabulary(source_path, config, pair.source_size, Side::source);
  Vocabulary target = separate ? marian_vocabulary(target_path, config, pair.target_size, Side::target) : source;
  pair.source = renumber(source, source_path);
  pair.target = renumber(target, target_path);
  pair.source_model = make_subword_model(downloaded_file(folder, "source.spm"), pair.source);
  pair.target_model = make_subword_model(downloaded_file(folder, "target.spm"), pair.target);
  return pair;
}

namespace {

// The files of the folder that number pieces, and that split text into them.
struct MultilingualFiles {
  std::vector<std::string> pieces;
  std::string path;           // of the file that numbers them
  std::string sentencepiece;  // serialized
  bool has_table = false;     // vocab.json
};

MultilingualFiles read_files(const std::string& folder, const std::optional<JsonConfig>& tokenizer, int64_t size,
                             bool needs_table) {
  constexpr const char* kSentencePiece = "sentencepiece.bpe.model";
  const std::string model = path_in(folder, kSentencePiece);
  MultilingualFiles files;
  if (tokenizer && !needs_table && !std::filesystem::exists(model)) {
    TokenizerJson read = read_tokenizer_json(*tokenizer, size);
    return {std::move(read.pieces), tokenizer->path(), std::move(read.sentencepiece), false};
  }
  files.sentencepiece = read_model_text(downloaded_file(folder, kSentencePiece));
  files.path = needs_table ? downloaded_file(folder, "vocab.json") : path_in(folder, "vocab.json");
  files.has_table = std::filesystem::exists(files.path);
  if (!files.has_table) files.path = model;
  files.pieces =
      files.has_table ? read_vocabulary(files.path, size) : fairseq_pieces(files.sentencepiece, files.path, size);
  return files;
}

// Puts added pieces where their numbers say. Returns the first number that only they may have.
int64_t place_added_pieces(Vocabulary& vocabulary, const AddedPieces& added, int64_t size) {
  const auto used = static_cast<int64_t>(vocabulary.pieces.size());
  vocabulary.pieces.resize(static_cast<size_t>(size));
  for (const auto& [piece, number, file] : added.numbered) {
    check_is_inside(file, piece, number, size);
    give_number(vocabulary.pieces, static_cast<size_t>(number), piece, file);
    const auto& reserved = kFairseqReserved;
    if (std::find(std::begin(reserved), std::end(reserved), piece) == std::end(reserved))
      vocabulary.control.insert(piece);
  }
  return used;
}

}  // namespace

VocabularyPair read_multilingual_vocabularies(const std::string& folder, const JsonConfig& config) {
  const int64_t size = config.integer("vocab_size");
  require_size(config, size);
  const std::string tokenizer = tokenizer_class(folder, config);
  refuse_other_order(folder, tokenizer);
  const std::string json_path = path_in(folder, "tokenizer.json");
  std::optional<JsonConfig> json;
  if (std::filesystem::exists(json_path)) json.emplace(json_path);
  const AddedPieces added = read_added_pieces(folder, json);
  const bool needs_table = is_class(tokenizer, kM2m100Tokenizer) || added.are_of_m2m100();
  MultilingualFiles files = read_files(folder, json, size, needs_table);
  Vocabulary vocabulary;
  vocabulary.pieces = std::move(files.pieces);
  const int64_t used = place_added_pieces(vocabulary, added, size);
  const bool is_m2m100 = files.has_table && (needs_table || tokenizer.empty() || vocabulary.control.empty());
  place_languages(vocabulary, folder, is_m2m100,
                  is_m2m100 && !added.are_of_m2m100() ? languages_of_m2m100(folder) : added.in_order, used);
  const auto& control = vocabulary.control;
  if (std::all_of(control.begin(), control.end(), [](const std::string& piece) { return piece.front() == '<'; }))
    throw std::runtime_error(
        fmt::format("{}: no file lists the model's languages; tokenizer_config.json, tokenizer.json, added_tokens.json "
                    "or special_tokens_map.json should",
                    folder));
  vocabulary.end = configured_number(config, "eos_token_id", vocabulary.pieces, files.path, "</s>");
  vocabulary.start = config.has("decoder_start_token_id")
                         ? configured_number(config, "decoder_start_token_id", vocabulary.pieces, files.path)
                         : vocabulary.end;
  vocabulary.unknown = required_piece(vocabulary.pieces, "<unk>", files.path);
  vocabulary.padding = padding_number(config, vocabulary, files.path);
  if (vocabulary.control.count(vocabulary.pieces[static_cast<size_t>(vocabulary.start)]) > 0) refuse_mbart25(folder);

  VocabularyPair pair;
  pair.source_size = pair.target_size = size;
  pair.source = renumber(vocabulary, files.path);
  pair.target = pair.source;
  pair.source_model = make_subword_model(files.sentencepiece, files.path, pair.source);
  pair.target_model = pair.source_model;
  return pair;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
