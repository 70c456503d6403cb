// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/lexical_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// The tokens of a source, and its end.
std::vector<int32_t> with_end(const TokenLists& sources, size_t i) {
  std::vector<int32_t> ids(sources.data(i), sources.data(i) + sources.length(i));
  ids.push_back(static_cast<int32_t>(special_ids::kEnd));
  return ids;
}

void keep_each_once(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

LexicalModel::LexicalModel(const ParallelText& text, int64_t iterations) {
  if (iterations < 1)
    throw std::invalid_argument(fmt::format("a lexical model needs at least 1 iteration, not {}", iterations));
  find_pairs(text);
  for (int64_t i = 0; i < iterations; ++i) iterate(text);
}

void LexicalModel::find_pairs(const ParallelText& text) {
  std::vector<size_t> sorted_size;  // of each row when it was last made small
  for (size_t i = 0; i < text.size(); ++i)
    for (const int32_t source : with_end(text.source, i)) {
      const auto s = static_cast<size_t>(source);
      if (s >= rows_.size()) rows_.resize(s + 1);
      sorted_size.resize(rows_.size());
      std::vector<int32_t>& targets = rows_[s].targets;
      targets.insert(targets.end(), text.target.data(i), text.target.data(i) + text.target.length(i));
      if (targets.size() > 2 * sorted_size[s] + 1024) {
        keep_each_once(targets);
        sorted_size[s] = targets.size();
      }
    }
  for (Row& row : rows_) {
    keep_each_once(row.targets);
    row.targets.shrink_to_fit();
    row.probabilities.assign(row.targets.size(), 1.0F);  // equal: the first iteration makes them probabilities
    row.counts.assign(row.targets.size(), 0.0);
  }
}

void LexicalModel::iterate(const ParallelText& text) {
  std::vector<std::pair<Row*, size_t>> entries;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::vector<int32_t> sources = with_end(text.source, i);
    for (size_t t = 0; t < text.target.length(i); ++t) {
      const int32_t target = text.target.data(i)[t];
      entries.clear();
      double sum = 0;
      for (const int32_t source : sources) {
        Row& row = rows_[static_cast<size_t>(source)];
        const auto found = std::lower_bound(row.targets.begin(), row.targets.end(), target);
        entries.emplace_back(&row, static_cast<size_t>(found - row.targets.begin()));
        sum += static_cast<double>(row.probabilities[entries.back().second]);
      }
      for (const auto& [row, entry] : entries)
        row->counts[entry] += static_cast<double>(row->probabilities[entry]) / sum;
    }
  }
  constexpr double kLeast = 1e-9;  // keeps the sum of a target token's probabilities from becoming 0
  for (Row& row : rows_) {
    const double total = std::accumulate(row.counts.begin(), row.counts.end(), 0.0);
    for (size_t k = 0; k < row.counts.size(); ++k)
      row.probabilities[k] = static_cast<float>(std::max(kLeast, row.counts[k] / total));
    std::fill(row.counts.begin(), row.counts.end(), 0.0);
  }
}

std::vector<LexicalModel::Translation> LexicalModel::best(int64_t source, size_t count, double least) const {
  const Row& row = rows_.at(static_cast<size_t>(source));
  std::vector<Translation> found;
  for (size_t k = 0; k < row.targets.size(); ++k)
    if (static_cast<double>(row.probabilities[k]) >= least)
      found.push_back({row.targets[k], static_cast<double>(row.probabilities[k])});
  const auto better = [](const Translation& a, const Translation& b) {
    return a.probability != b.probability ? a.probability > b.probability : a.target < b.target;
  };
  const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(count, found.size()));
  std::partial_sort(found.begin(), end, found.end(), better);
  found.erase(end, found.end());
  return found;
}

}  // namespace v0
}  // namespace transmute
