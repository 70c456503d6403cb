// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/translation/search/hypothesis.h>
#include <transmute/translation/search/step_model.h>
#include <transmute/translation/search/target_demands.h>
#include <transmute/translation/search_options.h>

#include <functional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// What a caller can watch and stop while a search goes on; all are called after every step, from its thread.
struct SearchHooks {
  /// The first tokens of a sentence's best translation, as far as they are certain: what all hypotheses share that can
  /// still win. Grows only; called where it grew.
  std::function<void(size_t sentence, const Ids& certain)> on_tokens{};
  /// True ends the search with Cancelled.
  std::function<bool()> should_stop{};
  /// Asked for each sentence; true leaves that one: its hypothesis is empty, with log-probability minus infinity.
  std::function<bool(size_t sentence)> is_unwanted{};
};

/// Beam search for a batch of sentences; beam_size 1 is greedy search. Returns, for each sentence in the
/// given order, its best hypotheses, best first.
///
/// A sentence is done when no live hypothesis can still rank among the best num_hypotheses, however long it becomes
/// (greedy search: at the first end). At the maximum length the end is forced. Padding, begin and unknown are never
/// chosen, but taken where a prefix has them. SearchOptions::sampling and SearchOptions::alternatives do something
/// else than search.
///
/// Where terms are demanded, the beam is wider by their tokens, is shared out evenly among hypotheses that have as many
/// of those tokens (Post and Vilar, 2018), and only what has all of them may end.
/// @throws std::invalid_argument where an option is out of range; Cancelled.
TRANSMUTE_API std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model,
                                                                 const std::vector<Ids>& sources,
                                                                 const SearchOptions& options,
                                                                 const SearchHooks& hooks = {},
                                                                 const TargetDemands& demands = {});

}  // namespace v0
}  // namespace transmute
