// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/formats/foreign/json_config.h>
#include <transmute/formats/foreign/vocabulary.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {
namespace formats {

/// The vocabularies of both sides and what splits text into their pieces.
struct VocabularyPair {
  Renumbering source, target;
  int64_t source_size = 0, target_size = 0;  ///< rows of the embeddings in the file
  std::shared_ptr<const SubwordModel> source_model, target_model;
};

/// MarianMT: `source.spm`, `target.spm`, `vocab.json` and, where `separate`, `target_vocab.json`. `config` is the
/// folder's config.json.
/// @throws std::runtime_error naming the file that is missing or damaged.
VocabularyPair read_marian_vocabularies(const std::string& folder, const JsonConfig& config, bool separate);

/// M2M-100: `sentencepiece.bpe.model` and `vocab.json`. NLLB-200 and mBART-50: `sentencepiece.bpe.model`, whose ids are
/// their numbers but for one. Languages come from `tokenizer_config.json`, `tokenizer.json`, `added_tokens.json` or
/// `special_tokens_map.json`.
VocabularyPair read_multilingual_vocabularies(const std::string& folder, const JsonConfig& config);

}  // namespace formats
}  // namespace v0
}  // namespace transmute
