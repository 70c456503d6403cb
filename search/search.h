// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/search_options.h>
#include <transmute/search/hypothesis.h>
#include <transmute/search/search_request.h>
#include <transmute/search/step_model.h>

#include <functional>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Callbacks to follow and stop a search. They run after every step, on the thread of the search.
struct SearchHooks {
  /// The part of a sentence's best translation that can no longer change: the tokens shared by all hypotheses that can
  /// still win. Called whenever it has grown, and when it is whole.
  std::function<void(size_t sentence, const Ids& certain, bool is_whole)> on_tokens{};
  /// If it returns true, the search ends with Cancelled.
  std::function<bool()> should_stop{};
  /// Called for each sentence. If it returns true, that sentence is abandoned: its hypothesis is empty, with
  /// log-probability minus infinity.
  std::function<bool(size_t sentence)> is_unwanted{};
};

/// @throws std::invalid_argument if beam_size or num_hypotheses is not from 1 to kMaxHypotheses.
TRANSMUTE_API void check_hypotheses(const SearchOptions& options);

/// @throws std::invalid_argument if an option is out of range.
TRANSMUTE_API void check_search_options(const SearchOptions& options);

/// Beam search for a batch of sentences; beam_size 1 is greedy search. Returns the best hypotheses of each sentence,
/// best first.
///
/// A sentence is done when no live hypothesis can still rank among the best num_hypotheses, however long it becomes
/// (greedy search: at the first end). At the maximum length the end is forced. Padding, begin and unknown are never
/// chosen, but may occur in a prefix. SearchOptions::sampling and SearchOptions::alternatives replace the search.
///
/// With required terms, the beam grows by the number of their tokens (at most by 64) and is divided evenly among
/// hypotheses with equally many of these tokens (Post and Vilar, 2018); a hypothesis may end only when it has all of
/// them.
/// @throws std::invalid_argument if an option is out of range; Cancelled if a hook stopped the search.
TRANSMUTE_API std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model,
                                                                 const std::vector<SearchRequest>& requests,
                                                                 const SearchOptions& options,
                                                                 const SearchHooks& hooks = {},
                                                                 const SearchContext& context = {});

/// The same for sources without requirements on their translations.
TRANSMUTE_API std::vector<std::vector<IdHypothesis>> beam_search(const StepModel& model,
                                                                 const std::vector<Ids>& sources,
                                                                 const SearchOptions& options,
                                                                 const SearchHooks& hooks = {});

}  // namespace v0
}  // namespace transmute
