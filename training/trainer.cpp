// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/trainer.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <torch/cuda.h>
#include <torch/version.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/memory.h>
#include <transmute/common/progress.h>
#include <transmute/common/random.h>
#include <transmute/common/text_file.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/chrf.h>
#include <transmute/model/kernels/simd.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/threading.h>
#include <transmute/training/build_info.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/data/batch_stream.h>
#include <transmute/training/data/corpus_cache.h>
#include <transmute/training/distributed/process_group.h>
#include <transmute/training/host_copy.h>
#include <transmute/training/replicas.h>
#include <transmute/training/reporting/metrics_log.h>
#include <transmute/training/reporting/report.h>
#include <transmute/training/reporting/tensorboard.h>
#include <transmute/training/schedule.h>
#include <transmute/training/source_signal.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/files/device.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

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

TextFiles train_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.train_text)};
  return {paths_in(data.folder, data.train_source), paths_in(data.folder, data.train_target)};
}

TextFiles valid_files(const TrainingConfig& config) {
  const DataOptions& data = config.data;
  if (config.is_language_model()) return {{}, paths_in(data.folder, data.valid_text)};
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
  std::vector<std::string> sources;
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;

  double bleu() const { return corpus_bleu(hypotheses, references).score; }
  double chrf(int64_t word_order) const {
    ChrfOptions options;
    options.word_order = word_order;
    return corpus_chrf(hypotheses, references, options);
  }

  // A few sentences from all over the text, the same ones every time.
  Json samples() const {
    constexpr size_t kCount = 5;
    Json found = Json::array();
    const size_t count = std::min(kCount, sources.size());
    for (size_t i = 0; i < count; ++i) {
      const size_t line = i * sources.size() / count;
      found.push_back(
          {{"source", sources[line]}, {"reference", references.front()[line]}, {"translation", hypotheses[line]}});
    }
    return found;
  }
};

const char* name_of(kernels::Simd simd) {
  switch (simd) {
    case kernels::Simd::avx2:
      return "AVX2";
    case kernels::Simd::avx512:
    case kernels::Simd::avx512_vnni:
      return "AVX-512";
    case kernels::Simd::avx512_bf16:
      return "AVX-512 with bfloat16";
    case kernels::Simd::amx:
      return "AVX-512 with bfloat16 tiles (AMX)";
    default:
      return "baseline";
  }
}

Precision resolve(std::optional<Precision> precision, torch::Device device) {
  if (precision) return *precision;
  return !device.is_cpu() || cpu_has_bfloat16() ? Precision::bfloat16 : Precision::float32;
}

// Says what differs from the config that the run was begun with, all of it, before it refuses some of it.
void compare_with_kept_config(const std::string& kept_path, const ConfigSchema& now) {
  std::vector<std::string> refused;
  for (const ConfigChange& change : changes_since(kept_path, now)) {
    if (change.refused) {
      refused.push_back(fmt::format("{}: {}, which cannot become {}", change.key, change.before, change.now));
    } else {
      spdlog::info(fmt::format("config: {} changes from {} to {}", change.key, change.before, change.now));
    }
  }
  if (!refused.empty())
    throw std::invalid_argument(
        fmt::format("{}: this run was begun with {} on the way; take another --run-folder, or the old value{}",
                    kept_path, fmt::join(refused, "; "), refused.size() > 1 ? "s" : ""));
}

// A few pairs of a batch, for what is measured beside the training.
Batch first_rows(const Batch& batch) {
  constexpr int64_t kRows = 16;
  const int64_t rows = std::min(kRows, batch.source.size(0));
  Batch first;
  first.source = batch.source.narrow(0, 0, rows);
  first.target_in = batch.target_in.narrow(0, 0, rows);
  first.target_out = batch.target_out.narrow(0, 0, rows);
  return first;
}

// Of this process: "cuda" and "auto" are the GPU that has this rank's number.
torch::Device device_of(const TrainerOptions& options) {
  const torch::Device device = parse_device(options.device);
  if (!device.is_cuda() || options.ranks.size == 1 || options.device.find(':') != std::string::npos) return device;
  const int index = options.ranks.local_rank % static_cast<int>(torch::cuda::device_count());
  return torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(index));
}

// Ranks of one machine share its cores, unless their launcher has dealt them out.
int workers_of(const TrainerOptions& options, torch::Device device) {
  const int workers = worker_count(options.threads, device);
  const bool has_all_cores = available_cores() == static_cast<int>(std::thread::hardware_concurrency());
  if (options.threads > 0 || !has_all_cores) return workers;
  return std::max(1, workers / options.ranks.local_size);
}

}  // namespace

// Everything that lives as long as the training does.
class Trainer::Session {
 public:
  Session(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options,
          ProcessGroup& group);
  int run(const std::function<int()>& stop_signal);

