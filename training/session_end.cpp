// SPDX-License-Identifier: Apache-2.0
// The end of a training: the finished model, its verdict, and which model is recommended.
#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/shell_word.h>
#include <transmute/formats/model_folder.h>
#include <transmute/formats/shortlist_file.h>
#include <transmute/model/module_weights.h>
#include <transmute/training/learned_shortlist.h>
#include <transmute/training/session.h>
#include <transmute/training/text_checks.h>

#include <stdexcept>

namespace transmute {
inline namespace v0 {

// A signal ends it after the phase under way; another start makes the model anew from the last checkpoint. Returns
// false if a signal came before all was done; true on other ranks than 0, which have nothing to do.
bool TrainingSession::finish() {
  const Heartbeat::Work work(heartbeat_.get(), "making the model and validating it");
  end_profile();
  save_checkpoint(false);
  write_report();
  if (!group_.is_first()) return true;
  if (asked_to_stop()) return false;
  const WeightAverage::InPlace averaged(average_ ? &*average_ : nullptr);
  const std::string weights = set_final_weights();
  save_model(folder_.model());
  const std::string text =
      fmt::format("finished after step {}{} ({} target tokens, {} of training)", format_count(state_.step), ended_by(),
                  format_count(state_.target_tokens), format_duration(clock_.seconds()));
  if (!ended_by().empty()) warn_of_early_end(config_, state_.step);
  if (!validator_) {
    log_.info(text);
    report_->warn_if_still_collapsed();
    recommend(RunFolder::kModel);
    return true;
  }
  ValidationScore last = validator_->measure(state_.step);
  if (last.translated.confidence) {
    text_profile_.translations.set(*last.translated.confidence);
    save_model(folder_.model());
  }
  final_score_ = last.summary;
  log_.info(fmt::format("{}; {}: validation {}", text, weights, last.summary));
  if (asked_to_stop()) return false;
  const char* const better = better_model(last);
  if (asked_to_stop()) return false;
  judge_model(last, better);
  if (asked_to_stop()) return false;
  add_shortlist_if_harmless(better, last.translated);
  if (stopped_by_ != 0) return false;  // without the shortlist
  write_report();
  recommend(better);
  return true;
}

// The key of the limit that ended the training before all of its steps; null if none did.
const char* TrainingSession::limit_that_ended() const {
  const TrainingOptions& training = config_.training;
  if (state_.step >= training.max_steps) return nullptr;
  return out_of_patience()                                                ? "validation.patience"
         : training.max_epochs > 0 && state_.epoch >= training.max_epochs ? "training.max_epochs"
                                                                          : "training.max_minutes";
}

std::string TrainingSession::ended_by() const {
  const char* const limit = limit_that_ended();
  return limit == nullptr ? "" : fmt::format(" of {}, by {}", format_count(config_.training.max_steps), limit);
}

// Returns the name of the folder with the better weights, the last or the best ones, whose translations and loss `last`
// then has. The highest of many scores is the highest partly by chance.
const char* TrainingSession::better_model(ValidationScore& last) {
  const bool comparable = state_.best_score && state_.metric == name_of(last.metric);
  if (!comparable || *state_.best_score <= last.score || !load_weights(folder_.best())) return RunFolder::kModel;
  TranslatedText translated;
  if (validator_->translates()) translated = validator_->translate();
  const bool is_better = last.metric == ValidationMetric::loss  // which has no scores of sentences to resample
                         || is_surely_better(translated, last.translated, last.metric);
  log_.info(fmt::format("{} is {} on the validation text: {} against {} of {}", folder_.best(),
                        is_better ? "better" : "not better by more than chance explains",
                        score_text(last.metric, *state_.best_score), score_text(last.metric, last.score),
                        folder_.model()));
  if (!is_better) return RunFolder::kModel;
  last.translated = std::move(translated);
  last.loss = validator_->loss();
  return RunFolder::kBest;
}

// Judges the recommended model. Greedy search may fail where the beam search of `translate` still succeeds, so no model
// is rejected before it has translated with that beam.
void TrainingSession::judge_model(const ValidationScore& last, const char* recommended) {
  const double passes = static_cast<double>(state_.target_tokens) / static_cast<double>(train_text_.epoch_tokens());
  const char* const limit = limit_that_ended();
  TranslatedText translated = last.translated;
  const FinishedTraining training{config_,
                                  tokenizer_,
                                  translated,
                                  last.loss,
                                  state_.step,
                                  passes,
                                  limit != nullptr && std::string(limit) == "training.max_minutes",
                                  report_->is_collapsed()};
  const std::vector<TrivialTranslations> trivial = trivial_translations(config_, tokenizer_, translated);
  verdict_ = judge(training, trivial);
  if (!verdict_.scores.empty()) log_.info(scores_text(verdict_, translated.bleu()));
  const SearchOptions& search = config_.model.search;
  if ((verdict_.worth == Worth::not_yet || verdict_.worth == Worth::none) && !has_diverged(training) &&
      search.beam_size > config_.validation.beam_size && load_weights(path_in(folder_.path(), recommended))) {
    translated = validator_->translate(search);
    log_.info(fmt::format("with beam size {}, as translate searches, its BLEU is {:.2f}", search.beam_size,
                          translated.bleu()));
    if (Verdict by_beam = judge(training, trivial); by_beam.worth == Worth::some) verdict_ = std::move(by_beam);
  }
  if (!verdict_.problem.empty()) log_.warn(verdict_.problem);
  if (verdict_.worth == Worth::unknown) report_->warn_if_still_collapsed();
}

// Puts the weights of one of the run's models into the network, unless its folder has been removed or damaged.
bool TrainingSession::load_weights(const std::string& model) {
  try {
    assign_parameters(replicas_.transformer(), read_weights(model), path_in(model, kWeightsFile));
    return true;
  } catch (const std::runtime_error& error) {
    log_.warn(fmt::format("{} cannot be validated: {}", model, error.what()));
    return false;
  }
}

// Adds a shortlist to one of the run's models if the shortlist saves work and `translated`, the model's translations of
// the validation text, do not get worse with it.
void TrainingSession::add_shortlist_if_harmless(const char* model, const TranslatedText& translated) {
  constexpr double kHarmless = 0.1;           // maximum loss of BLEU
  constexpr int64_t kLeastVocabulary = 1000;  // in smaller vocabularies, a batch's lists have most pieces
  if (verdict_.worth != Worth::some || tokenizer_.target().size() < kLeastVocabulary) return;
  const std::string folder = path_in(folder_.path(), model);
  const std::shared_ptr<const Shortlist> shortlist = learn_shortlist(config_, tokenizer_);
  if (!shortlist_pays(*shortlist, tokenizer_, translated.sources) || asked_to_stop() || !load_weights(folder)) return;
  const double whole = translated.bleu(), listed = validator_->translate(validator_->search(), shortlist).bleu();
  const bool is_harmless = whole - listed < kHarmless;
  log_.info(fmt::format("with a vocabulary shortlist, BLEU is {:.2f} instead of {:.2f}: {}", listed, whole,
                        is_harmless ? "the model gets it" : "the model does without"));
  if (!is_harmless) return;
  const LoadedModel saved = load_model_folder(folder);
  write_folder_atomically(folder, [&](const std::string& partial) {
    save_model_folder(partial, saved.config, saved.tokenizer, saved.weights, kWeightsFile, saved.profile);
    add_shortlist(partial, *shortlist);
  });
}

void TrainingSession::recommend(const char* model) {
  if (const std::string problem = folder_.recommend(model); !problem.empty()) log_.warn(problem);
  const std::string folder = path_in(folder_.path(), model);
  log_.info(fmt::format(
      "the model is in {}; {} --model {}", folder,
      config_.is_language_model() ? "continue text with: transmute generate" : "translate with: transmute translate",
      shell_word(folder)));
}

// Returns a description of the weights for the log.
std::string TrainingSession::set_final_weights() {
  if (average_) return fmt::format("moving average with decay {}", config_.training.ema_decay);
  std::vector<std::string> newest = checkpoints_.list();
  const auto wanted = static_cast<size_t>(config_.training.average_checkpoints);
  if (newest.size() > wanted) newest.erase(newest.begin(), newest.end() - static_cast<int64_t>(wanted));
  try {
    average_parameters(newest, replicas_.transformer());
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(
        fmt::format("cannot make the model, the mean of the last checkpoints: {}. To make it of the others, remove the "
                    "folder of that checkpoint and run the same command again",
                    error.what()));
  }
  return newest.size() == 1 ? "the last checkpoint" : fmt::format("mean of the last {} checkpoints", newest.size());
}

}  // namespace v0
}  // namespace transmute
