#include <transmute/training/trainer.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <torch/version.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/common/random.h>
#include <transmute/common/text_file.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/threading.h>
#include <transmute/training/batch_stream.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/corpus_cache.h>
#include <transmute/training/metrics_log.h>
#include <transmute/training/replicas.h>
#include <transmute/training/schedule.h>
#include <transmute/translation/bleu.h>
#include <transmute/translation/chrf.h>
#include <transmute/translation/device.h>
#include <transmute/translation/engine.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> paths_in(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(path_in(folder, file));
  return paths;
}

TextFiles train_files(const DataOptions& data) {
  return {paths_in(data.folder, data.train_source), paths_in(data.folder, data.train_target)};
}

TextFiles valid_files(const DataOptions& data) {
  return {paths_in(data.folder, data.valid_source), paths_in(data.folder, data.valid_target)};
}

std::vector<std::string> first_lines(const std::vector<std::string>& paths, int64_t count) {
  std::vector<std::string> lines;
  const LineSource source = lines_of(paths);
  for (std::string line; static_cast<int64_t>(lines.size()) < count && source(line);) lines.push_back(line);
  return lines;
}

// The validation text by the present weights, beside what it should be.
struct TranslatedText {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;

  double bleu() const { return corpus_bleu(hypotheses, references).score; }
  double chrf(int64_t word_order) const {
    ChrfOptions options;
    options.word_order = word_order;
    return corpus_chrf(hypotheses, references, options);
  }
};

Precision resolve(Precision precision, torch::Device device) {
  if (precision != Precision::automatic) return precision;
  return !device.is_cpu() || cpu_has_bfloat16() ? Precision::bfloat16 : Precision::float32;
}

// What a resumed run may not change: the network, and where in the text the checkpoint stands.
bool is_fixed_for_a_run(const std::string& key) {
  if (key == "data.cache_folder" || key == "data.prefetch_threads") return false;
  for (const char* prefix : {"model.", "tokenizer.", "data."})
    if (key.rfind(prefix, 0) == 0) return true;
  return key == "training.seed" || key == "training.batch_tokens" || key == "training.accumulate_batches";
}

void compare_with_kept_config(const std::string& kept_path, const ConfigSchema& now) {
  TrainingConfig kept_config;
  ConfigSchema kept;
  kept_config.declare(kept);
  kept.read_file(kept_path);
  const auto old_values = kept.values();
  const auto new_values = now.values();
  for (size_t i = 0; i < new_values.size(); ++i) {
    const auto& [key, value] = new_values[i];
    if (value == old_values[i].second) continue;
    if (is_fixed_for_a_run(key))
      throw std::invalid_argument(
          fmt::format("{}: this run was begun with {}: {}, which cannot become {} on the way; take another "
                      "--run-folder, or the old value",
                      kept_path, key, old_values[i].second, value));
    spdlog::info("config: {} changes from {} to {}", key, old_values[i].second, value);
  }
}

}  // namespace

// Everything that lives as long as the training does.
class Trainer::Session {
 public:
  Session(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options);
  TrainingEnd run(const std::function<bool()>& should_stop);

 private:
  // Sums since the last line of metrics.
  struct Window {
    LossSum loss;
    int64_t source_tokens = 0;
    Clock::time_point start = Clock::now();
  };

  void prepare_run_folder();
  Tokenizer prepare_tokenizer();
  TrainingText prepare_training_text();
  ParallelText load_validation_text();
  void report_text(const char* name, size_t pairs, const TextCounts& counts) const;
  void start_batches();
  Transformer make_transformer();
  void report_start() const;

  bool reached_end() const;
  bool out_of_patience() const;
  double learning_rate_of(int64_t step) const;
  void pass_over(int64_t step, double loss, const std::vector<std::vector<torch::Tensor>>& gradients);
  bool train_step();
  double seconds() const { return state_.seconds + seconds_since(started_); }
  PreparedBatch next_batch();
  void report_progress();
  void write_metrics();
  void validate();
  TranslatedText translate_validation_text();
  bool is_best(ValidationMetric metric, double score);
  void save_checkpoint();
  void finish();
  void profile_step();
  void write_profile();
  void say(const std::string& text);

