// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/network/search_options.h>
#include <transmute/search/hypothesis.h>
#include <transmute/search/step_model.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The probability of each target, its end included, given the source of the same number: one hypothesis each. Of
/// `options` the length penalty and the alignments count. `batch_size` and `batch_tokens` as for batches_by_length;
/// `parallel_for` runs the batches; the first `forced_tokens` of each target have probability 1. `should_stop`, which
/// may be empty, is called on several threads before and within each batch.
/// @throws Cancelled if should_stop returns true.
std::vector<IdHypothesis> score_targets(const StepModel& model, const std::vector<Ids>& sources,
                                        const std::vector<Ids>& targets, const SearchOptions& options,
                                        int64_t batch_size, int64_t batch_tokens, const ParallelFor& parallel_for,
                                        size_t forced_tokens = 0, const std::function<bool()>& should_stop = {});

}  // namespace v0
}  // namespace transmute
