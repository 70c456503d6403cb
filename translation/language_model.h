// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/translation/search_options.h>
#include <transmute/translation/translator.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// How texts are continued. A prompt stands where the source of a translation does: of SearchOptions, max_extra_length
/// is how many tokens are added to it at most, and the prompt's own count in min_length and the length penalty.
struct GenerationOptions {
  GenerationOptions() { search.sampling.emplace(); }

  /// Draws num_hypotheses continuations; without SearchOptions::sampling it looks for the most probable ones. The same
  /// seed and prompt give the same texts. Alignments and coverage need a source.
  SearchOptions search;
  int64_t batch_size = 64;      ///< prompts that a thread continues together
  int64_t batch_tokens = 4096;  ///< and their padded tokens at most
};

/// A trained language model (model.architecture: decoder_only), ready to continue text and to say how probable text is.
/// For applications: needs no LibTorch header. Threads, memory and errors are as Translator's.
class TRANSMUTE_API LanguageModel {
 public:
  /// Opens a model folder, or a file that export_torchscript made.
  /// @throws std::runtime_error where it is missing or damaged; std::invalid_argument for a translation model, or
  /// options that cannot be met.
  explicit LanguageModel(const std::string& model, const TranslatorOptions& options = {});
  /// No call may be under way.
  ~LanguageModel();
  /// The moved-from model may only be assigned to or destroyed.
  LanguageModel(LanguageModel&&) noexcept;
  /// No call may be under way.
  LanguageModel& operator=(LanguageModel&&) noexcept;

  /// The prompt, continued. An empty one begins a text.
  std::string generate(const std::string& prompt, const GenerationOptions& options = {}) const;

  /// One result per prompt, in order: its texts, best first, each beginning with the prompt as it was given (but for
  /// white space at its end). Translation::source_tokens are the prompt's, with which the hypotheses' tokens begin, and
  /// log-probabilities are of the whole text. Of `hooks`, on_text is told a text as it grows where one is drawn.
  /// @throws std::invalid_argument where an option is out of range, a prompt is not UTF-8, or text and prompt together
  /// can become longer than the model's learned positions; Cancelled.
  std::vector<Translation> generate_batch(const std::vector<std::string>& prompts,
                                          const GenerationOptions& options = {},
                                          const TranslationHooks& hooks = {}) const;

  /// How probable each text is, the end included: tokens and their natural log-probabilities. A text without content
  /// has no tokens, and probability 1.
  /// @throws std::invalid_argument where a text is not UTF-8, or longer than the model's learned positions.
  std::vector<Hypothesis> score_batch(const std::vector<std::string>& texts,
                                      const GenerationOptions& options = {}) const;

  /// Why this model runs several times slower on the CPU than others do; empty where it does not.
  std::string slow_reason() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace transmute