 private:
  // Sums since the last line of metrics.
  struct Window {
    LossSum loss;
    int64_t source_tokens = 0;
    Clock::time_point start = Clock::now();
  };

  // A step whose loss may not be known yet.
  struct Begun {
    int64_t number = 0;
    int64_t epoch = 0, batch = 0;  // where its text ends
    int64_t source_tokens = 0;
    LossSum loss;
    double gradient_norm = 0;
    std::vector<bool> unsound;        // where the norm is not finite: by parameter, whose gradients are not
    std::optional<HostCopy> outcome;  // where set, what the last three are to be made of
  };

  void prepare_run_folder();
  Tokenizer prepare_tokenizer();
  TrainingText prepare_training_text();
  ParallelText load_validation_text();
  Guidance guidance() const;
  void report_text(const char* name, size_t pairs, const TextCounts& counts) const;
  void start_batches();
  Tokenizer tokenizer_of_first_rank();
  Transformer make_transformer();
  void check_ranks_fit();
  void restore();
  void share_state();
  void check_weights_equal();
  void report_start() const;

  bool reached_end() const;
  bool out_of_patience() const;
  double learning_rate_of(int64_t step) const;
  int64_t batches_per_step() const { return config_.training.accumulate_batches * group_.size(); }
  bool train_step(const std::function<int()>& stop_signal);
  Begun begin_step(const std::function<int()>& stop_signal);
  void update(Begun& step, const PendingLoss& own, const std::function<int()>& stop_signal);
  void start_update(Begun& step, const PendingLoss& loss);
  bool must_be_settled(int64_t step) const;
  bool settle();
  void pass_over(const Begun& step);
  LossSum exchange(const LossSum& own, const std::function<int()>& stop_signal);
  double seconds() const { return state_.seconds + seconds_since(started_); }
  PreparedBatch next_batch();
  void report_progress();
  void write_metrics();
  void measure_source_signal();
  void record(Json record);
  void validate();
  double validation_loss();
  void score_and_keep_best();
  bool translates_validation_text() const;
  TranslatedText translate_validation_text();
  bool is_best(ValidationMetric metric, double score);
  void save_checkpoint();
  TrainedParts trained_parts() { return {replicas_.transformer(), optimizer_, average_ ? &*average_ : nullptr}; }
  void finish();
  void write_report() const;
  void profile_step();
  void write_profile();
  void say(const std::string& text);

  TrainingConfig config_;
  std::string config_yaml_;
  TrainerOptions options_;
  ProcessGroup& group_;
  torch::Device device_;
  Precision precision_;
  WorkerCrew workers_;
  ProgressLine progress_;

  Tokenizer tokenizer_;
  TrainingText train_text_;
  std::optional<ParallelText> valid_text_;
  bool overlaps_steps_;
  Replicas replicas_;
  Adam optimizer_;
  std::optional<WeightAverage> average_;  // rank 0's, where there is to be one
  CheckpointStore checkpoints_;
  TrainState state_;
  std::unique_ptr<MetricsLog> metrics_;  // this and the next: rank 0's
  std::unique_ptr<TensorBoardLog> tensorboard_;

  std::unique_ptr<BatchStream> batches_;
  double epoch_done_ = 0;  // share of the present epoch
  Clock::time_point started_ = Clock::now();
  double agreed_seconds_ = 0;  // rank 0's seconds() after the last step
  int stopped_by_ = 0;         // the signal that reached any rank
  std::optional<Begun> begun_;
  Window window_;
  double last_gradient_norm_ = 0;
  int64_t skipped_steps_ = 0;    // in a row
  std::optional<Batch> sample_;  // of the last step's text, where there is a source
  std::optional<SourceSignal> signal_;
  bool warned_of_collapse_ = false;
  int64_t saved_step_ = -1;

  std::unique_ptr<Trace> trace_;  // while profiling
  int64_t profiled_steps_ = 0;
};

