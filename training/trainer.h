#pragma once

#include <transmute/training/config.h>

#include <functional>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

/// What is not part of the experiment, only of this run of it.
struct TrainerOptions {
  std::string run_folder;      ///< gets config, tokenizer, checkpoints, metrics, log and the finished model
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< workers on the CPU; 0 means one per core
  std::string profile;         ///< file for a trace of this run's first steps, see Trace; empty for none
};

enum class TrainingEnd { finished, stopped };

/// Trains one experiment in a run folder, from the start or from its newest checkpoint:
///
///     config.yaml  tokenizer.model     the experiment, resolved; what was learned of the text's subwords
///     cache/                           the tokenised text, see CorpusCache
///     checkpoints/step-000001000/ …    model folders with the optimizer's state, to resume from
///     best/                            the model folder that validated best
///     model/                           the finished model folder: the mean of the last checkpoints
///     metrics.jsonl                    a JSON object per line: `"type": "train"` or `"validation"`
class Trainer {
 public:
  /// @param config_yaml the whole resolved config, which is kept with the run and with every model
  /// @throws std::invalid_argument, std::runtime_error with what is wrong and the remedy; nothing is trained then.
  Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options);
  ~Trainer();

  /// Trains to the end that the config sets, or until `should_stop` (asked after every step) says so; then a
  /// checkpoint is written and a later run goes on from there.
  /// @throws std::runtime_error where the loss is no longer finite, or a file cannot be written.
  TrainingEnd run(const std::function<bool()>& should_stop = {});

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace v0
}  // namespace transmute
