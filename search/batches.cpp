// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/batches.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/search/sentence_search.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Maximum number of tokens of all hypotheses in a batch: with the base Transformer, their keys and values take 1.5 GiB.
// Searches with the default options remain below it.
constexpr int64_t kMostBatchTokens = 1 << 16;

}  // namespace

void check_at_least_one(int64_t value, const char* option) {
  constexpr int64_t kMost = 1'000'000'000;
  if (value < 1 || value > kMost)
    throw std::invalid_argument(fmt::format("{} must lie between 1 and {}, not {}", option, kMost, value));
}

SearchSize search_size(const SearchOptions& options) {
  return {search::is_search(options) ? options.beam_size : options.num_hypotheses, options.max_extra_length};
}

std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens, SearchSize size,
                                                   const std::vector<int64_t>& more_hypotheses) {
  const int64_t least = std::min(size.hypotheses, kMostBatchTokens);
  // The number of hypotheses in this text's batch: doubled until it is enough for the text.
  const auto hypotheses = [&](size_t text) {
    int64_t most = least;
    while (!more_hypotheses.empty() && most < least + more_hypotheses[text]) most = std::max<int64_t>(1, 2 * most);
    return most;
  };
  std::vector<size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t of_a = hypotheses(a), of_b = hypotheses(b);
    return of_a != of_b ? of_a > of_b : lengths[a] > lengths[b];
  });
  std::vector<std::vector<size_t>> batches;
  int64_t rows_allowed = 0, of_batch = 0;
  for (const size_t text : order) {
    if (batches.empty() || static_cast<int64_t>(batches.back().size()) >= rows_allowed || hypotheses(text) < of_batch) {
      batches.emplace_back();
      of_batch = hypotheses(text);
      const auto padded = static_cast<int64_t>(lengths[text]) + 1;
      rows_allowed = std::min(batch_size, batch_tokens / padded);
      const int64_t tokens = of_batch * (padded + std::min(size.extra_length, kMostBatchTokens));
      if (tokens > 0) rows_allowed = std::min(rows_allowed, kMostBatchTokens / tokens);
      rows_allowed = std::max<int64_t>(1, rows_allowed);
    }
    batches.back().push_back(text);
  }
  return batches;
}

}  // namespace v0
}  // namespace transmute
