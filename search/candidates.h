// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/next_scores.h>
#include <transmute/search/sentence_search.h>

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// The candidates of sentence b, whose hypotheses have `length` tokens, best first: the next token of its prefix,
/// the end at its maximum length, what is drawn, the alternatives, or the best that is allowed. Not empty.
std::vector<Candidate> find_candidates(const SentenceSearch& sentence, NextScores& scores, int64_t b, int64_t length,
                                       const SearchOptions& options);

}  // namespace search
}  // namespace v0
}  // namespace transmute
