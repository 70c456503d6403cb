// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/session.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/training/initial_model.h>
#include <transmute/training/rank_sync.h>
#include <transmute/training/reporting/report.h>
#include <transmute/training/run_text.h>
#include <transmute/training/text_checks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// The head that learns the given alignments.
Guidance guidance_of(const TrainingConfig& config) {
  const TrainingOptions& training = config.training;
  const int64_t layer = guided_layer(training.guided_layer, config.model.model.num_decoder_layers);
  return {training.guided_alignment, layer - 1, training.guided_head - 1};
}

ReplicaOptions replica_options(const TrainingConfig& config, Precision precision) {
  return {precision, config.training.recompute ? Activations::recomputed : Activations::kept,
          consistency_of(config.training), guidance_of(config)};
}

AdamOptions adam_options(const TrainingOptions& training) {
  return {training.adam_beta1, training.adam_beta2, training.adam_epsilon, training.clip_norm, training.weight_decay};
}

}  // namespace

TrainingSession::TrainingSession(const TrainingConfig& config, const std::string& config_yaml,
                                 const TrainerOptions& options, ProcessGroup& group)
    : config_(config),
      config_yaml_(config_yaml),
      options_(options),
      folder_(options.run_folder),
      group_(group),
      heartbeat_(group.is_first() ? std::make_unique<Heartbeat>() : nullptr),
      resolved_(resolve_options(options, config.training)),
      workers_(resolved_.workers, run_operations_on_this_thread_only),
      tokenizer_(prepare_tokenizer()),
      train_text_(prepare_training_text()),
      replicas_(make_transformer(), resolved_.device, workers_, replica_options(config, resolved_.precision)),
      optimizer_(parameters_of(replicas_.transformer()), adam_options(config.training)),
      checkpoints_(folder_.checkpoints()) {
  check_ranks_fit(group_, config_yaml, train_text_, resolved_.device, resolved_.precision);  // the config as given
  if (group_.size() > 1) replicas_.sum_over(group_);
  if (config_.training.ema_decay > 0 && group_.is_first())
    optimizer_.keep_average(average_.emplace(parameters_of(replicas_.transformer()), config_.training.ema_decay));
  if (group_.is_first()) prepare_validation();
  restore();
  optimizer_.keep_rounded(replicas_.rounded_parameters());
  saved_step_ = state_.step;
  start_batches();
  if (!group_.is_first()) return;
  log_.open(folder_, {state_.step, state_.validation_due}, *heartbeat_);
  log_start(facts(), state_);
  warn_of_short_training(config_, train_text_.epoch_tokens(), facts().batches_per_step, state_.step);
}

Tokenizer TrainingSession::prepare_tokenizer() {
  const Heartbeat::Work work(heartbeat_.get(), "reading the text and learning the vocabulary");
  std::optional<Tokenizer> own;
  if (group_.is_first()) {
    lock_ = options_.lock;
    if (!lock_) lock_ = folder_.lock();
    if (!options_.profile.empty()) profile_ = StepProfile(options_.profile);
    folder_.describe_given_vocabulary(config_, config_yaml_);
    folder_.keep_config(config_, config_yaml_);
    check_files(config_, folder_.held_out());
    own = folder_.tokenizer(config_);
  }
  return broadcast_tokenizer(group_, own);
}

TrainingText TrainingSession::prepare_training_text() {
  const Heartbeat::Work work(heartbeat_.get(), "tokenizing the text");
  const bool own_cache = config_.data.cache_folder.empty();
  CorpusCache cache(own_cache ? folder_.cache() : config_.data.cache_folder);
  TrainingText text = open_training_text(config_, tokenizer_, cache, workers_);
  if (group_.is_first()) folder_.keep_text(text.fingerprint());
  if (own_cache && options_.ranks.local_rank == 0) cache.remove_others();
  if (!group_.is_first()) return text;
  log_text("training", config_, text.size(), text.counts());
  text_profile_ = folder_.text_profile(config_);
  return text;
}

Transformer TrainingSession::make_transformer() {
  torch::manual_seed(static_cast<uint64_t>(config_.training.seed));
  Transformer transformer(with_vocabulary(config_.model.model, tokenizer_));
  if (group_.is_first() && !folder_.has_begun() && !config_.training.initialize_from.empty())
    take_weights_of_initial_model(transformer, config_);
  transformer->to(resolved_.device);
  return transformer;
}

void TrainingSession::prepare_validation() {
  if (!config_.has_validation_text())
    return spdlog::info("no validation text ({}): nothing will be validated, and there will be no best/",
                        config_.is_language_model() ? "data.valid_text" : "data.valid_source and data.valid_target");
  LoadedText loaded = load_validation_text(config_, tokenizer_, workers_);
  const ParallelText& text = loaded.text;
  log_text("validation", config_, text.size(),
           {static_cast<int64_t>(text.source.total_tokens()), static_cast<int64_t>(text.target.total_tokens()),
            loaded.left_out, text.source.count(special_ids::kUnknown), text.target.count(special_ids::kUnknown)});
  validator_.emplace(Validator::Parts{config_, tokenizer_, replicas_, workers_, resolved_}, std::move(loaded.text));
}

