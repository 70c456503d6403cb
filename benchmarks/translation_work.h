// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/network/options.h>
#include <transmute/network/precision.h>
#include <transmute/tests/support/watched_model.h>

#include <cstdint>
#include <functional>
#include <vector>

// The work that benchmark_translate measures: searches, and the matrix products that they consist of.
namespace transmute {

/// The products of a network: for each source token, and for each hypothesis' token, in multiply-adds.
struct Work {
  double per_source_token;
  double per_target_token;
};
Work work_of(const TransformerOptions& options);

/// Products alone, at the shapes of the network: the roof. Operations (two per multiply-add) per second of CPU time, of
/// all threads.
double measure_roof(const TransformerOptions& options, Precision precision, int threads, int64_t rows);

/// Random ids that decode to a fixed length: an untrained network would end anywhere. `model` must outlive the result.
testing::WatchedModel of_fixed_length(const StepModel& model, int64_t length);

/// The tokens that a source's translation may be made of; none: all.
using ShortlistOf = std::function<Ids(const Ids& source)>;

/// The search of a run. Without a pool, it runs on the calling thread.
struct SearchRun {
  int64_t batch_size = 1;
  int64_t beam_size = 4;
  ShortlistOf shortlist_of{};
  ThreadPool* pool = nullptr;
};

struct RunResult {
  double seconds = 0;
  double cpu = 0;                 ///< seconds of CPU time, of all threads
  int64_t tokens = 0;             ///< tokens of the best hypotheses, their ends included
  int64_t decoded_rows = 0;       ///< hypotheses' tokens that were decoded, about
  std::vector<double> latencies;  ///< seconds that each batch took
  std::vector<double> cpu_latencies;
};

RunResult translate(const StepModel& model, const std::vector<Ids>& sources, const SearchRun& run);

}  // namespace transmute
