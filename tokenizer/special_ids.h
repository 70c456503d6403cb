// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Token ids of one sentence.
using Ids = std::vector<int64_t>;

/// Ids that every vocabulary reserves, the same in each; the tokenizer's training and the model rely on them.
namespace special_ids {
constexpr int64_t kPad = 0;      ///< fills a batch's shorter rows; never attended to, never predicted
constexpr int64_t kUnknown = 1;  ///< a character outside the vocabulary
constexpr int64_t kBegin = 2;    ///< the first decoder input
constexpr int64_t kEnd = 3;      ///< ends every source and every target
/// Number of reserved ids.
constexpr int64_t kCount = 4;
}  // namespace special_ids

}  // namespace v0
}  // namespace transmute