Trainer::Session::Session(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options,
                          ProcessGroup& group)
    : config_(config),
      config_yaml_(config_yaml),
      options_(options),
      group_(group),
      device_(device_of(options)),
      precision_(resolve(config.training.precision, device_)),
      workers_(workers_of(options, device_), run_operations_on_this_thread_only),
      tokenizer_(tokenizer_of_first_rank()),
      train_text_(prepare_training_text()),
      overlaps_steps_(options.overlaps_steps.value_or(!device_.is_cpu() && group.size() == 1)),
      replicas_(make_transformer(), device_, workers_, precision_),
      optimizer_(parameters_of(replicas_.transformer()),
                 {config.training.adam_beta1, config.training.adam_beta2, config.training.adam_epsilon,
                  config.training.clip_norm, config.training.weight_decay, !overlaps_steps_}),
      checkpoints_(path_in(options.run_folder, "checkpoints")) {
  if (overlaps_steps_ && (workers_.size() > 1 || group_.size() > 1))
    throw std::invalid_argument(
        "overlaps_steps is for one process with one worker: set threads to 1, or leave it unset");
  check_ranks_fit();
  replicas_.guide(guidance());
  if (config_.training.recompute) replicas_.use(Activations::recomputed);
  if (group_.size() > 1) replicas_.sum_over(group_);
  if (config_.training.ema_decay > 0 && group_.is_first())
    optimizer_.keep_average(average_.emplace(parameters_of(replicas_.transformer()), config_.training.ema_decay));
  if (config_.has_validation_text() && group_.is_first()) valid_text_ = load_validation_text();
  restore();
  optimizer_.keep_rounded(replicas_.rounded_parameters(), workers_);
  saved_step_ = state_.step;
  agreed_seconds_ = state_.seconds;
  start_batches();
  if (group_.is_first()) {
    metrics_ = std::make_unique<MetricsLog>(path_in(options.run_folder, "metrics.jsonl"), state_.step);
    tensorboard_ = std::make_unique<TensorBoardLog>(path_in(options.run_folder, "tensorboard"), state_.step);
    if (!options.profile.empty()) Trace().write(options.profile);  // now rather than after 24 steps, if it cannot be
  } else {
    options_.profile.clear();
  }
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
  spdlog::info(fmt::format("learning a vocabulary of {} pieces from the training text",
                           format_count(config_.model.tokenizer.vocab_size)));
  const TextFiles files = train_files(config_);
  Tokenizer tokenizer = train_tokenizer(config_.model.tokenizer, lines_of(files.source), lines_of(files.target));
  tokenizer.save(options_.run_folder);
  return_freed_memory();  // learning takes far more than what follows
  return tokenizer;
}

// The run folder is rank 0's: on another machine there need be none.
Tokenizer Trainer::Session::tokenizer_of_first_rank() {
  std::optional<Tokenizer> own;
  if (group_.is_first()) {
    prepare_run_folder();
    own = prepare_tokenizer();
  }
  const auto model_of_first = [&](const char* name, const SubwordModel* model) {
    return std::make_shared<const SubwordModel>(group_.broadcast(model ? model->serialized() : std::string()), name);
  };
  const auto source = model_of_first("rank 0's source vocabulary", own ? &own->source() : nullptr);
  if (group_.gather(own && own->shared() ? 1 : 0).front() == 1) return {source, source};
  return {source, model_of_first("rank 0's target vocabulary", own ? &own->target() : nullptr)};
}

// What must be the same everywhere, or the ranks would train different networks, or one on different text.
void Trainer::Session::check_ranks_fit() {
  if (group_.size() == 1) return;
  group_.check_equal(fingerprint_of(config_yaml_), "the config; give all ranks the same file and the same --set");
  group_.check_equal(train_text_.fingerprint(), "the training text; give all ranks the same files");
  group_.check_equal(static_cast<uint64_t>(precision_), "whether it has bfloat16; set training.precision");
  group_.check_equal(static_cast<uint64_t>(kernels::active_simd()),
                     "the CPU's instruction set, which rounds differently; use machines of one kind");
}

// Rank 0's newest checkpoint, on all ranks.
void Trainer::Session::restore() {
  if (group_.is_first()) state_ = checkpoints_.restore(trained_parts());
  if (group_.size() == 1) return;
  share_state();
  const torch::NoGradGuard no_grad;
  for (auto& [name, parameter] : parameters_of(replicas_.transformer())) {
    torch::Tensor values = parameter.detach();
    group_.broadcast(values);
  }
  const NamedTensors moments = optimizer_.state();
  for (const auto& [name, moment] : moments) {
    torch::Tensor values = moment;
    group_.broadcast(values);
  }
  if (!group_.is_first()) optimizer_.restore(moments, state_.step, "rank 0's optimizer");
}

void Trainer::Session::share_state() {
  const std::string shared = group_.broadcast(group_.is_first() ? to_json(state_) : std::string());
  if (!group_.is_first()) state_ = state_from_json(shared, "rank 0's state");
}

void Trainer::Session::check_weights_equal() {
  if (group_.size() == 1) return;
  group_.check_equal(
      fingerprint_of(replicas_.transformer()->parameters()),
      fmt::format("its weights after step {}, which should never be; go on from the last checkpoint, and "
                  "report the machine's memory as a suspect",
                  state_.step));
}