  TrainingConfig config_;
  std::string config_yaml_;
  TrainerOptions options_;
  torch::Device device_;
  Precision precision_;  // never automatic
  WorkerCrew workers_;
  ProgressLine progress_;

  Tokenizer tokenizer_;
  TrainingText train_text_;
  std::optional<ParallelText> valid_text_;
  Replicas replicas_;
  Adam optimizer_;
  CheckpointStore checkpoints_;
  TrainState state_;
  std::unique_ptr<MetricsLog> metrics_;

  std::unique_ptr<BatchStream> batches_;
  double epoch_done_ = 0;  // share of the present epoch
  Clock::time_point started_ = Clock::now();
  Window window_;
  double last_gradient_norm_ = 0;
  int64_t skipped_steps_ = 0;  // in a row
  int64_t saved_step_ = -1;

  std::unique_ptr<Trace> trace_;  // while profiling
  int64_t profiled_steps_ = 0;
};

Trainer::Session::Session(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options)
    : config_(config),
      config_yaml_(config_yaml),
      options_(options),
      device_(parse_device(options.device)),
      precision_(resolve(config.training.precision, device_)),
      workers_(worker_count(options.threads, device_), run_operations_on_this_thread_only),
      tokenizer_((prepare_run_folder(), prepare_tokenizer())),
      train_text_(prepare_training_text()),
      replicas_(make_transformer(), device_, workers_, precision_),
      optimizer_(parameters_of(replicas_.transformer()),
                 {config.training.adam_beta1, config.training.adam_beta2, config.training.adam_epsilon,
                  config.training.clip_norm, config.training.weight_decay}),
      checkpoints_(path_in(options.run_folder, "checkpoints")) {
  if (!config_.data.valid_source.empty()) valid_text_ = load_validation_text();
  state_ = checkpoints_.restore(replicas_.transformer(), optimizer_);
  optimizer_.keep_rounded(replicas_.rounded_parameters(), workers_);
  saved_step_ = state_.step;
  start_batches();
  metrics_ = std::make_unique<MetricsLog>(path_in(options.run_folder, "metrics.jsonl"), state_.step);
  if (!options.profile.empty()) Trace().write(options.profile);  // now rather than after 24 steps, if it cannot be
  report_start();
}

void Trainer::Session::prepare_run_folder() {
  ensure_writable_folder(options_.run_folder);
  const std::string kept = path_in(options_.run_folder, kConfigFile);
  if (fs::exists(kept)) {
    TrainingConfig config = config_;
    ConfigSchema schema;
    config.declare(schema);
    compare_with_kept_config(kept, schema);
  }
  write_file_atomically(kept, config_yaml_);
}

Tokenizer Trainer::Session::prepare_tokenizer() {
  if (Tokenizer::exists(options_.run_folder)) return Tokenizer::load(options_.run_folder);
  spdlog::info("learning a vocabulary of {} pieces from the training text",
               format_count(config_.model.tokenizer.vocab_size));
  const TextFiles files = train_files(config_.data);
  Tokenizer tokenizer = train_tokenizer(config_.model.tokenizer, lines_of(files.source), lines_of(files.target));
  tokenizer.save(options_.run_folder);
  release_freed_memory();  // learning takes far more than what follows
  return tokenizer;
}

TrainingText Trainer::Session::prepare_training_text() {
  const DataOptions& data = config_.data;
  const TextFiles files = train_files(data);
  const LengthLimits limits{data.max_source_tokens, data.max_target_tokens};
  const bool own_cache = data.cache_folder.empty();
  CorpusCache cache(own_cache ? path_in(options_.run_folder, "cache") : data.cache_folder);
  std::vector<Corpus> corpora;
  for (size_t i = 0; i < files.source.size(); ++i)
    corpora.push_back({cache.open(files.source[i], files.target[i], tokenizer_, limits, workers_),
                       data.train_weights.empty() ? 1.0 : data.train_weights[i]});
  if (own_cache) cache.remove_others();
  TrainingText text(std::move(corpora));
  if (text.size() == 0) refuse_empty_text(files, text.counts().left_out, limits);
  report_text("training", text.size(), text.counts());
  text.sample_subwords(tokenizer_, {data.source_sampling, data.target_sampling}, limits);
  return text;
}

