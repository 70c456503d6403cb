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
class TrainingSession;

/// Trains one experiment in a run folder, from the start or from its newest checkpoint. The run folder contains:
///
///     config.yaml  tokenizer.model     the resolved configuration; the learned subwords
///     text_profile.yaml                what the training text says about itself, see TextProfile
///     lock  fingerprints.json          what keeps a second training out; what vocabulary and text were made from
///     cache/                           the tokenized text, see CorpusCache
///     checkpoints/step-000001000/ …    model folders with the optimizer's state, for resuming
///     best/                            the model folder with the best validation result
///     model/                           the finished model folder: the moving average with training.ema_decay, else
///                                      the mean of the last checkpoints
///     recommended                      a symbolic link to the better of both by validation
///     metrics.jsonl                    a JSON object per line: `"type": "train"` or `"validation"`
///     tensorboard/                     the same numbers for TensorBoard
///     report.html                      curves, sample translations and the configuration, for a browser
///
/// The program `train` adds its log, train.log, and the text that it divides in a training without a configuration,
/// text/.
///
/// With several processes (TrainerOptions::ranks), a step has size times `training.accumulate_batches` batches, of
/// which each process computes its share. The result is that of one process that accumulates all of them, except for
/// rounding. Only rank 0 validates and writes.
///
/// A Trainer logs to spdlog's default logger, which writes to standard output unless the application sets another one.
/// Its constructor seeds LibTorch's default generators with `training.seed`, and the training draws from them.
class TRANSMUTE_API Trainer {
 public:
  /// @param config_yaml the resolved configuration, saved in the run folder and in every model folder
  /// @throws std::invalid_argument or std::runtime_error, with the problem and the remedy, before anything is trained
  Trainer(const TrainingConfig& config, const std::string& config_yaml, const TrainerOptions& options);
  ~Trainer();

  /// Trains until the end set by the configuration, or until `stop_signal` (called once per step on every rank) returns
  /// a number other than 0. In that case it writes a checkpoint, from which a later run resumes.
  /// @returns 0 if the training is finished, otherwise the number that stopped it, on every rank
  /// @throws std::runtime_error if the loss is not finite in more than training.max_skipped_steps steps in a row, a
  /// file cannot be written, or another rank is lost
  int run(const std::function<int()>& stop_signal = {});

  /// True if run() has finished with a model that translates the validation text no better than trivial translators,
  /// and more of the same training would not help. The log names the likely cause. False on ranks other than 0.
  bool is_worthless() const;

 private:
  std::unique_ptr<ProcessGroup> group_;
  std::unique_ptr<TrainingSession> session_;
};

}  // namespace v0
}  // namespace transmute
