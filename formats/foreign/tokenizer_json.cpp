// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/foreign/tokenizer_json.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/json.h>
#include <transmute/formats/foreign/vocabulary.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/piece_table.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace formats {

namespace {

// Names what a SentencePiece model cannot do, or damage.
[[noreturn]] void refuse_tokenizer(const std::string& path, const std::string& what) {
  throw std::runtime_error(fmt::format(
      "{}: {}, which is not supported; put the model's sentencepiece.bpe.model beside it, which Transformers "
      "before version 5 saves",
      path, what));
}

// A member of an object; null if there is none.
const Json& member(const Json& object, const char* key) {
  static const Json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

std::string text_in(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string base64_decoded(const std::string& text, const std::string& path) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text.substr(0, text.find_last_not_of('=') + 1)) {
    const int digit = c >= 'A' && c <= 'Z'   ? c - 'A'
                      : c >= 'a' && c <= 'z' ? c - 'a' + 26
                      : c >= '0' && c <= '9' ? c - '0' + 52
                      : c == '+'             ? 62
                      : c == '/'             ? 63
                                             : -1;
    if (digit < 0) throw std::runtime_error(fmt::format("{}: damaged (its character map); restore the file", path));
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

// SentencePiece maps characters and makes one space of several, in this order.
std::string normalization_of(const JsonConfig& file) {
  const Json& normalizer = member(file.json(), "normalizer");
  if (normalizer.is_null()) return "";
  const bool is_sequence = text_in(normalizer, "type") == "Sequence";
  const Json steps = is_sequence ? member(normalizer, "normalizers") : Json::array({normalizer});
  std::string map;
  for (const Json& step : steps) {
    const std::string type = text_in(step, "type");
    const bool joins_spaces = type == "Replace" && text_in(member(step, "pattern"), "Regex") == " {2,}" &&
                              (text_in(step, "content") == " " || text_in(step, "content") == kSpaceMark);
    const bool strips = type == "Strip";
    if (type == "Precompiled" && map.empty()) {
      map = base64_decoded(text_in(step, "precompiled_charsmap"), file.path());
    } else if (!joins_spaces && !strips) {
      refuse_tokenizer(file.path(), fmt::format("it normalizes text with \"{}\"", type));
    }
  }
  return map;
}

void check_marks_spaces(const JsonConfig& file) {
  const Json& splitter = member(file.json(), "pre_tokenizer");
  const Json& steps = text_in(splitter, "type") == "Sequence" ? member(splitter, "pretokenizers") : splitter;
  const auto marks = [&](const Json& step) {
    const std::string type = text_in(step, "type"), scheme = text_in(step, "prepend_scheme");
    if (type == "WhitespaceSplit") return false;
    const bool prepends = scheme == "always" || (scheme.empty() && member(step, "add_prefix_space") == true);
    if (type != "Metaspace" || text_in(step, "replacement") != kSpaceMark || !prepends)
      refuse_tokenizer(file.path(), fmt::format("its pre_tokenizer is \"{}\" and not SentencePiece's Metaspace", type));
    return true;
  };
  bool found = false;
  if (steps.is_array())
    for (const Json& step : steps) found = marks(step) || found;
  else
    found = marks(steps);
  if (!found) refuse_tokenizer(file.path(), "its pre_tokenizer is not SentencePiece's Metaspace");
}

void require_room(const JsonConfig& file, size_t count, int64_t size) {
  if (count > static_cast<size_t>(size)) refuse_more_pieces(file.path(), size);
}

// [["piece", score], …]
std::vector<ScoredPiece> unigram_pieces(const JsonConfig& file, const Json& vocabulary, int64_t size) {
  std::vector<ScoredPiece> pieces;
  require_room(file, vocabulary.size(), size);
  for (const Json& entry : vocabulary) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
      throw std::runtime_error(
          fmt::format("{}: piece {} has no text or no score; restore the file", file.path(), pieces.size()));
    pieces.push_back({entry[0].get<std::string>(), entry[1].get<float>()});
  }
  return pieces;
}

// The two halves of a merge: ["a", "b"], or "a b" before version 0.20 of tokenizers.
std::pair<std::string, std::string> halves_of(const Json& merge, const std::string& path) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string())
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == std::string::npos)
    throw std::runtime_error(fmt::format("{}: damaged (a merge); restore the file", path));
  return {text.substr(0, space), text.substr(space + 1)};
}

// SentencePiece merges what gives the piece with the best score, so the first piece that is merged gets the best. Its
// tables list the ways to merge a piece one after the other.
std::vector<ScoredPiece> bpe_pieces(const JsonConfig& file, const Json& model, int64_t size) {
  const Json& vocabulary = member(model, "vocab");
  std::vector<std::string> texts;
  for (const auto& [piece, number] : vocabulary.items()) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= static_cast<uint64_t>(size))
      throw std::runtime_error(fmt::format("{}: \"{}\" has the number {}, but the model has {} pieces", file.path(),
                                           piece, number.dump(), size));
    give_number(texts, number.get<size_t>(), piece, file.path());
  }
  check_numbers_are_complete(texts, file.path());
  std::unordered_map<std::string, float> scores;
  std::string last;
  for (const Json& merge : member(model, "merges")) {
    const auto [left, right] = halves_of(merge, file.path());
    const std::string merged = left + right;
    if (merged == last) continue;
    const bool is_new = scores.emplace(merged, -static_cast<float>(scores.size())).second;
    if (!is_new) refuse_tokenizer(file.path(), fmt::format("its merges for \"{}\" are in several places", merged));
    last = merged;
  }
  const auto lowest = -static_cast<float>(scores.size());
  std::vector<ScoredPiece> pieces;
  size_t merged = 0;
  for (std::string& text : texts) {
    const auto found = scores.find(text);
    if (found != scores.end()) ++merged;
    pieces.push_back({std::move(text), found == scores.end() ? lowest : found->second});
  }
  if (merged != scores.size())
    throw std::runtime_error(fmt::format("{}: damaged (merges give {} pieces that it does not have); restore the file",
                                         file.path(), scores.size() - merged));
  return pieces;
}

void require_plain(const JsonConfig& file, const Json& model) {
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json& value = member(model, key); !value.is_null() && value != "" && value != 0)
      refuse_tokenizer(file.path(), fmt::format("its model has {}", key));
  for (const char* key : {"byte_fallback", "ignore_merges"})
    if (member(model, key) == true) refuse_tokenizer(file.path(), fmt::format("its model has {}", key));
}

}  // namespace

TokenizerJson read_tokenizer_json(const JsonConfig& file, int64_t size) {
  const Json& model = member(file.json(), "model");
  const std::string type = text_in(model, "type");
  const Json& vocabulary = member(model, "vocab");
  const bool is_bpe = type == "BPE" && vocabulary.is_object();
  if (!is_bpe && !(type == "Unigram" && vocabulary.is_array()))
    refuse_tokenizer(file.path(), fmt::format("its model is \"{}\"", type));
  require_plain(file, model);
  check_marks_spaces(file);
  const std::string normalization = normalization_of(file);
  const std::vector<ScoredPiece> pieces =
      is_bpe ? bpe_pieces(file, model, size) : unigram_pieces(file, vocabulary, size);
  TokenizerJson result;
  for (const ScoredPiece& piece : pieces) result.pieces.push_back(piece.text);
  result.sentencepiece =
      make_sentencepiece_model(pieces, is_bpe ? SubwordAlgorithm::bpe : SubwordAlgorithm::unigram, normalization);
  return result;
}

}  // namespace formats
}  // namespace v0
}  // namespace transmute
