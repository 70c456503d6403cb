// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tokenizer/special_ids.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Cuts ids into parts of at most `limit`, after the end of a sentence if there is one, else of a clause,
/// else of a word. `pieces` are the ids' SentencePiece pieces. `is_inside[i]`: a cut before piece i would fall into
/// what should stay together; such cuts are the last choice.
std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit,
                           const std::vector<bool>& is_inside = {});

}  // namespace v0
}  // namespace transmute