ParallelText Trainer::Session::load_validation_text() {
  const LengthLimits limits{config_.data.max_source_tokens, config_.data.max_target_tokens};
  LoadedText loaded = load_parallel_text(valid_files(config_.data), tokenizer_, limits, workers_);
  report_text("validation", loaded.text.size(),
              {static_cast<int64_t>(loaded.text.source.total_tokens()),
               static_cast<int64_t>(loaded.text.target.total_tokens()), loaded.left_out});
  return std::move(loaded.text);
}

void Trainer::Session::report_text(const char* name, size_t pairs, const TextCounts& counts) const {
  spdlog::info("{} text: {} sentence pairs, {} source and {} target tokens", name,
               format_count(static_cast<int64_t>(pairs)), format_count(counts.source_tokens),
               format_count(counts.target_tokens));
  const LeftOut& out = counts.left_out;
  if (out.total() > 0)
    spdlog::warn("{} text: {} pairs left out: {} empty, {} with a source over {} tokens, {} with a target over {}",
                 name, format_count(out.total()), out.empty, out.long_source, config_.data.max_source_tokens,
                 out.long_target, config_.data.max_target_tokens);
}

// From where the state stands.
void Trainer::Session::start_batches() {
  if (state_.window < 0 && state_.batch > 0 && train_text_.windows() > 1)
    throw std::runtime_error(
        fmt::format("the newest checkpoint in {} was written by an older transmute, which went through large texts in "
                    "another order; go on with that one, or take another --run-folder",
                    options_.run_folder));
  state_.window = std::max<int64_t>(state_.window, 0);
  BatchStreamOptions options;
  options.batch_tokens = config_.training.batch_tokens;
  options.piece_tokens = config_.training.piece_tokens;
  options.workers = workers_.size();
  options.seed = static_cast<uint64_t>(config_.training.seed);
  options.prefetch_threads = config_.data.prefetch_threads;
  batches_ =
      std::make_unique<BatchStream>(train_text_, options, BatchCursor{state_.epoch, state_.window, state_.batch});
}

Transformer Trainer::Session::make_transformer() {
  torch::manual_seed(static_cast<uint64_t>(config_.training.seed));
  Transformer transformer(with_vocabulary(config_.model.model, tokenizer_));
  transformer->to(device_);
  return transformer;
}

void Trainer::Session::report_start() const {
  spdlog::info("LibTorch {}, device {}, {} workers, {} products, {} parameters", TORCH_VERSION, device_.str(),
               workers_.size(), precision_ == Precision::bfloat16 ? "bfloat16" : "float32",
               format_count(parameter_count(with_vocabulary(config_.model.model, tokenizer_))));
  if (const std::string warning = slow_blas_warning(); !warning.empty() && device_.is_cpu()) spdlog::warn(warning);
  if (precision_ == Precision::bfloat16 && device_.is_cpu() && !cpu_has_bfloat16())
    spdlog::warn("training.precision is bfloat16, but this CPU has no instructions for it: float32 will be faster");
  if (state_.step > 0) spdlog::info("resuming after step {} (epoch {})", format_count(state_.step), state_.epoch + 1);
}

void Trainer::Session::say(const std::string& text) {
  progress_.clear();
  spdlog::info(text);
}

bool Trainer::Session::reached_end() const {
  const TrainingOptions& training = config_.training;
  return state_.step >= training.max_steps || (training.max_epochs > 0 && state_.epoch >= training.max_epochs) ||
         (training.max_minutes > 0 && seconds() >= training.max_minutes * 60) || out_of_patience();
}

bool Trainer::Session::out_of_patience() const {
  return config_.validation.patience > 0 && state_.validations_since_best >= config_.validation.patience;
}

double Trainer::Session::learning_rate_of(int64_t step) const {
  const TrainingOptions& training = config_.training;
  return learning_rate(
      step, {config_.model.model.d_model, training.warmup_steps, training.learning_rate_scale, training.schedule,
             training.learning_rate, training.min_learning_rate, training.max_steps});
}