// Brings rank 0's newest checkpoint to all ranks.
void TrainingSession::restore() {
  if (group_.is_first()) {
    state_ = checkpoints_.restore(trained_parts());
    if (validator_ && start_scores(state_, validator_->metric(), validator_->conditions()))
      spdlog::info(
          "the validation has changed, so that its earlier scores cannot be compared with new ones: the best score and "
          "validation.patience start anew");
  }
  broadcast_state(group_, state_);
  broadcast_weights(group_, replicas_.transformer(), optimizer_, state_.step);
}

// Begins at the state's cursor.
void TrainingSession::start_batches() {
  BatchStreamOptions options;
  options.batch_tokens = config_.training.batch_tokens;
  options.micro_batch_tokens = resolved_.tokens_of_pairs(config_.training);
  options.workers = workers_.size();
  options.seed = static_cast<uint64_t>(config_.training.seed);
  options.prefetch_threads = config_.data.prefetch_threads;
  options.rank = group_.rank();
  options.ranks = group_.size();
  batches_ =
      std::make_unique<BatchStream>(train_text_, options, BatchCursor{state_.epoch, state_.window, state_.batch});
}

bool TrainingSession::reached_end() const {
  const TrainingOptions& training = config_.training;
  return state_.step >= training.max_steps || (training.max_epochs > 0 && state_.epoch >= training.max_epochs) ||
         (training.max_minutes > 0 && steps_->agreed_seconds() >= training.max_minutes * 60) || out_of_patience();
}

bool TrainingSession::out_of_patience() const {
  return config_.validation.patience > 0 && state_.validations_since_best >= config_.validation.patience;
}

void TrainingSession::say_that_all_steps_are_made() {
  const int64_t wanted = config_.training.max_steps;
  if (state_.step == 0 || state_.step < wanted) return;
  const std::string made = state_.step == wanted
                               ? fmt::format("all {} of training.max_steps are made", counted(wanted, "step"))
                               : fmt::format("the run has made {}, and training.max_steps is {}",
                                             counted(state_.step, "step"), format_count(wanted));
  log_.info(fmt::format("{}; to continue: --set training.max_steps={}", made, 2 * state_.step));
}

int TrainingSession::run(const std::function<int()>& stop_signal) {
  stop_signal_ = stop_signal;
  clock_ = Stopwatch(state_.seconds);
  steps_.emplace(StepParts{config_, group_, workers_, replicas_, optimizer_, *batches_, clock_}, state_,
                 StepOptions{resolved_.overlaps_steps, stop_signal, [this](const auto& text) { log_.warn(text); }});
  report_.emplace(StepReportParts{config_, state_, clock_, *steps_, replicas_.transformer(), log_});
  say_that_all_steps_are_made();
  is_planning_ = options_.plan && state_.step < config_.training.warmup_steps;
  const Heartbeat::Work work(heartbeat_.get(), [this](double) { return report_->describe_step(); });
  if (state_.validation_due) {
    validate();
    // The checkpoint of the stop was written without the result: another start would validate again.
    saved_step_ = -1;
    save_checkpoint(state_.is_interim && !(config_.training.keep_best > 0 && state_.score));
  }
  while (!reached_end()) {
    after_step(train_step());
    if (steps_->stopped_by() == 0) continue;
    end_profile();
    return stop(steps_->stopped_by());
  }
  steps_->finish();
  const std::vector<int64_t> signals = group_.gather(finish() ? 0 : stopped_by_);
  const auto signal = static_cast<int>(*std::max_element(signals.begin(), signals.end()));
  return signal == 0 ? 0 : stop(signal);
}

// Plans, validates and writes a checkpoint, if these are due. `trained`: the step was not skipped and is not pending.
void TrainingSession::after_step(bool trained) {
  const bool stopped = steps_->stopped_by() != 0;
  if (trained && is_planning_) plan();
  state_.validation_due = trained && !is_planning_ && state_.step % config_.validation.every == 0;
  if (state_.validation_due && !stopped) validate();
  const bool due = trained && (state_.step % config_.training.checkpoint_every == 0 ||
                               (config_.training.keep_best > 0 && state_.score.has_value()));
  if (due || stopped) save_checkpoint(/*is_interim=*/!due);
}

