// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/training/distributed/ranks.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

class ProcessLock;
struct TrainingConfig;

/// Options of a training process that are not part of the experiment.
struct TrainerOptions {
  std::string run_folder;      ///< receives configuration, tokenizer, checkpoints, metrics and the finished model
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< worker threads on the CPU; 0: one per core, divided among this machine's ranks
  RankOptions ranks;           ///< for training with several processes, which use rank 0's run folder
  /// A step starts before the loss of the previous one is known, which keeps a GPU busy. Default: on GPUs, with
  /// one process. On a CPU it requires threads = 1.
  std::optional<bool> overlaps_steps;
  /// Adapts the config, except for the network, to the number of steps that training.max_minutes allows at the speed so
  /// far. Called during the warm-up, after which the resolved config is written again; empty: the config stays.
  std::function<void(TrainingConfig&, int64_t steps)> plan;
  std::string profile;  ///< file for a trace of the first steps, see Trace; empty: none
  /// Lock of the run folder that the caller has taken already, which the Trainer keeps; empty: the Trainer takes it.
  std::shared_ptr<ProcessLock> lock;
};

/// True if the device is a GPU.
/// @throws std::invalid_argument if it is none of this machine's
TRANSMUTE_API bool is_for_gpu(const TrainerOptions& options);

}  // namespace v0
}  // namespace transmute
