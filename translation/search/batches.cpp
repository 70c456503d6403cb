// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/search/batches.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

void check_at_least_one(int64_t value, const char* option) {
  constexpr int64_t kMost = 1'000'000'000;
  if (value < 1 || value > kMost)
    throw std::invalid_argument(fmt::format("{} must lie between 1 and {}, not {}", option, kMost, value));
}

std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens) {
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> batches;
  int64_t rows_allowed = 0;
  for (const size_t text : order) {
    if (batches.empty() || static_cast<int64_t>(batches.back().size()) >= rows_allowed) {
      batches.emplace_back();
      const auto padded = static_cast<int64_t>(lengths[text]) + 1;
      rows_allowed = std::max<int64_t>(1, std::min(batch_size, batch_tokens / padded));
    }
    batches.back().push_back(text);
  }
  return batches;
}

}  // namespace v0
}  // namespace transmute
