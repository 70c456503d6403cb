// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/checkpoint.h>
#include <transmute/training/replicas.h>
#include <transmute/training/reporting/report.h>
#include <transmute/training/resolved_options.h>
#include <transmute/training/verdict.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The facts that do not change in a run.
struct RunFacts {
  const TrainingConfig& config;
  const RankOptions& ranks;
  ResolvedOptions resolved;
  int64_t parameters = 0;
  int64_t pairs = 0;             ///< pairs of the training text; lines of plain text
  int64_t batches_per_step = 0;  ///< batches of all ranks
  Guidance guidance;
};

/// Logs how the run starts, or from which step it continues, and what is unusual about it.
void log_start(const RunFacts& facts, const TrainState& state);

/// The table at the top of a run's report.
/// @param final_score of the finished model; empty if there is none
/// @param verdict whose scores of trivial translators are beside it
std::vector<std::pair<std::string, std::string>> report_facts(const RunFacts& facts, const TrainState& state,
                                                              double seconds, const std::string& final_score,
                                                              const Verdict& verdict);

}  // namespace v0
}  // namespace transmute
