// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/network/search_options.h>
#include <transmute/text/checks/confidence.h>
#include <transmute/text/shortlist.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/replicas.h>
#include <transmute/training/resolved_options.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Sentences of the validation text, translated by the present weights, and their references.
struct TranslatedText {
  std::vector<std::string> sources;
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
  std::optional<ConfidenceCurve> confidence{};  ///< fitted to these translations
  /// The language pairs, such as "en-de", with the number of sentences of each: those of the first pair come first.
  /// Empty for a model of one pair.
  std::vector<std::pair<std::string, size_t>> languages{};

  /// The tokenizer is the one of bleu_tokenizer_for() for the references.
  double bleu() const;
  /// The sentences of each of `languages`, in their order.
  std::vector<TranslatedText> by_languages() const;
  double chrf(int64_t word_order) const;
  /// A few sentences from all over the text, the same ones every time: source, reference and translation.
  Json samples() const;
};

/// True if `a` scores higher than `b`, translations of the same sentences, by more than chance explains: paired
/// bootstrap, p < 0.05. The metric is one of translations.
bool is_surely_better(const TranslatedText& a, const TranslatedText& b, ValidationMetric metric);

/// The outcome of a validation.
struct ValidationScore {
  ValidationMetric metric = ValidationMetric::loss;  ///< that chooses the best weights
  double score = 0;                                  ///< by it; the higher the better
  double loss = 0;                                   ///< per target token, in nats
  Json record;                                       ///< for the metrics
  std::string text;                                  ///< for the log
  std::string summary;                               ///< the metric's value; for the loss, perplexity and BLEU
  TranslatedText translated;                         ///< empty if nothing is translated
};

/// A metric's value with its name, as the log and the report write it: "BLEU 37.40", "loss 1.9023".
std::string score_text(ValidationMetric metric, double score);

/// Measures the present weights on the validation text.
class Validator {
 public:
  /// All of it must outlive the validator.
  struct Parts {
    const TrainingConfig& config;
    const Tokenizer& tokenizer;
    Replicas& replicas;
    WorkerCrew& workers;
    const ResolvedOptions& resolved;
  };

  Validator(const Parts& parts, ParallelText text) : parts_(parts), text_(std::move(text)) {}

  /// Negative log-likelihood per token, in nats.
  double loss() const;
  /// True if BLEU and chrF are measured too: the model translates, and the config asks for it.
  bool translates() const;
  /// The metric that chooses the best weights.
  ValidationMetric metric() const;
  /// The other things that its scores depend on: the content of the validation text and, for translations, how many
  /// there are, the search, and BLEU's tokenization where it is not 13a. Reads the text's files.
  std::string conditions() const;
  /// The translations by the search that the config gives for validation, search().
  TranslatedText translate() const { return translate(search()); }
  /// @param shortlist of the tokenizer; null: translations may have the whole vocabulary
  TranslatedText translate(const SearchOptions& search, std::shared_ptr<const Shortlist> shortlist = nullptr) const;
  SearchOptions search() const;
  /// All of it, after `step`.
  ValidationScore measure(int64_t step) const;

 private:
  Parts parts_;
  ParallelText text_;
};

/// Prepares the state for scores by `metric` under `conditions`. Drops earlier scores that cannot be compared with
/// them, and with these the count of validations since the best one.
/// @returns whether there was something to drop.
bool start_scores(TrainState& state, ValidationMetric metric, const std::string& conditions);

/// Keeps a validation's score in the state, which start_scores has prepared.
/// @returns whether it is the best one so far.
bool note_score(TrainState& state, double score);

}  // namespace v0
}  // namespace transmute