TrainingText Trainer::Session::prepare_training_text() {
  const DataOptions& data = config_.data;
  const TextFiles files = train_files(config_);
  const LengthLimits limits{data.max_source_tokens, data.max_target_tokens};
  const bool own_cache = data.cache_folder.empty();
  CorpusCache cache(own_cache ? path_in(options_.run_folder, "cache") : data.cache_folder);
  std::vector<Corpus> corpora;
  const bool guided = config_.training.guided_alignment > 0;
  for (size_t i = 0; i < files.target.size(); ++i) {
    AlignedFiles aligned{files.source.empty() ? "" : files.source[i], files.target[i], {}};
    if (guided && !data.train_alignments[i].empty()) aligned.alignment = path_in(data.folder, data.train_alignments[i]);
    corpora.push_back(
        {cache.open(aligned, tokenizer_, limits, workers_), data.train_weights.empty() ? 1.0 : data.train_weights[i]});
  }
  if (own_cache && options_.ranks.local_rank == 0) cache.remove_others();
  TrainingText text(std::move(corpora));
  if (text.size() == 0) refuse_empty_text(files, text.counts().left_out, limits);
  report_text("training", text.size(), text.counts());
  text.sample_subwords(tokenizer_, {data.source_sampling, data.target_sampling}, limits);
  return text;
}

ParallelText Trainer::Session::load_validation_text() {
  const LengthLimits limits{config_.data.max_source_tokens, config_.data.max_target_tokens};
  LoadedText loaded = load_parallel_text(valid_files(config_), tokenizer_, limits, workers_);
  report_text("validation", loaded.text.size(),
              {static_cast<int64_t>(loaded.text.source.total_tokens()),
               static_cast<int64_t>(loaded.text.target.total_tokens()), loaded.left_out});
  return std::move(loaded.text);
}

void Trainer::Session::report_text(const char* name, size_t pairs, const TextCounts& counts) const {
  if (!group_.is_first()) return;
  const LeftOut& out = counts.left_out;
  if (config_.is_language_model()) {
    spdlog::info(fmt::format("{} text: {} lines, {} tokens", name, format_count(static_cast<int64_t>(pairs)),
                             format_count(counts.target_tokens)));
    if (out.total() > 0)
      spdlog::warn(fmt::format("{} text: {} lines left out: {} empty, {} of over {} tokens (data.max_target_tokens)",
                               name, format_count(out.total()), out.empty, out.long_target,
                               config_.data.max_target_tokens));
    return;
  }
  spdlog::info(fmt::format("{} text: {} sentence pairs, {} source and {} target tokens", name,
                           format_count(static_cast<int64_t>(pairs)), format_count(counts.source_tokens),
                           format_count(counts.target_tokens)));
  if (out.total() > 0)
    spdlog::warn(
        fmt::format("{} text: {} pairs left out: {} empty, {} with a source over {} tokens, {} with a target over {}",
                    name, format_count(out.total()), out.empty, out.long_source, config_.data.max_source_tokens,
                    out.long_target, config_.data.max_target_tokens));
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
  options.rank = group_.rank();
  options.ranks = group_.size();
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
  if (!group_.is_first()) return;
  spdlog::info(fmt::format("transmute {}, LibTorch {}, device {}, {} threads, {} kernels, {} products, {} parameters",
                           build_version(), TORCH_VERSION, device_.str(), workers_.size(),
                           name_of(kernels::active_simd()), precision_name(precision_),
                           format_count(parameter_count(with_vocabulary(config_.model.model, tokenizer_)))));
  if (group_.size() > 1)
    spdlog::info(
        fmt::format("{} ranks ({}); a step has {} batches", group_.size(), options_.ranks.origin, batches_per_step()));
  if (const std::string warning = slow_blas_warning(); !warning.empty() && device_.is_cpu()) spdlog::warn(warning);
  if (precision_ == Precision::bfloat16 && device_.is_cpu() && !cpu_has_bfloat16())
    spdlog::warn("training.precision is bfloat16, but this CPU has no instructions for it: float32 will be faster");
  if (state_.step > 0)
    spdlog::info(fmt::format("resuming after step {} (epoch {})", format_count(state_.step), state_.epoch + 1));
  if (const Guidance head = guidance(); head.weight > 0)
    spdlog::info(
        fmt::format("decoder layer {0}, head {1} learns the given alignments; use it with: translate --alignment "
                    "--alignment-layer {0} --alignment-head {1}",
                    head.layer + 1, head.head + 1));
  if (state_.batches_per_step > 0 && state_.batches_per_step != batches_per_step())
    spdlog::warn(fmt::format("a step had {} batches and now has {}: ranks times training.accumulate_batches",
                             state_.batches_per_step, batches_per_step()));
}

Guidance Trainer::Session::guidance() const {
  const TrainingOptions& training = config_.training;
  const int64_t last = config_.model.model.num_decoder_layers;
  const int64_t layer = training.guided_layer > 0 ? training.guided_layer : std::max<int64_t>(last - 1, 1);
  return {training.guided_alignment, layer - 1, training.guided_head - 1};
}

void Trainer::Session::say(const std::string& text) {
  if (!group_.is_first()) return;
  progress_.clear();
  spdlog::info(text);
}

