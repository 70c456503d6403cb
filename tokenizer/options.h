// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// How SentencePiece learns the pieces.
enum class SubwordAlgorithm { bpe, unigram };
/// One model for both languages, or one each.
enum class VocabularySharing { shared, separate };

/// How the subword vocabulary is learned from the training text. Defaults: section 5.1 of the paper.
struct TokenizerOptions {
  SubwordAlgorithm algorithm = SubwordAlgorithm::bpe;        ///< how SentencePiece learns the pieces
  VocabularySharing vocabulary = VocabularySharing::shared;  ///< one model for both languages, or one each
  int64_t vocab_size = 37000;              ///< pieces of each model, with reserved ids and user symbols
  int64_t target_vocab_size = 0;           ///< of separate models, those of the target's; 0: vocab_size
  double character_coverage = 1.0;         ///< share of the text's characters that must have a piece of their own
  bool byte_fallback = false;              ///< spell characters without a piece as UTF-8 bytes instead of as unknown
  bool split_digits = false;               ///< every digit is a piece of its own
  bool split_by_script = true;             ///< no piece goes from one script to another, or from letters to punctuation
  std::string normalization = "nmt_nfkc";  ///< SentencePiece's rule: nmt_nfkc, nfkc, nmt_nfkc_cf, identity
  std::vector<std::string> user_defined_symbols;  ///< always one piece each (tags, placeholders)
  int64_t max_training_sentences = 5'000'000;     ///< a larger text is sampled down to this many lines
};

}  // namespace v0
}  // namespace transmute
