// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/alignment.h>

#include <algorithm>
#include <numeric>

namespace transmute {
inline namespace v0 {

std::vector<std::vector<float>> balanced_alignment(std::vector<std::vector<float>> rows) {
  constexpr int kRounds = 3;
  // Beside a source token's own attention, so that one that has next to none does not get all of it.
  constexpr float kBeside = 0.2F;
  for (auto& row : rows) {
    row.reserve(row.size() + 1);  // exactly, because all rows together may be large
    row.push_back(std::max(0.0F, 1 - std::accumulate(row.begin(), row.end(), 0.0F)));  // the end's
  }
  for (int round = 0; round < kRounds && !rows.empty(); ++round) {
    std::vector<float> sums(rows.front().size());
    for (const auto& row : rows)
      for (size_t s = 0; s < row.size(); ++s) sums[s] += row[s];
    for (auto& row : rows) {
      for (size_t s = 0; s < row.size(); ++s) row[s] /= sums[s] + kBeside;
      const float total = std::accumulate(row.begin(), row.end(), 0.0F);
      for (float& weight : row) weight /= total;
    }
  }
  for (auto& row : rows) row.pop_back();
  return rows;
}

}  // namespace v0
}  // namespace transmute