TrainingEnd Trainer::Session::run(const std::function<bool()>& should_stop) {
  started_ = Clock::now();
  window_ = {};
  while (!reached_end()) {
    if (!options_.profile.empty()) profile_step();
    const bool trained = train_step();
    report_progress();
    const bool stop = should_stop && should_stop();
    if (trained && state_.step % config_.training.log_every == 0) write_metrics();
    if (trained && state_.step % config_.validation.every == 0 && !stop) validate();
    if ((trained && state_.step % config_.training.checkpoint_every == 0) || stop) save_checkpoint();
    if (stop) {
      write_profile();
      say(fmt::format("stopped after step {}; the same command goes on from there", format_count(state_.step)));
      return TrainingEnd::stopped;
    }
  }
  finish();
  return TrainingEnd::finished;
}

// Before each step: traces steps from the one on that finds caches and memory warm, to a file that stays small enough
// to be opened.
void Trainer::Session::profile_step() {
  constexpr int64_t kFirst = 5;
  constexpr int64_t kLast = 24;
  ++profiled_steps_;
  if (profiled_steps_ == kFirst) trace_ = std::make_unique<Trace>(Trace::Operations::yes);
  if (profiled_steps_ != kLast + 1) return;
  write_profile();
}

void Trainer::Session::write_profile() {
  if (!trace_) return;
  trace_->write(options_.profile);
  trace_.reset();
  say(fmt::format("profile: wrote {}; chrome://tracing and ui.perfetto.dev open it", options_.profile));
}

// The next batch; the cursor goes on behind it.
PreparedBatch Trainer::Session::next_batch() {
  const Trace::Span span(trace_.get(), "data");
  PreparedBatch batch = batches_->next();
  state_.epoch = batch.next.epoch;
  state_.window = batch.next.window;
  state_.batch = batch.next.batch;
  epoch_done_ = batch.epoch_done;
  return batch;
}

// False where the step was passed over: the cursor in the text moved, nothing else.
bool Trainer::Session::train_step() {
  const Trace::Span span(trace_.get(), "step");
  std::vector<PreparedBatch> batches;
  while (static_cast<int64_t>(batches.size()) < config_.training.accumulate_batches) batches.push_back(next_batch());
  int64_t step_tokens = 0;
  for (const auto& batch : batches) step_tokens += batch.target_tokens;

  const int64_t step = state_.step + 1;
  LossSum loss;
  for (size_t b = 0; b < batches.size(); ++b) {
    const StepInput input{std::move(batches[b].pieces), step_tokens,
                          combine_keys(static_cast<uint64_t>(config_.training.seed), static_cast<uint64_t>(step), b)};
    const LossSum part = replicas_.accumulate_gradients(input, config_.training.label_smoothing, trace_.get());
    loss.sum += part.sum;
    loss.tokens += part.tokens;
    window_.source_tokens += batches[b].source_tokens;
  }
  {
    const Trace::Span update_span(trace_.get(), "optimizer");
    const auto gradients = replicas_.gradients();
    // A loss that is not finite must not touch the weights, though the gradient may look sound.
    last_gradient_norm_ = std::isfinite(loss.sum) ? optimizer_.update(gradients, learning_rate_of(step), workers_)
                                                  : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(last_gradient_norm_)) {
      pass_over(step, loss.sum / static_cast<double>(loss.tokens), gradients);
      replicas_.clear_gradients();
      return false;
    }
    replicas_.clear_gradients();
  }
  skipped_steps_ = 0;
  state_.step = step;
  state_.target_tokens += loss.tokens;
  window_.loss.sum += loss.sum;
  window_.loss.tokens += loss.tokens;
  return true;
}

