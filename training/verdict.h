// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/tokenizer.h>
#include <transmute/training/config.h>
#include <transmute/training/validation.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Translations that need no network.
struct TrivialTranslations {
  std::string name;  ///< of the method
  std::vector<std::string> texts;
};

/// Translates the sources of `text` by copying them, by the most frequent target of the config's training text, and
/// piece by piece with a dictionary (see LexicalModel) that is learned from it. The latter is the last one. There are
/// none if the translations of `text` are too few to be judged by.
std::vector<TrivialTranslations> trivial_translations(const TrainingConfig& config, const Tokenizer& tokenizer,
                                                      const TranslatedText& text);

/// The number of standard errors by which the chrF of texts against the references of their own lines is above that
/// against the references of other lines: about 0 if the texts have nothing to do with their lines.
/// @param languages see TranslatedText: other lines are of the same pair, since another one may have the same sentence
double fit_to_own_lines(const std::vector<std::string>& texts, const std::vector<std::string>& references,
                        const std::vector<std::pair<std::string, size_t>>& languages = {});

/// The facts about a finished training by which judge() decides.
struct FinishedTraining {
  const TrainingConfig& config;
  const Tokenizer& tokenizer;
  /// The recommended model's translations of the validation text; empty if nothing is translated.
  const TranslatedText& translated;
  double loss;          ///< of that model on the validation text, per target token
  int64_t steps;        ///< updates
  double passes;        ///< over the training text
  bool is_out_of_time;  ///< whether training.max_minutes ended it
  bool is_collapsed;    ///< see SourceSignal
};

/// The worth of a trained model.
enum class Worth {
  unknown,  ///< there is too little held-out text to tell
  some,     ///< it translates better than trivial translators
  not_yet,  ///< it does not, and the training was short
  none,     ///< it does not, and more of the same training would not help
};

/// The worth of a trained model, and the reason.
struct Verdict {
  Worth worth = Worth::unknown;
  std::vector<std::pair<std::string, double>> scores;  ///< BLEU of trivial translators, by name
  std::string problem;  ///< what is wrong, the likely cause and the remedy; empty if nothing is
};

/// True if the loss is larger than that of a network which knows nothing.
bool has_diverged(const FinishedTraining& training);

/// Judges a finished training by its translations of the held-out text.
/// @param trivial translations of the same sources
Verdict judge(const FinishedTraining& training, const std::vector<TrivialTranslations>& trivial);

/// The model's and the trivial translators' scores in one sentence, for the log; empty if there are none.
std::string scores_text(const Verdict& verdict, double bleu);

}  // namespace v0
}  // namespace transmute
