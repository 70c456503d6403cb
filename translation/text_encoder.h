// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/text/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The encoder's output for a text.
struct TextVectors {
  std::vector<std::string> tokens;  ///< L pieces, without the end token and the language's
  /// The encoder's output for each token, [L,D] row by row; empty without TextEncoderOptions::token_vectors.
  std::vector<float> vectors;
  std::vector<float> mean;  ///< mean of the vectors, [D], which represents the text; zeros if it has no token
  int parts = 1;            ///< number of separately encoded parts of an over-long text
};

/// Options of encoding.
struct TextEncoderOptions {
  /// Maximum number of texts, or parts of texts, in a worker's batch.
  int64_t batch_size = TranslationOptions().batch_size;
  int64_t batch_tokens = TranslationOptions().batch_tokens;  ///< maximum number of tokens in a batch, padding included
  /// Longer texts are split at sentence, clause or word boundaries, as are those beyond the model's learned positions.
  int64_t max_source_tokens = TranslationOptions().max_source_tokens;
  bool token_vectors = true;  ///< false: only the means, which takes far less memory
  /// The languages, for multilingual models; see TranslationOptions. Models that name languages on both sides need the
  /// source language, and those with tags (">>deu<<" of OPUS-MT) the target language, whose tag precedes the source.
  std::string source_language{};
  std::string target_language{};  ///< see source_language
};

/// Encodes text as vectors with the encoder alone (section 3.1, Encoder): the memory to which the decoder would attend.
class TRANSMUTE_API TextEncoder {
 public:
  /// Opens a translation model, in any of the forms that Translator reads. Uses only device, threads and precision of
  /// `options`.
  /// @throws as Translator's constructor
  explicit TextEncoder(const std::string& model, const TranslatorOptions& options = {});
  /// No call may be in progress.
  ~TextEncoder();
  /// A moved-from encoder may only be assigned to or destroyed.
  TextEncoder(TextEncoder&&) noexcept;
  /// No call may be in progress.
  TextEncoder& operator=(TextEncoder&&) noexcept;

  /// One result per text, in order. Calls only should_stop of `hooks`, before each batch.
  /// @throws std::invalid_argument if an option is out of range, a language is missing or unknown, or a text is not
  /// UTF-8; BadText if one begins with the tag of a language that the model lacks; Cancelled if should_stop stopped the
  /// call.
  std::vector<TextVectors> encode(const std::vector<std::string>& texts, const TextEncoderOptions& options = {},
                                  const TranslationHooks& hooks = {}) const;

  /// Width of the vectors.
  int64_t d_model() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace v0
}  // namespace transmute