// The step has no finite loss or gradient, and the weights are as they were before it. Goes on with the next batch, or
// ends the run where that happens too often.
void Trainer::Session::pass_over(int64_t step, double loss, const std::vector<std::vector<torch::Tensor>>& gradients) {
  const auto is_sound = [](const torch::Tensor& x) { return !x.defined() || x.isfinite().all().item<bool>(); };
  const NamedTensors parameters = parameters_of(replicas_.transformer());
  std::string first_weight, first_gradient;
  int64_t unsound = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (first_weight.empty() && !is_sound(parameters[p].second)) first_weight = parameters[p].first;
    const bool sound =
        std::all_of(gradients.begin(), gradients.end(), [&](const auto& share) { return is_sound(share[p]); });
    if (sound) continue;
    if (unsound++ == 0) first_gradient = parameters[p].first;
  }
  std::string where = "all gradients are finite";
  if (unsound > 0)
    where = fmt::format("gradients of {} of {} parameters are not finite, the first {}", unsound, parameters.size(),
                        first_gradient);
  if (!first_weight.empty()) where = fmt::format("the weights of {} are not finite", first_weight);
  const std::string what =
      fmt::format("step {} (epoch {}, before batch {}) diverged: loss {}, learning rate {:.3g}; {}", step,
                  state_.epoch + 1, state_.batch + 1, loss, learning_rate_of(step), where);
  if (++skipped_steps_ > config_.training.max_skipped_steps)
    throw std::runtime_error(
        what +
        ". The weights are as they were before it. Go on from the last checkpoint with a lower "
        "training.learning_rate_scale (or learning_rate), more training.warmup_steps, or training.clip_norm: 1; "
        "training.max_skipped_steps passes over single bad batches");
  progress_.clear();
  spdlog::warn("{}; passed over ({} of at most {} in a row)", what, skipped_steps_, config_.training.max_skipped_steps);
}

void Trainer::Session::report_progress() {
  if (!progress_.visible()) return;
  const TrainingOptions& training = config_.training;
  double done = static_cast<double>(state_.step) / static_cast<double>(training.max_steps);
  if (training.max_minutes > 0) done = std::max(done, seconds() / (training.max_minutes * 60));
  if (training.max_epochs > 0) {
    const double epochs = static_cast<double>(state_.epoch) + epoch_done_;
    done = std::max(done, epochs / static_cast<double>(training.max_epochs));
  }
  const double window_seconds = std::max(seconds_since(window_.start), 1e-9);
  progress_.show(
      done, fmt::format("step {} | epoch {} | loss {:.3f} | {} tok/s | ETA {}", state_.step, state_.epoch + 1,
                        window_.loss.sum / static_cast<double>(std::max<int64_t>(window_.loss.tokens, 1)),
                        format_count(static_cast<int64_t>(static_cast<double>(window_.loss.tokens) / window_seconds)),
                        format_duration(seconds() * (1 - done) / std::max(done, 1e-9))));
}

void Trainer::Session::write_metrics() {
  const double elapsed = seconds_since(window_.start);
  const double loss = window_.loss.sum / static_cast<double>(window_.loss.tokens);
  const double rate = learning_rate_of(state_.step);
  const double target_rate = static_cast<double>(window_.loss.tokens) / elapsed;
  metrics_->write({{"type", "train"},
                   {"step", state_.step},
                   {"epoch", state_.epoch},
                   {"loss", loss},
                   {"learning_rate", rate},
                   {"gradient_norm", last_gradient_norm_},
                   {"target_tokens", state_.target_tokens},
                   {"target_tokens_per_second", target_rate},
                   {"source_tokens_per_second", static_cast<double>(window_.source_tokens) / elapsed},
                   {"seconds", seconds()}});
  if (!progress_.visible())
    say(fmt::format("step {} | epoch {} | loss {:.4f} | learning rate {:.3g} | gradient norm {:.3f} | {} tok/s",
                    state_.step, state_.epoch + 1, loss, rate, last_gradient_norm_,
                    format_count(static_cast<int64_t>(target_rate))));
  window_ = {};
}

TranslatedText Trainer::Session::translate_validation_text() {
  Transformer& transformer = replicas_.transformer();
  transformer->eval();
  const TranslationEngine engine(transformer, tokenizer_, device_, InferencePrecision::float32,
                                 [this](size_t count, const std::function<void(size_t)>& task) {
                                   workers_.for_each_piece(count, 1, [&](size_t i, size_t, int) { task(i); });
                                 });
  TranslationOptions options;
  options.search.beam_size = config_.validation.beam_size;
  options.search.length_alpha = config_.validation.length_alpha;
  const TextFiles files = valid_files(config_.data);
  TranslatedText text;
  for (const auto& translation : engine.translate(first_lines(files.source, config_.validation.max_sentences), options))
    text.hypotheses.push_back(translation.hypotheses.front().text);
  text.references = {first_lines(files.target, config_.validation.max_sentences)};
  return text;
}

