// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/search/next_scores.h>
#include <transmute/search/sentence_search.h>

#include <vector>

namespace transmute {
inline namespace v0 {
namespace search {

/// The candidates of a sentence: the next token of its prefix, the end at its maximum length, the tokens drawn, the
/// alternatives, or the best allowed continuations. A search gets them best first, the others in the order of their
/// parents. The list is never empty.
std::vector<Candidate> find_candidates(const SentenceSearch& sentence, NextScores& scores);

}  // namespace search
}  // namespace v0
}  // namespace transmute
