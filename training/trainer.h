// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/training/config.h>
#include <transmute/training/trainer_options.h>

#include <functional>
#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {

class ProcessGroup;

/// Trains one experiment in a run folder, from the start or from its newest checkpoint:
///
///     config.yaml  tokenizer.model     the experiment, resolved; what was learned of the text's subwords
///     cache/                           the tokenized text, see CorpusCache
///     checkpoints/step-000001000/ …    model folders with the optimizer's state, to resume from
///     best/                            the model folder that validated best
///     model/                           the finished model folder: the mean of the last checkpoints
///     metrics.jsonl                    a JSON object per line: `"type": "train"` or `"validation"`
///     tensorboard/                     the same numbers as TensorBoard reads them
///     report.html                      curves, sample translations and the config, for a browser
///
/// Several processes (TrainerOptions::ranks) each take every size-th batch of a step, which has size times
/// `training.accumulate_batches` of them: the same training as one process that accumulates all of them, but for
/// rounding in the sums. Rank 0 alone validates and writes.
class TRANSMUTE_API Trainer {
 public:
  /// @param config_yaml the whole resolved config, which is kept with the run and with every model
  /// @throws std::invalid_argument, std::runtime_error with what is wrong and the remedy; nothing is trained then.
  Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options);
  ~Trainer();

  /// Trains to the end that the config sets, or until `stop_signal` (asked once in every step, on every rank) gives
  /// another number than 0; then a checkpoint is written and a later run goes on from there.
  /// @returns 0 where the training is finished, else the number that stopped it, on every rank.
  /// @throws std::runtime_error where the loss is no longer finite, a file cannot be written, or another rank is lost.
  int run(const std::function<int()>& stop_signal = {});

 private:
  class Session;
  std::unique_ptr<ProcessGroup> group_;
  std::unique_ptr<Session> session_;
};

}  // namespace v0
}  // namespace transmute
