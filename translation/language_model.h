// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/search_options.h>
#include <transmute/translation/translator.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Options of a generation call. SearchOptions::max_extra_length limits the number of tokens that are added to the
/// prompt; the prompt's own tokens count for min_length and the length penalty.
struct GenerationOptions {
  GenerationOptions() { search.sampling.emplace(); }

  /// The default samples num_hypotheses continuations, which come in the order of their probability, whatever
  /// length_alpha is; without SearchOptions::sampling, searches for the most probable ones. The same seed and prompt
  /// give the same texts. Alignments and the coverage penalty are not available.
  SearchOptions search;
  int64_t batch_size = TranslationOptions().batch_size;  ///< maximum number of prompts in a thread's batch
  /// Maximum number of prompt tokens in a batch, padding included.
  int64_t batch_tokens = TranslationOptions().batch_tokens;
};

/// A trained language model (model.architecture: decoder_only), ready to continue and to score texts. For applications:
/// needs no LibTorch header. Thread safety, memory and errors are those of Translator.
class TRANSMUTE_API LanguageModel {
 public:
  /// Opens a model folder, or a file written by export_torchscript.
  /// @throws std::runtime_error if the model is missing or damaged; std::invalid_argument if it is a translation model
  /// or an option cannot be satisfied.
  explicit LanguageModel(const std::string& model, const TranslatorOptions& options = {});
  /// No call may be in progress.
  ~LanguageModel();
  /// A moved-from model may only be assigned to or destroyed.
  LanguageModel(LanguageModel&&) noexcept;
  /// No call may be in progress.
  LanguageModel& operator=(LanguageModel&&) noexcept;

  /// The prompt with its continuation. An empty prompt starts a new text.
  std::string generate(const std::string& prompt, const GenerationOptions& options = {}) const;

  /// One result per prompt, in order. Its texts come best first; each begins with the prompt as given, except for
  /// trailing whitespace. Translation::source_tokens are the prompt's tokens, with which the tokens of each hypothesis
  /// begin. Log-probabilities are those of the whole text. TranslationHooks::on_text streams a text if a single one is
  /// sampled.
  /// @throws std::invalid_argument if an option is out of range or a prompt is not UTF-8; BadText if prompt and
  /// continuation could exceed kMaxWholeTokens or the model's learned positions; Cancelled if a hook stopped the call.
  std::vector<Translation> generate_batch(const std::vector<std::string>& prompts,
                                          const GenerationOptions& options = {},
                                          const TranslationHooks& hooks = {}) const;

  /// Scores each text, including its end: tokens and their natural log-probabilities. A text without content has no
  /// tokens and probability 1. Calls only should_stop of `hooks`, for each batch.
  /// @throws std::invalid_argument if a text is not UTF-8; BadText if one exceeds kMaxWholeTokens or the model's
  /// learned positions; Cancelled if should_stop stopped the call.
  std::vector<Hypothesis> score_batch(const std::vector<std::string>& texts, const GenerationOptions& options = {},
                                      const TranslationHooks& hooks = {}) const;

  /// Why this model runs several times slower on the CPU than others of its size; empty if it does not.
  std::string slow_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace transmute
