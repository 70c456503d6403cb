// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace transmute {
inline namespace v0 {

/// @throws std::invalid_argument naming the option, where its value is less than 1.
void check_at_least_one(int64_t value, const char* option);

/// Numbers of texts, batch by batch: those of similar length together, the longest first. There is little padding then,
/// and the last batches are the short ones, so that workers end at about the same time.
/// @param batch_tokens of a batch at most, its padding and ends included
std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens);

}  // namespace v0
}  // namespace transmute