void Trainer::Session::validate() {
  if (!valid_text_) return;
  const auto start = Clock::now();
  const LossSum loss = replicas_.evaluate(*valid_text_, config_.training.piece_tokens);
  const double per_token = loss.sum / static_cast<double>(loss.tokens);
  nlohmann::ordered_json record{
      {"type", "validation"}, {"step", state_.step}, {"loss", per_token}, {"perplexity", std::exp(per_token)}};
  std::string text = fmt::format("validation after step {}: loss {:.4f}, perplexity {:.3f}", state_.step, per_token,
                                 std::exp(per_token));
  ValidationMetric metric = ValidationMetric::loss;
  double score = -per_token;
  if (config_.validation.max_sentences > 0) {
    metric = config_.validation.metric;
    const TranslatedText translated = translate_validation_text();
    const double bleu = translated.bleu(), chrf = translated.chrf(0), chrf_plus_plus = translated.chrf(2);
    record["bleu"] = bleu;
    record["chrf"] = chrf;
    record["chrf++"] = chrf_plus_plus;
    text += fmt::format(", BLEU {:.2f}, chrF {:.2f}, chrF++ {:.2f}", bleu, chrf, chrf_plus_plus);
    if (metric == ValidationMetric::bleu) score = bleu;
    if (metric == ValidationMetric::chrf) score = chrf;
    if (metric == ValidationMetric::chrf_plus_plus) score = chrf_plus_plus;
  }
  if (is_best(metric, score)) {
    write_folder_atomically(path_in(options_.run_folder, "best"), [&](const std::string& folder) {
      save_model_folder(folder, config_yaml_, tokenizer_, replicas_.transformer());
    });
    text += " (the best so far)";
  }
  record["seconds"] = seconds();
  metrics_->write(record);
  say(text);
  if (out_of_patience())
    say(fmt::format("no better {} in {} validations: training ends", name_of(metric), config_.validation.patience));
  window_.start += Clock::now() - start;  // tokens/s is of training
}

// Notes a validation's score, the higher the better. One by another metric than before begins anew.
bool Trainer::Session::is_best(ValidationMetric metric, double score) {
  if (state_.metric != name_of(metric)) state_.best_score.reset();
  state_.metric = name_of(metric);
  const bool better = !state_.best_score || score > *state_.best_score;
  if (better) state_.best_score = score;
  state_.validations_since_best = better ? 0 : state_.validations_since_best + 1;
  return better;
}

void Trainer::Session::save_checkpoint() {
  if (saved_step_ == state_.step) return;
  const auto start = Clock::now();
  TrainState state = state_;
  state.seconds = seconds();
  checkpoints_.save(state, config_yaml_, tokenizer_, replicas_.transformer(), optimizer_,
                    config_.training.keep_checkpoints);
  saved_step_ = state_.step;
  window_.start += Clock::now() - start;
}

void Trainer::Session::finish() {
  write_profile();
  save_checkpoint();
  std::vector<std::string> newest = checkpoints_.list();
  const auto wanted = static_cast<size_t>(config_.training.average_checkpoints);
  if (newest.size() > wanted) newest.erase(newest.begin(), newest.end() - static_cast<int64_t>(wanted));
  average_parameters(newest, replicas_.transformer());
  const std::string folder = path_in(options_.run_folder, "model");
  write_folder_atomically(folder, [&](const std::string& partial) {
    save_model_folder(partial, config_yaml_, tokenizer_, replicas_.transformer());
  });
  std::string text = fmt::format("finished after step {} ({} target tokens, {} of training)", format_count(state_.step),
                                 format_count(state_.target_tokens), format_duration(seconds()));
  if (valid_text_ && config_.validation.max_sentences > 0)
    text += fmt::format("; mean of the last {} checkpoints: validation BLEU {:.2f}", newest.size(),
                        translate_validation_text().bleu());
  say(text);
  say(fmt::format("the model is in {0}; translate with: translate --model {0}", folder));
}

Trainer::Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options) {
  config.check();
  session_ = std::make_unique<Session>(config, config_yaml, options);
}

Trainer::~Trainer() = default;

TrainingEnd Trainer::run(const std::function<bool()>& should_stop) {
  return session_->run(should_stop);
}

}  // namespace v0
}  // namespace transmute
