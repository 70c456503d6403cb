// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/verdict.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/metrics/chrf.h>
#include <transmute/text/checks/checks.h>
#include <transmute/training/data/lexical_model.h>
#include <transmute/training/run_text.h>
#include <transmute/training/source_signal.h>
#include <transmute/training/text_profile.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kSampledPairs = 10'000, kFewestLines = 30, kFewestForCause = 50;
constexpr double kSure = 3;             // standard errors
constexpr int64_t kFewSteps = 100;      // too few for a verdict
constexpr int64_t kMostOfShort = 1500;  // steps of a short training

// The most frequent text, the first of several, and how often it occurs.
std::pair<std::string, size_t> most_frequent(const std::vector<std::string>& texts) {
  std::map<std::string, size_t> counts;
  for (const std::string& text : texts) ++counts[text];
  std::pair<std::string, size_t> found;
  for (const std::string& text : texts)
    if (counts[text] > found.second) found = {text, counts[text]};
  return found;
}

std::vector<std::string> by_dictionary(const ParallelText& training, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& sources) {
  constexpr int64_t kIterations = 4;
  const LexicalModel dictionary(training, kIterations);
  std::vector<std::string> translations;
  for (const std::string& source : sources) {
    Ids target;
    for (const int64_t piece : tokenizer.source().encode(source)) {
      if (piece >= dictionary.source_tokens()) continue;
      for (const auto& best : dictionary.best(piece, 1, 0)) target.push_back(best.target);
    }
    translations.push_back(tokenizer.target().decode(target));
  }
  return translations;
}

std::string quoted(const std::string& text) {
  constexpr size_t kLongest = 60;
  return fmt::format("\"{}{}\"", shortened_name(text, kLongest), text.size() > kLongest ? "…" : "");
}

// Counts the lines of two lists that have a property.
template <class Property>
size_t count_lines(const std::vector<std::string>& a, const std::vector<std::string>& b, const Property& has) {
  size_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += has(a[i], b[i]) ? 1 : 0;
  return count;
}

bool is_repetitive(const std::string& source, const std::string& target) {
  const auto warnings = checks::check_texts(source, target, {});
  return std::any_of(warnings.begin(), warnings.end(),
                     [](const TranslationWarning& warning) { return warning.kind == WarningKind::repetition; });
}

// The fault of translations that hardly fit their sources.
std::string symptom_of(const TranslatedText& text, bool is_collapsed) {
  const size_t lines = text.hypotheses.size();
  const auto of_lines = [&](size_t count) {
    return fmt::format("for {} of {}", format_count(static_cast<int64_t>(count)),
                       counted(static_cast<int64_t>(lines), "validation line"));
  };
  const auto [usual, times] = most_frequent(text.hypotheses);
  if (2 * times >= lines)
    return fmt::format("its translation is {} {}", usual.empty() ? "empty" : quoted(usual), of_lines(times));
  const size_t repetitive = count_lines(text.sources, text.hypotheses, is_repetitive);
  if (2 * repetitive >= lines) return "it repeats the same words over and over " + of_lines(repetitive);
  return is_collapsed ? "its attention looks at all parts of a source alike"
                      : "its translations fit their own sources no better than those of other lines";
}

std::string rate_key(const TrainingOptions& training) {
  return training.schedule == Schedule::noam
             ? fmt::format("training.learning_rate_scale (now {:g})", training.learning_rate_scale)
             : fmt::format("training.learning_rate (now {:g})", training.learning_rate);
}

std::string divergence_text(const FinishedTraining& training) {
  return fmt::format(
      "the training has diverged: the loss on the validation text is {:.4g} per token, and a network that knows "
      "nothing "
      "has {:.2f}. Start again in another --run-folder with a lower {}, more training.warmup_steps, or "
      "training.clip_norm: 1",
      training.loss, std::log(static_cast<double>(training.tokenizer.target().size())),
      rate_key(training.config.training));
}

// True if few enough steps were made that more of them are the first thing to try.
bool is_short(const FinishedTraining& training) {
  constexpr double kFewPasses = 3;
  const TrainingOptions& options = training.config.training;
  if (training.steps < kFewSteps || training.steps <= options.warmup_steps) return true;
  return training.steps < kMostOfShort && (training.is_out_of_time || training.passes < kFewPasses);
}

std::string need_of_time(const FinishedTraining& training) {
  return fmt::format("The training made {}, which is {:.2g} passes over the text; it needs more: a higher {}",
                     counted(training.steps, "step"), training.passes,
                     training.is_out_of_time ? "--minutes (or training.max_minutes)" : "training.max_steps");
}

