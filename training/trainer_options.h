// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/distributed/ranks.h>

#include <optional>
#include <string>

namespace transmute {
inline namespace v0 {

/// What is not part of the experiment, only of this run of it.
struct TrainerOptions {
  std::string run_folder;      ///< gets config, tokenizer, checkpoints, metrics, log and the finished model
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< workers on the CPU; 0 means one per core, shared by this machine's ranks
  RankOptions ranks;           ///< where several processes train together; rank 0's run folder counts
  /// Whether a step begins before the last one's loss is known, so that a GPU always has work. Where not set: on GPUs,
  /// with one process. On a CPU it takes threads = 1.
  std::optional<bool> overlaps_steps;
  std::string profile;  ///< file for a trace of this run's first steps, see Trace; empty for none
};

}  // namespace v0
}  // namespace transmute
