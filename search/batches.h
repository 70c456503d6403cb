// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/network/search_options.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// @throws std::invalid_argument naming the option, if its value is less than 1 or more than 10^9.
void check_at_least_one(int64_t value, const char* option);

/// Bounds of the search for one text: the hypotheses kept at a time, and the maximum target length minus the source
/// length. The decoder caches keys and values of all their tokens.
struct SearchSize {
  int64_t hypotheses = 0;
  int64_t extra_length = 0;
};

/// The size of a search with these options, for a text without terms.
SearchSize search_size(const SearchOptions& options);

/// Numbers of texts, batch by batch: those of similar length together, the longest first. There is little padding then,
/// and the last batches are the short ones, so that workers end at about the same time. All texts of a batch are
/// decoded with the number of hypotheses of the one that needs most: texts that need far more come first, in batches of
/// their own.
/// @param batch_tokens maximum number of source tokens in a batch, padding and ends included
/// @param size bounds of the search for each text, which limit the memory of a batch of several
/// @param more_hypotheses further hypotheses of each text, in addition to those of `size`; empty: none
std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens, SearchSize size = {},
                                                   const std::vector<int64_t>& more_hypotheses = {});

}  // namespace v0
}  // namespace transmute
