// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// SentencePiece's algorithm for learning the pieces.
enum class SubwordAlgorithm { bpe, unigram };
/// One subword model for both languages, or one for each.
enum class VocabularySharing { shared, separate };

/// Options for learning the subword vocabulary from the training text. Defaults: section 5.1 of the paper.
struct TokenizerOptions {
  SubwordAlgorithm algorithm = SubwordAlgorithm::bpe;        ///< how SentencePiece learns the pieces
  VocabularySharing vocabulary = VocabularySharing::shared;  ///< one subword model or two
  int64_t vocab_size = 37000;              ///< pieces per model, including reserved ids and user symbols
  int64_t target_vocab_size = 0;           ///< pieces of a separate target model; 0: vocab_size
  double character_coverage = 1.0;         ///< share of the text's characters to cover by pieces of one character
  bool byte_fallback = false;              ///< encode uncovered characters as UTF-8 bytes instead of as unknown
  bool split_digits = false;               ///< make every digit a separate piece
  bool split_by_script = true;             ///< no piece mixes scripts, or letters and punctuation
  std::string normalization = "nmt_nfkc";  ///< SentencePiece's rule, or nmt_nfkc_tc, which also truecases
  std::vector<std::string> user_defined_symbols;  ///< always single pieces (tags, placeholders)
  /// Target languages of a multilingual text, which the vocabulary of the sources gets tags for (`>>de<<`). No key of
  /// the configuration: DataOptions::train_languages names them.
  std::vector<std::string> languages;
  int64_t max_training_sentences = 5'000'000;  ///< maximum number of lines; a larger text is sampled
};

}  // namespace v0
}  // namespace transmute