bool Trainer::Session::reached_end() const {
  const TrainingOptions& training = config_.training;
  return state_.step >= training.max_steps || (training.max_epochs > 0 && state_.epoch >= training.max_epochs) ||
         (training.max_minutes > 0 && agreed_seconds_ >= training.max_minutes * 60) || out_of_patience();
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

int Trainer::Session::run(const std::function<int()>& stop_signal) {
  started_ = Clock::now();
  window_ = {};
  while (!reached_end()) {
    if (!options_.profile.empty()) profile_step();
    const bool trained = train_step(stop_signal);
    report_progress();
    const bool stop = stopped_by_ != 0;
    if (trained && state_.step % config_.training.log_every == 0) write_metrics();
    if (trained && state_.step % config_.validation.every == 0 && !stop) validate();
    const bool due = state_.step % config_.training.checkpoint_every == 0 ||
                     (config_.training.keep_best > 0 && state_.score.has_value());
    if ((trained && due) || stop) save_checkpoint();
    if (stop) {
      write_profile();
      write_report();
      say(fmt::format("stopped after step {}; the same command goes on from there", format_count(state_.step)));
      group_.wait_for_all();
      return stopped_by_;
    }
  }
  if (begun_) settle();
  finish();
  group_.wait_for_all();
  return 0;
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

// What all ranks know after a step: the loss of all, the time of rank 0, and whether a signal asked any of them to
// stop.
LossSum Trainer::Session::exchange(const LossSum& own, const std::function<int()>& stop_signal) {
  enum : size_t { kLoss, kTokens, kGuidance, kSeconds, kStop };  // and from kStop on one for each rank
  std::vector<double> values(kStop + static_cast<size_t>(group_.size()));
  values[kLoss] = own.sum;
  values[kTokens] = static_cast<double>(own.tokens);
  values[kGuidance] = own.guidance;
  values[kSeconds] = group_.is_first() ? seconds() : 0;
  values[kStop + static_cast<size_t>(group_.rank())] = stop_signal ? stop_signal() : 0;
  group_.sum(values);
  agreed_seconds_ = values[kSeconds];
  for (size_t i = kStop; i < values.size() && stopped_by_ == 0; ++i) stopped_by_ = static_cast<int>(values[i]);
  return {values[kLoss], static_cast<int64_t>(values[kTokens]), values[kGuidance]};
}

// False where the step was passed over (the cursor in the text moved, nothing else) or is not settled yet.
bool Trainer::Session::train_step(const std::function<int()>& stop_signal) {
  const Trace::Span span(trace_.get(), "step");
  Begun step = begin_step(stop_signal);
  if (begun_ && !settle()) --step.number;
  const bool is_awaited = must_be_settled(step.number);
  begun_ = std::move(step);
  return is_awaited && settle();
}

Trainer::Session::Begun Trainer::Session::begin_step(const std::function<int()>& stop_signal) {
  std::vector<PreparedBatch> batches;
  while (static_cast<int64_t>(batches.size()) < batches_per_step()) batches.push_back(next_batch());
  int64_t step_tokens = 0;
  Begun step;
  step.number = state_.step + (begun_ ? 2 : 1);
  step.epoch = state_.epoch;
  step.batch = state_.batch;
  for (const auto& batch : batches) {
    step_tokens += batch.target_tokens;
    step.source_tokens += batch.source_tokens;
  }
  if (!config_.is_language_model() && group_.is_first()) sample_ = first_rows(batches.front().pieces.front());
  PendingLoss own;
  for (auto b = static_cast<size_t>(group_.rank()); b < batches.size(); b += static_cast<size_t>(group_.size())) {
    const StepInput input{
        std::move(batches[b].pieces), step_tokens,
        combine_keys(static_cast<uint64_t>(config_.training.seed), static_cast<uint64_t>(step.number), b),
        b + static_cast<size_t>(group_.size()) >= batches.size()};
    own.add(replicas_.accumulate_gradients(input, config_.training.label_smoothing, trace_.get()));
  }
  if (overlaps_steps_) {
    exchange({}, stop_signal);
    start_update(step, own);
  } else {
    update(step, own, stop_signal);
  }
  replicas_.clear_gradients();
  return step;
}

void Trainer::Session::update(Begun& step, const PendingLoss& own, const std::function<int()>& stop_signal) {
  step.loss = exchange(own.read(), stop_signal);
  const Trace::Span span(trace_.get(), "optimizer");
  std::vector<std::vector<torch::Tensor>> gradients;
  if (group_.size() > 1) {
    gradients.push_back(replicas_.sums_over_ranks());
  } else {
    gradients = replicas_.gradients();
  }
  // A loss that is not finite must not touch the weights, though the gradient may look sound.
  step.gradient_norm = std::isfinite(step.loss.sum)
                           ? optimizer_.update(gradients, learning_rate_of(step.number), workers_)
                           : std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(step.gradient_norm)) return;
  gradients = replicas_.gradients();
  for (size_t p = 0; p < gradients.front().size(); ++p)
    step.unsound.push_back(std::any_of(gradients.begin(), gradients.end(), [&](const auto& share) {
      return share[p].defined() && !share[p].isfinite().all().template item<bool>();
    }));
}

// The same without waiting for the device.
void Trainer::Session::start_update(Begun& step, const PendingLoss& loss) {
  const Trace::Span span(trace_.get(), "optimizer");
  const Adam::Started started =
      optimizer_.start_update(replicas_.gradients().front(), learning_rate_of(step.number), loss.sums[0]);
  step.loss.tokens = loss.tokens;
  step.outcome.emplace(
      torch::cat({loss.sums, started.happens.to(torch::kDouble).reshape({1}), started.norms.to(torch::kDouble)}));
}

// What follows a step looks at the weights after it, or says what it came to.
bool Trainer::Session::must_be_settled(int64_t step) const {
  const TrainingOptions& training = config_.training;
  const auto is_due = [&](int64_t every) { return step % every == 0; };
  return !overlaps_steps_ || stopped_by_ != 0 || step >= training.max_steps || is_due(training.log_every) ||
         is_due(training.checkpoint_every) || is_due(config_.validation.every);
}

// Ends the step that was begun. False where it was passed over.
bool Trainer::Session::settle() {
  Begun step = std::move(*begun_);
  begun_.reset();
  if (step.outcome) {
    const torch::Tensor values = step.outcome->get();
    step.loss.sum = values[0].item<double>();
    step.loss.guidance = values[1].item<double>();
    const bool happened = values[2].item<double>() > 0;
    const torch::Tensor norms = values.narrow(0, 3, values.numel() - 3);
    step.gradient_norm = happened ? norms.norm().item<double>() : std::numeric_limits<double>::quiet_NaN();
    for (int64_t p = 0; p < norms.numel() && !happened; ++p)
      step.unsound.push_back(!std::isfinite(norms[p].item<double>()));
  }
  last_gradient_norm_ = step.gradient_norm;
  if (!std::isfinite(step.gradient_norm)) {
    pass_over(step);
    return false;
  }
  skipped_steps_ = 0;
  state_.step = step.number;
  state_.score.reset();
  state_.target_tokens += step.loss.tokens;
  state_.batches_per_step = batches_per_step();
  window_.loss.add(step.loss);
  window_.source_tokens += step.source_tokens;
  return true;
}

// The step has no finite loss or gradient, and the weights are as they were before it. Goes on with the next batch, or
// ends the run where that happens too often.
void Trainer::Session::pass_over(const Begun& step) {
  const NamedTensors parameters = parameters_of(replicas_.transformer());
  std::string first_weight, first_gradient;
  int64_t unsound = 0;
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (first_weight.empty() && !parameters[p].second.isfinite().all().item<bool>()) first_weight = parameters[p].first;
    if (!step.unsound[p]) continue;
    if (unsound++ == 0) first_gradient = parameters[p].first;
  }
  std::vector<size_t> elsewhere;  // ranks
  const std::vector<int64_t> unsound_on = group_.gather(unsound);
  for (size_t rank = 0; rank < unsound_on.size(); ++rank)
    if (unsound_on[rank] > 0) elsewhere.push_back(rank);
  std::string where = "all gradients are finite";
  if (!elsewhere.empty()) where = fmt::format("gradients of rank {} are not finite", fmt::join(elsewhere, ", "));
  if (unsound > 0)
    where = fmt::format("gradients of {} of {} parameters are not finite, the first {}", unsound, parameters.size(),
                        first_gradient);
  if (!first_weight.empty()) where = fmt::format("the weights of {} are not finite", first_weight);
  const std::string what = fmt::format(
      "step {} (epoch {}, before batch {}) diverged: loss {}, learning rate {:.3g}; {}", step.number, step.epoch + 1,
      step.batch + 1, step.loss.sum / static_cast<double>(step.loss.tokens), learning_rate_of(step.number), where);
  if (++skipped_steps_ > config_.training.max_skipped_steps)
    throw std::runtime_error(
        what +
        ". The weights are as they were before it. Go on from the last checkpoint with a lower "
        "training.learning_rate_scale (or learning_rate), more training.warmup_steps, or training.clip_norm: 1; "
        "training.max_skipped_steps passes over single bad batches");
  if (!group_.is_first()) return;
  progress_.clear();
  spdlog::warn(fmt::format("{}; passed over ({} of at most {} in a row)", what, skipped_steps_,
                           config_.training.max_skipped_steps));
}