// Called during the warm-up. Adapts what depends on the number of steps to the speed so far.
void TrainingSession::plan() {
  constexpr int64_t kFirstSteps = 5;
  constexpr double kFirstShare = 0.02;
  const TrainingOptions& training = config_.training;
  const double share = clock_.seconds() / (training.max_minutes * 60);
  if (state_.step < kFirstSteps || share < kFirstShare) return;
  const double steps = std::min(static_cast<double>(training.max_steps), static_cast<double>(state_.step) / share);
  options_.plan(config_, std::max<int64_t>(1, std::llround(steps)));
  if (state_.step < training.warmup_steps) return;
  is_planning_ = false;
  ConfigSchema schema;
  config_.declare(schema);
  config_yaml_ = schema.to_yaml();
  write_file_atomically(path_in(folder_.path(), kConfigFile), config_yaml_);
  log_.info(fmt::format("at the speed of the warm-up of {}, the time allows about {} in all",
                        counted(training.warmup_steps, "step"), counted(std::llround(steps), "step")));
}

// Takes a step and reports it. Returns false if it was skipped or has not ended yet.
bool TrainingSession::train_step() {
  if (profile_.begin_step()) log_profile();
  const bool trained = steps_->take(profile_.trace());
  report_->after_step();
  if (trained && group_.is_first() && state_.step % config_.training.log_every == 0) report_->write_metrics();
  return trained;
}

// Checks for a stop signal after the last step; Steps checks during the steps.
bool TrainingSession::asked_to_stop() {
  if (stopped_by_ == 0 && stop_signal_) stopped_by_ = stop_signal_();
  return stopped_by_ != 0;
}

int TrainingSession::stop(int signal) {
  write_report();
  log_.info(fmt::format("stopped after step {}; the same command continues from there", format_count(state_.step)));
  group_.wait_for_all();
  return signal;
}

void TrainingSession::log_profile() {
  log_.info(fmt::format("profile: wrote {}; chrome://tracing and ui.perfetto.dev open it", profile_.path()));
}

void TrainingSession::end_profile() {
  if (profile_.write()) log_profile();
  if (profile_.is_empty())
    log_.warn(fmt::format("profile: {} is empty, because this start made fewer than {} steps; let it run longer",
                          profile_.path(), StepProfile::kFirst));
}

// Runs on rank 0; the other ranks wait to learn whether these weights are the best ones.
void TrainingSession::validate() {
  const Heartbeat::Work work(heartbeat_.get(), "validating");
  state_.validation_due = false;
  if (!config_.has_validation_text()) return;
  const Stopwatch pause;
  if (group_.is_first()) score_and_keep_best();
  broadcast_state(group_, state_);
  report_->leave_out(pause);  // validation does not count in tokens/s
}

void TrainingSession::score_and_keep_best() {
  const WeightAverage::InPlace averaged(average_ ? &*average_ : nullptr);
  ValidationScore measured = validator_->measure(state_.step);
  if (measured.translated.confidence) text_profile_.translations.set(*measured.translated.confidence);
  if (note_score(state_, measured.score)) {
    save_model(folder_.best());
    measured.text += " (the best so far)";
  }
  measured.record["seconds"] = clock_.seconds();
  log_.record(measured.record);
  write_report();
  log_.info(measured.text);
  if (out_of_patience())
    log_.info(fmt::format("no better {} in {}: training ends", name_of(measured.metric),
                          counted(config_.validation.patience, "validation")));
}

void TrainingSession::save_model(const std::string& folder) {
  write_folder_atomically(folder, [&](const std::string& partial) {
    save_model_folder(partial, config_yaml_, tokenizer_, weights_of(replicas_.transformer()), kWeightsFile,
                      text_profile_);
  });
}

void TrainingSession::save_checkpoint(bool is_interim) {
  if (saved_step_ == state_.step) return;
  const Stopwatch pause;
  saved_step_ = state_.step;
  check_weights_equal(group_, replicas_.transformer(), state_.step);
  if (!group_.is_first()) return;
  TrainState state = state_;
  state.seconds = clock_.seconds();
  state.is_interim = is_interim;
  const TrainingOptions& training = config_.training;
  checkpoints_.save(
      state, {config_yaml_, tokenizer_, text_profile_}, trained_parts(),
      {training.keep_checkpoints, training.keep_best, training.keep_every, state_.metric, state_.conditions});
  if (!config_.has_validation_text()) write_report();  // otherwise this is done at each validation
  report_->leave_out(pause);
}

RunFacts TrainingSession::facts() const {
  return {config_,
          options_.ranks,
          resolved_,
          parameter_count(with_vocabulary(config_.model.model, tokenizer_)),
          static_cast<int64_t>(train_text_.size()),
          config_.training.accumulate_batches * group_.size(),
          guidance_of(config_)};
}

void TrainingSession::write_report() const {
  if (!group_.is_first()) return;
  ReportContent content;
  content.title = "Training of " + folder_.name();
  content.facts = report_facts(facts(), state_, clock_.seconds(), final_score_, verdict_);
  content.problem = verdict_.problem;
  content.records = log_.records();
  content.smooths_labels = config_.training.label_smoothing > 0;
  content.config = config_yaml_;
  write_file_atomically(folder_.report(), report_html(content));
}

}  // namespace v0
}  // namespace transmute
