// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/stopwatch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/training/checkpoint.h>
#include <transmute/training/data/batch_stream.h>
#include <transmute/training/data/corpus_cache.h>
#include <transmute/training/distributed/process_group.h>
#include <transmute/training/heartbeat.h>
#include <transmute/training/replicas.h>
#include <transmute/training/reporting/trace.h>
#include <transmute/training/resolved_options.h>
#include <transmute/training/run_folder.h>
#include <transmute/training/run_log.h>
#include <transmute/training/run_report.h>
#include <transmute/training/step.h>
#include <transmute/training/step_report.h>
#include <transmute/training/trainer_options.h>
#include <transmute/training/validation.h>
#include <transmute/training/verdict.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// All objects that live as long as the training.
class TrainingSession {
 public:
  TrainingSession(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options,
                  ProcessGroup& group);
  int run(const std::function<int()>& stop_signal);
  bool is_worthless() const { return verdict_.worth == Worth::none; }

 private:
  Tokenizer prepare_tokenizer();
  TrainingText prepare_training_text();
  Transformer make_transformer();
  void prepare_validation();
  void restore();
  void start_batches();

  void say_that_all_steps_are_made();
  bool reached_end() const;
  bool out_of_patience() const;
  void after_step(bool trained);
  void plan();
  bool train_step();
  bool asked_to_stop();
  int stop(int signal);
  void validate();
  void score_and_keep_best();
  void save_checkpoint(bool is_interim);
  TrainedParts trained_parts() { return {replicas_.transformer(), optimizer_, average_ ? &*average_ : nullptr}; }
  bool finish();
  std::string set_final_weights();
  const char* limit_that_ended() const;
  std::string ended_by() const;
  const char* better_model(ValidationScore& last);
  bool load_weights(const std::string& model);
  void judge_model(const ValidationScore& last, const char* recommended);
  void add_shortlist_if_harmless(const char* model, const TranslatedText& translated);
  void recommend(const char* model);
  void save_model(const std::string& folder);
  RunFacts facts() const;
  void write_report() const;
  void log_profile();
  void end_profile();

  TrainingConfig config_;
  std::string config_yaml_;
  const TrainerOptions options_;
  const RunFolder folder_;
  ProcessGroup& group_;
  const std::unique_ptr<Heartbeat> heartbeat_;  // on rank 0 only
  const ResolvedOptions resolved_;
  WorkerCrew workers_;
  std::shared_ptr<ProcessLock> lock_;  // of the folder; on rank 0 only
  StepProfile profile_;                // on rank 0 only

  const Tokenizer tokenizer_;
  TextProfile text_profile_;  // on rank 0 only
  TrainingText train_text_;
  Replicas replicas_;
  Adam optimizer_;
  std::optional<WeightAverage> average_;  // on rank 0 only, if the config asks for one
  std::optional<Validator> validator_;    // on rank 0 only, if there is text for validation
  CheckpointStore checkpoints_;
  TrainState state_;
  std::unique_ptr<BatchStream> batches_;
  RunLog log_;

  Stopwatch clock_;                   // clock of the whole run
  std::function<int()> stop_signal_;  // null, or returns 0: continue
  int stopped_by_ = 0;                // the signal that reached rank 0 after the last step
  std::optional<Steps> steps_;
  std::optional<StepReport> report_;
  int64_t saved_step_ = -1;
  bool is_planning_ = false;  // the warm-up is not over, and TrainerOptions::plan adapts the config
  std::string final_score_;   // score of the finished model
  Verdict verdict_;           // verdict on the recommended model
};

}  // namespace v0
}  // namespace transmute