void Trainer::Session::report_progress() {
  if (!progress_.visible() || !group_.is_first()) return;
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

// On a few pairs of the last step: one more pass over a small share of a piece.
void Trainer::Session::measure_source_signal() {
  if (!sample_) return;
  signal_ = source_signal(replicas_.transformer(), *sample_);
  const bool attends_by_score = config_.model.model.score_function != ScoreFunction::uniform;
  if (warned_of_collapse_ || state_.step < config_.training.warmup_steps || !signal_->is_collapsed() ||
      !attends_by_score)
    return;
  warned_of_collapse_ = true;
  progress_.clear();
  spdlog::warn(fmt::format("step {}: {}", state_.step, collapse_warning(*signal_, config_.model.model)));
}

void Trainer::Session::record(Json record) {
  metrics_->write(record);
  tensorboard_->add(record);
}

void Trainer::Session::write_metrics() {
  if (!group_.is_first()) return;
  const double elapsed = seconds_since(window_.start);
  const double loss = window_.loss.sum / static_cast<double>(window_.loss.tokens);
  const double rate = learning_rate_of(state_.step);
  const double target_rate = static_cast<double>(window_.loss.tokens) / elapsed;
  Json line{{"type", "train"},
            {"step", state_.step},
            {"epoch", state_.epoch},
            {"loss", loss},
            {"learning_rate", rate},
            {"gradient_norm", last_gradient_norm_},
            {"target_tokens", state_.target_tokens},
            {"target_tokens_per_second", target_rate},
            {"seconds", seconds()}};
  if (!config_.is_language_model())
    line["source_tokens_per_second"] = static_cast<double>(window_.source_tokens) / elapsed;
  measure_source_signal();
  if (signal_) {
    line["position_variance"] = signal_->position_variance;
    line["attention_entropy"] = signal_->attention_entropy;
    line["sharpest_head"] = signal_->sharpest_head;
  }
  if (config_.training.guided_alignment > 0)
    line["alignment_loss"] = window_.loss.guidance / static_cast<double>(window_.loss.tokens);
  record(line);
  if (!progress_.visible())
    say(fmt::format("step {} | epoch {} | loss {:.4f} | learning rate {:.3g} | gradient norm {:.3f} | {} tok/s",
                    state_.step, state_.epoch + 1, loss, rate, last_gradient_norm_,
                    format_count(static_cast<int64_t>(target_rate))));
  window_ = {};
}

bool Trainer::Session::translates_validation_text() const {
  return valid_text_ && !config_.is_language_model() && config_.validation.max_sentences > 0;
}

TranslatedText Trainer::Session::translate_validation_text() {
  Transformer& transformer = replicas_.transformer();
  transformer->eval();
  const TranslationEngine engine(transformer, tokenizer_, device_, Precision::float32,
                                 [this](size_t count, const std::function<void(size_t)>& task) {
                                   workers_.for_each_piece(count, 1, [&](size_t i, size_t, int) { task(i); });
                                 });
  TranslationOptions options;
  options.search.beam_size = config_.validation.beam_size;
  options.search.length_alpha = config_.validation.length_alpha;
  const TextFiles files = valid_files(config_);
  TranslatedText text;
  text.sources = first_lines(files.source, config_.validation.max_sentences);
  for (const auto& translation : engine.translate(text.sources, options))
    text.hypotheses.push_back(translation.hypotheses.front().text);
  text.references = {first_lines(files.target, config_.validation.max_sentences)};
  return text;
}

// By rank 0; the others wait to hear whether these weights are the best ones.
void Trainer::Session::validate() {
  if (!config_.has_validation_text()) return;
  const auto start = Clock::now();
  if (group_.is_first()) score_and_keep_best();
  share_state();
  window_.start += Clock::now() - start;  // tokens/s is of training
}

// Per token, by the present weights.
double Trainer::Session::validation_loss() {
  const LossSum loss = replicas_.evaluate(*valid_text_, config_.training.piece_tokens);
  return loss.sum / static_cast<double>(loss.tokens);
}

void Trainer::Session::score_and_keep_best() {
  const WeightAverage::InPlace averaged(average_ ? &*average_ : nullptr);
  const double per_token = validation_loss();
  Json measured{
      {"type", "validation"}, {"step", state_.step}, {"loss", per_token}, {"perplexity", std::exp(per_token)}};
  std::string text = fmt::format("validation after step {}: loss {:.4f}, perplexity {:.3f}", state_.step, per_token,
                                 std::exp(per_token));
  ValidationMetric metric = ValidationMetric::loss;
  double score = -per_token;
  if (translates_validation_text()) {
    metric = config_.validation.metric;
    if (metric == ValidationMetric::automatic) metric = ValidationMetric::bleu;
    const TranslatedText translated = translate_validation_text();
    const double bleu = translated.bleu(), chrf = translated.chrf(0), chrf_plus_plus = translated.chrf(2);
    measured["bleu"] = bleu;
    measured["chrf"] = chrf;
    measured["chrf++"] = chrf_plus_plus;
    measured["samples"] = translated.samples();
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
  measured["seconds"] = seconds();
  record(measured);
  write_report();
  say(text);
  if (out_of_patience())
    say(fmt::format("no better {} in {} validations: training ends", name_of(metric), config_.validation.patience));
}

// Notes a validation's score, the higher the better. One by another metric than before begins anew.
bool Trainer::Session::is_best(ValidationMetric metric, double score) {
  if (state_.metric != name_of(metric)) state_.best_score.reset();
  state_.metric = name_of(metric);
  if (std::isfinite(score)) state_.score = score;
  const bool better = std::isfinite(score) && (!state_.best_score || score > *state_.best_score);
  if (better) state_.best_score = score;
  state_.validations_since_best = better ? 0 : state_.validations_since_best + 1;
  return better;
}

void Trainer::Session::save_checkpoint() {
  if (saved_step_ == state_.step) return;
  const auto start = Clock::now();
  saved_step_ = state_.step;
  check_weights_equal();
  if (!group_.is_first()) return;
  TrainState state = state_;
  state.seconds = seconds();
  const TrainingOptions& training = config_.training;
  checkpoints_.save(state, config_yaml_, tokenizer_, trained_parts(),
                    {training.keep_checkpoints, training.keep_best, training.keep_every, state_.metric});
  if (!config_.has_validation_text()) write_report();  // else at each validation
  window_.start += Clock::now() - start;
}

void Trainer::Session::write_report() const {
  if (!group_.is_first()) return;
  ReportContent content;
  const fs::path folder = fs::absolute(options_.run_folder).lexically_normal();
  content.title = "Training of " + (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  content.facts = {{"step", format_count(state_.step)},
                   {"epoch", format_count(state_.epoch + 1)},
                   {"target tokens", format_count(state_.target_tokens)},
                   {"time", format_duration(seconds())},
                   {"parameters", format_count(parameter_count(with_vocabulary(config_.model.model, tokenizer_)))},
                   {"training text", format_count(static_cast<int64_t>(train_text_.size())) +
                                         (config_.is_language_model() ? " lines" : " sentence pairs")},
                   {"products", precision_name(precision_)},
                   {"processes", std::to_string(group_.size())},
                   {"device of each", device_.str()},
                   {"threads of each", std::to_string(workers_.size())},
                   {"CPU kernels", name_of(kernels::active_simd())},
                   {"transmute", build_version()},
                   {"LibTorch", TORCH_VERSION}};
  if (state_.best_score)
    content.facts.insert(content.facts.begin() + 4,
                         {"best " + state_.metric, fmt::format("{:.4g}", std::abs(*state_.best_score))});
  content.records = metrics_->records();
  content.config = config_yaml_;
  write_file_atomically(path_in(options_.run_folder, "report.html"), report_html(content));
}

void Trainer::Session::finish() {
  write_profile();
  save_checkpoint();
  write_report();
  if (!group_.is_first()) return;
  const WeightAverage::InPlace averaged(average_ ? &*average_ : nullptr);
  std::string mean = fmt::format("moving average with decay {}", config_.training.ema_decay);
  if (!average_) {
    std::vector<std::string> newest = checkpoints_.list();
    const auto wanted = static_cast<size_t>(config_.training.average_checkpoints);
    if (newest.size() > wanted) newest.erase(newest.begin(), newest.end() - static_cast<int64_t>(wanted));
    average_parameters(newest, replicas_.transformer());
    mean = fmt::format("mean of the last {} checkpoints", newest.size());
  }
  const std::string folder = path_in(options_.run_folder, "model");
  write_folder_atomically(folder, [&](const std::string& partial) {
    save_model_folder(partial, config_yaml_, tokenizer_, replicas_.transformer());
  });
  std::string text = fmt::format("finished after step {} ({} target tokens, {} of training)", format_count(state_.step),
                                 format_count(state_.target_tokens), format_duration(seconds()));
  if (translates_validation_text()) {
    text += fmt::format("; {}: validation BLEU {:.2f}", mean, translate_validation_text().bleu());
  } else if (valid_text_) {
    text += fmt::format("; {}: validation perplexity {:.3f}", mean, std::exp(validation_loss()));
  }
  say(text);
  say(config_.is_language_model() ? fmt::format("the model is in {0}; continue text with: generate --model {0}", folder)
                                  : fmt::format("the model is in {0}; translate with: translate --model {0}", folder));
}

Trainer::Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options) {
  config.check();
  group_ = std::make_unique<ProcessGroup>(options.ranks, device_of(options));
  try {
    session_ = std::make_unique<Session>(config, config_yaml, options, *group_);
  } catch (const std::exception& error) {
    group_->fail(error.what());
    throw;
  }
}

Trainer::~Trainer() = default;

int Trainer::run(const std::function<int()>& stop_signal) {
  try {
    return session_->run(stop_signal);
  } catch (const std::exception& error) {
    group_->fail(error.what());
    throw;
  }
}

}  // namespace v0
}  // namespace transmute
