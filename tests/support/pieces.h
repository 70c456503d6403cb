// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace transmute::testing {

// The number of each piece's word, from 0.
inline std::vector<int64_t> words_of_pieces(const std::vector<std::string>& pieces) {
  std::vector<int64_t> words;
  for (const auto& piece : pieces)
    words.push_back((words.empty() ? -1 : words.back()) + (piece.rfind("\u2581", 0) == 0 ? 1 : 0));
  return words;
}

}  // namespace transmute::testing
