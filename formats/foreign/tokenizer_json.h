// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/json_config.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The vocabulary and the splitting of a `tokenizer.json` as Transformers 5 saves it instead of a SentencePiece model.
struct TokenizerJson {
  std::vector<std::string> pieces;  ///< by their numbers
  std::string sentencepiece;        ///< a serialized SentencePiece model that splits text in the same way
};

/// Rebuilds the SentencePiece model that `tokenizer` was made from: a Unigram or BPE model of at most `size` pieces
/// after SentencePiece's normalization, with its marks for spaces.
/// @throws std::runtime_error naming file, setting and remedy if the tokenizer does anything else
TokenizerJson read_tokenizer_json(const JsonConfig& tokenizer, int64_t size);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
