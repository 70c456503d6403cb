// SPDX-License-Identifier: Apache-2.0
#include <transmute/tokenizer/actual_options.h>

#include <transmute/tokenizer/message_reader.h>
#include <transmute/tokenizer/piece_marks.h>
#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

void take_sizes(const Tokenizer& tokenizer, TokenizerOptions& options) {
  options.vocabulary = tokenizer.shared() ? VocabularySharing::shared : VocabularySharing::separate;
  options.vocab_size = tokenizer.source().size();
  const int64_t target = options.target_vocab_size > 0 ? options.target_vocab_size : options.vocab_size;
  if (tokenizer.shared()) {
    options.target_vocab_size = 0;
  } else if (tokenizer.target().size() != target) {
    options.target_vocab_size = tokenizer.target().size();
  }
}

void take_trainer_spec(std::string_view message, TokenizerOptions& options) {
  uint64_t model_type = kModelUnigram;  // SentencePiece's defaults, which a model need not repeat
  options.split_by_script = true;
  options.split_digits = options.byte_fallback = false;
  for (MessageReader spec(message); spec.next();) {
    if (spec.tag == kTrainerModelType) model_type = spec.number;
    if (spec.tag == kTrainerSplitByScript) options.split_by_script = spec.number != 0;
    if (spec.tag == kTrainerSplitDigits) options.split_digits = spec.number != 0;
    if (spec.tag == kTrainerByteFallback) options.byte_fallback = spec.number != 0;
  }
  if (model_type == kModelBpe) options.algorithm = SubwordAlgorithm::bpe;
  if (model_type == kModelUnigram) options.algorithm = SubwordAlgorithm::unigram;
}

// The text of a user-defined piece, as options have it; empty for any other.
std::string user_defined_symbol(std::string_view message) {
  std::string text;
  bool is_user_defined = false;
  for (MessageReader piece(message); piece.next();) {
    if (piece.tag == kPieceText) text = piece.bytes;
    if (piece.tag == kPieceType) is_user_defined = piece.number == kTypeUserDefined;
  }
  if (!is_user_defined) return "";
  const std::string_view mark = kSpaceMark;
  for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; ++at) text.replace(at, mark.size(), " ");
  return text;
}

bool is_valid(const TokenizerOptions& options) {
  try {
    check_tokenizer_options(options);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

}  // namespace

TokenizerOptions actual_options(const Tokenizer& tokenizer, const TokenizerOptions& given) {
  TokenizerOptions actual = given;
  take_sizes(tokenizer, actual);
  std::vector<std::string> symbols;
  int64_t id = 0;
  for (MessageReader model(tokenizer.source().serialized()); model.next();) {
    if (model.tag == kModelTrainerSpec) take_trainer_spec(model.bytes, actual);
    if (model.tag != kModelPieces) continue;
    if (id++ < special_ids::kCount || id > tokenizer.source().size()) continue;  // the network does not know the rest
    if (std::string symbol = user_defined_symbol(model.bytes); !symbol.empty()) symbols.push_back(std::move(symbol));
  }
  // Other programs' models may have rules and symbols that a config cannot name.
  TokenizerOptions changed = actual;
  changed.normalization = normalization_of(tokenizer.source().serialized());
  if (is_valid(changed)) actual = changed;
  changed = actual;
  changed.user_defined_symbols = symbols;
  if (is_valid(changed)) actual = changed;
  return actual;
}

}  // namespace v0
}  // namespace transmute
