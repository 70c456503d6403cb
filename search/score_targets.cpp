// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/score_targets.h>

#include <transmute/search/batches.h>
#include <transmute/search/search.h>

#include <algorithm>
#include <utility>

namespace transmute {
inline namespace v0 {

std::vector<IdHypothesis> score_targets(const StepModel& model, const std::vector<Ids>& sources,
                                        const std::vector<Ids>& targets, const SearchOptions& options,
                                        int64_t batch_size, int64_t batch_tokens, const ParallelFor& parallel_for,
                                        size_t forced_tokens, const std::function<bool()>& should_stop) {
  SearchOptions search;
  search.beam_size = 1;
  search.length_alpha = options.length_alpha;
  search.length_penalty = options.length_penalty;
  search.alignments = options.alignments;
  search.alignment_layer = options.alignment_layer;
  search.alignment_head = options.alignment_head;
  std::vector<size_t> lengths;  // targets are filled up to the longest of their batch
  for (size_t i = 0; i < targets.size(); ++i) lengths.push_back(std::max(sources[i].size(), targets[i].size()));
  const auto batches = batches_by_length(lengths, batch_size, batch_tokens);
  std::vector<IdHypothesis> scored(targets.size());
  SearchHooks hooks;
  hooks.should_stop = should_stop;
  parallel_for(batches.size(), [&](size_t b) {
    if (should_stop && should_stop()) throw Cancelled();
    std::vector<SearchRequest> requests;
    for (const size_t i : batches[b]) {
      requests.push_back({sources[i], targets[i], static_cast<int64_t>(forced_tokens)});
      requests.back().prefix_is_complete = true;
    }
    auto found = beam_search(model, requests, search, hooks);
    for (size_t i = 0; i < found.size(); ++i) scored[batches[b][i]] = std::move(found[i].front());
  });
  return scored;
}

}  // namespace v0
}  // namespace transmute
