// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/process_lock.h>
#include <transmute/training/automatic_config.h>
#include <transmute/training/config.h>
#include <transmute/training/trainer.h>
#include <transmute/training/trainer_options.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The source of a training's settings: a config, or a text for which everything is chosen.
struct ExperimentSetup {
  std::string config;                    ///< YAML file; empty: chosen for `text`
  AutomaticText text;                    ///< instead of a config
  std::string initial_model;             ///< initial model of a training without a config; empty: a new network
  double minutes = 0;                    ///< time limit of a training without a config; 0: as long as the text is worth
  std::vector<std::string> assignments;  ///< KEY=VALUE; each overrides a value that is read or chosen
  TrainerOptions trainer;                ///< only the run folder and the device are used here

  /// True if a text replaces a config.
  bool has_text() const { return !text.train.target.empty(); }
};

/// A training to be done: the typed config, and the schema that is bound to it.
struct Experiment {
  Experiment() { config.declare(schema); }
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  /// True if the config was chosen here, not read.
  bool is_chosen() const { return size.pairs > 0; }

  TrainingConfig config;
  ConfigSchema schema;
  TextSize size;           ///< size of the text that the config was chosen for; 0 if the config was read
  TrainingOptions chosen;  ///< values before the assignments; with a config, the defaults
  /// Keeps other trainings out of the run folder from the first file that is written there until make_trainer hands it
  /// to the Trainer; otherwise empty.
  std::unique_ptr<ProcessLock> lock;
};

/// TrainerOptions::run_folder, or where a training of that config or text belongs: beside the config of a run, which
/// continues with that run, otherwise in runs/, under the name of the config or of the text, such as train.en-de.
std::string run_folder_of(const ExperimentSetup& setup);

/// "4+4 layers of width 128"; for a language model, "4 layers of width 128".
std::string network_text(const TrainingConfig& config);

/// Reads the config, or chooses it for a text of which a part is held out in the run folder, which it locks, or goes
/// on with the one that was chosen when the run began. Checks it.
/// @throws std::invalid_argument or std::runtime_error that names what is wrong in the flags of `train`, or as
/// TrainingConfig::check does.
void read_experiment(const ExperimentSetup& setup, Experiment& experiment);

/// Measures the seconds per step of a config, in not much more than `most_seconds`; see measure_seconds_per_step.
using StepTimer = std::function<double(const TrainingConfig& config, const TextSize& size, double most_seconds)>;

/// Fits a chosen config to ExperimentSetup::minutes by the speed of this machine: the largest shape that gets enough
/// steps, up to the one that suits the text, and as many steps as fit into the time.
void fit_into_minutes(const ExperimentSetup& setup, const StepTimer& timer, Experiment& experiment);

/// A trainer of the experiment. A vocabulary whose size was chosen here gets another one where the text has too few
/// pieces to learn, or too many characters; one that was asked for does not. Experiment::lock becomes the trainer's.
/// @throws as Trainer does.
Trainer make_trainer(const ExperimentSetup& setup, const TrainerOptions& options, Experiment& experiment);

}  // namespace v0
}  // namespace transmute
