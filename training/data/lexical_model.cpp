// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/lexical_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cstddef>
#include <limits>
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
  Places places;
  for (int64_t i = 0; i < iterations; ++i) iterate(text, places);
}

void LexicalModel::find_pairs(const ParallelText& text) {
  std::vector<std::vector<int32_t>> rows;
  std::vector<size_t> sorted_size;  // of each row when it was last made small
  for (size_t i = 0; i < text.size(); ++i)
    for (const int32_t source : with_end(text.source, i)) {
      const auto s = static_cast<size_t>(source);
      if (s >= rows.size()) rows.resize(s + 1);
      sorted_size.resize(rows.size());
      std::vector<int32_t>& targets = rows[s];
      targets.insert(targets.end(), text.target.data(i), text.target.data(i) + text.target.length(i));
      if (targets.size() > 2 * sorted_size[s] + 1024) {
        keep_each_once(targets);
        sorted_size[s] = targets.size();
      }
    }
  size_t size = 0;
  for (std::vector<int32_t>& targets : rows) {
    keep_each_once(targets);
    size += targets.size();
  }
  entries_.reserve(size);
  for (std::vector<int32_t>& targets : rows) {
    for (const int32_t target : targets)
      entries_.push_back({target, 1, 0});  // equal: the first iteration makes them probabilities
    rows_.push_back(entries_.size());
    targets = {};
  }
}

size_t LexicalModel::find(int32_t source, int32_t target) const {
  const auto s = static_cast<size_t>(source);
  const auto begin = entries_.begin();
  const auto found =
      std::lower_bound(begin + static_cast<std::ptrdiff_t>(rows_[s]), begin + static_cast<std::ptrdiff_t>(rows_[s + 1]),
                       target, [](const Entry& entry, int32_t wanted) { return entry.target < wanted; });
  return static_cast<size_t>(found - begin);
}

void LexicalModel::iterate(const ParallelText& text, Places& places) {
  constexpr size_t kMostPlaces = size_t{64} << 20U;  // of which an iteration looks up the others again
  const bool can_keep = entries_.size() <= std::numeric_limits<uint32_t>::max();
  std::vector<size_t> explaining;
  size_t token = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::vector<int32_t> sources = with_end(text.source, i);
    for (size_t t = 0; t < text.target.length(i); ++t) {
      const int32_t target = text.target.data(i)[t];
      explaining.clear();
      double sum = 0;
      for (const int32_t source : sources) {
        const bool is_known = token < places.size();
        const size_t place = is_known ? places[token] : find(source, target);
        if (!is_known && can_keep && places.size() < kMostPlaces) places.push_back(static_cast<uint32_t>(place));
        ++token;
        explaining.push_back(place);
        sum += static_cast<double>(entries_[place].probability);
      }
      for (const size_t place : explaining)
        entries_[place].count += static_cast<double>(entries_[place].probability) / sum;
    }
  }
  constexpr double kLeast = 1e-9;  // keeps the sum of a target token's probabilities from becoming 0
  for (size_t s = 0; s + 1 < rows_.size(); ++s) {
    double total = 0;
    for (size_t place = rows_[s]; place < rows_[s + 1]; ++place) total += entries_[place].count;
    for (size_t place = rows_[s]; place < rows_[s + 1]; ++place) {
      entries_[place].probability = static_cast<float>(std::max(kLeast, entries_[place].count / total));
      entries_[place].count = 0;
    }
  }
}

std::vector<LexicalModel::Translation> LexicalModel::best(int64_t source, size_t count, double least) const {
  std::vector<Translation> found;
  for (size_t place = rows_.at(static_cast<size_t>(source)); place < rows_.at(static_cast<size_t>(source) + 1); ++place)
    if (const auto probability = static_cast<double>(entries_[place].probability); probability >= least)
      found.push_back({entries_[place].target, probability});
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
