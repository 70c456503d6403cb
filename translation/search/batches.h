// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// @throws std::invalid_argument naming the option, where its value is less than 1 or more than 10^9.
void check_at_least_one(int64_t value, const char* option);

/// How large the search for a text's translation can become: so many hypotheses at a time, each of as many tokens as
/// the text and so many more. The decoder keeps keys and values of all of them.
struct SearchSize {
  int64_t hypotheses = 0;
  int64_t extra_length = 0;
};

/// That of a search with these options, for a text without terms.
SearchSize search_size(const SearchOptions& options);

/// Numbers of texts, batch by batch: those of similar length together, the longest first. There is little padding then,
/// and the last batches are the short ones, so that workers end at about the same time. A batch's texts are all decoded
/// with as many hypotheses as that of them with most: texts that need far more of them come first, in batches of their
/// own.
/// @param batch_tokens of a batch at most, its padding and ends included
/// @param size of each text's search; a batch of several is bounded by it, so that many long hypotheses do not fill the
/// memory
/// @param more_hypotheses of each text, beside those of `size`; empty: none
std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens, SearchSize size = {},
                                                   const std::vector<int64_t>& more_hypotheses = {});

}  // namespace v0
}  // namespace transmute