// Fills the verdict on a model whose translations are no better than trivial ones.
void explain(const FinishedTraining& training, double fit, double fit_of_dictionary, Verdict& verdict) {
  const TranslatedText& text = training.translated;
  const std::vector<std::string>& references = text.references.front();
  const size_t lines = references.size();
  verdict.worth = Worth::none;
  const size_t same = count_lines(text.sources, references, std::equal_to<std::string>());
  if (2 * same >= lines) {
    verdict.problem = fmt::format(
        "source and target are the same in {} of {}, so that copying the source is the best translation. Give the "
        "text of two languages",
        format_count(static_cast<int64_t>(same)), counted(static_cast<int64_t>(lines), "validation line"));
    return;
  }
  if (fit < kSure && fit_of_dictionary < kSure && lines >= kFewestForCause) {
    const TextFiles files = train_files(training.config);
    verdict.problem = fmt::format(
        "the targets do not belong to their sources: neither the model nor a dictionary that was learned from the "
        "training text finds what connects them. Line n of the target must translate line n of the source; to compare "
        "them: paste {} {}",
        files.source.front().path, files.target.front().path);
    return;
  }
  const bool ignores_source = fit < kSure || training.is_collapsed;
  const std::string symptom =
      ignores_source ? symptom_of(text, training.is_collapsed) : "trivial translators do as well, see the scores above";
  if (is_short(training) || (!ignores_source && training.steps < kMostOfShort)) {
    verdict.worth = Worth::not_yet;
    verdict.problem = fmt::format("{}. {}", symptom, need_of_time(training));
  } else if (ignores_source) {
    verdict.problem = fmt::format(
        "{}: the network has not learned to look at the source, or has lost it again. Start again in another "
        "--run-folder with {}",
        symptom, take_off_remedies(training.config.model.model));
  } else {
    verdict.problem = fmt::format(
        "{}. Give more text, train longer, or begin with a finished model (training.initialize_from)", symptom);
  }
}

}  // namespace

std::vector<TrivialTranslations> trivial_translations(const TrainingConfig& config, const Tokenizer& tokenizer,
                                                      const TranslatedText& text) {
  if (text.hypotheses.size() < kFewestLines) return {};
  const std::vector<std::string>& sources = text.sources;
  const SampledText training = sample_training_text(config, kSampledPairs);
  const ParallelText tokens = tokenized(training, tokenizer, length_limits(config));
  return {{"copying the source", sources},
          {"the most frequent target", std::vector<std::string>(sources.size(), most_frequent(training.targets).first)},
          {"piece by piece (Model 1)", by_dictionary(tokens, tokenizer, sources)}};
}

double fit_to_own_lines(const std::vector<std::string>& texts, const std::vector<std::string>& references,
                        const std::vector<std::pair<std::string, size_t>>& languages) {
  const size_t lines = texts.size();
  if (lines < 2) return 0;
  std::vector<std::string> others = references;
  auto begin = others.begin();
  const auto rotate = [&](size_t count) {
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(count / 2), end);
    begin = end;
  };
  for (const auto& [pair, count] : languages) rotate(count);
  rotate(static_cast<size_t>(others.end() - begin));
  const auto own = chrf_segment_counts(texts, {references}), other = chrf_segment_counts(texts, {others});
  double sum = 0, squares = 0;
  for (size_t i = 0; i < lines; ++i) {
    const double difference = chrf_from_counts(own[i]) - chrf_from_counts(other[i]);
    sum += difference;
    squares += difference * difference;
  }
  const auto n = static_cast<double>(lines);
  const double mean = sum / n, variance = std::max(0.0, squares / n - mean * mean);
  constexpr double kSmallest = 1e-9;
  return mean / std::sqrt(std::max(variance, kSmallest) / n);
}

// Before the first steps have had an effect, the loss often is larger by a little: what is drawn is sure of itself.
bool has_diverged(const FinishedTraining& training) {
  const double margin = training.steps < kFewSteps ? 10 : 1.5;
  const double of_ignorance = std::log(static_cast<double>(training.tokenizer.target().size()));
  return !(training.loss < margin * of_ignorance);
}

Verdict judge(const FinishedTraining& training, const std::vector<TrivialTranslations>& trivial) {
  Verdict verdict;
  const TranslatedText& text = training.translated;
  const bool is_judged = !trivial.empty();
  double fit = 0, fit_of_dictionary = 0;
  bool is_better = true;
  if (is_judged) {
    const std::vector<std::string>& references = text.references.front();
    for (const TrivialTranslations& translator : trivial) {
      const TranslatedText other{text.sources, translator.texts, text.references};
      verdict.scores.emplace_back(translator.name, other.bleu());
      is_better = is_better && (is_surely_better(text, other, ValidationMetric::bleu) ||
                                is_surely_better(text, other, ValidationMetric::chrf));
      fit_of_dictionary =
          fit_to_own_lines(other.hypotheses, references, text.languages);  // ends with that of the last one
    }
    fit = fit_to_own_lines(text.hypotheses, references, text.languages);
  }
  if (has_diverged(training)) {
    verdict.worth = Worth::none;
    verdict.problem = divergence_text(training);
  } else if (is_judged && is_better && fit >= kSure) {
    verdict.worth = Worth::some;
  } else if (is_judged) {
    explain(training, fit, fit_of_dictionary, verdict);
  }
  if (verdict.worth == Worth::none) verdict.problem = "the model is worth nothing: " + verdict.problem;
  if (verdict.worth == Worth::not_yet) verdict.problem = "the model is worth nothing yet: " + verdict.problem;
  return verdict;
}

std::string scores_text(const Verdict& verdict, double bleu) {
  if (verdict.scores.empty()) return "";
  std::string text =
      fmt::format("the model's BLEU on the validation text is {:.2f}; that of trivial translators:", bleu);
  for (const auto& [name, score] : verdict.scores)
    text += fmt::format("{} {} {:.2f}", name == verdict.scores.front().first ? "" : ",", name, score);
  return text;
}

}  // namespace v0
}  // namespace transmute
