// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/data/lexical_model.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// The tokens of a source and its end token.
std::vector<int32_t> with_end(const TokenLists& sources, size_t i) {
  std::vector<int32_t> ids(sources.data(i), sources.data(i) + sources.length(i));
  ids.push_back(static_cast<int32_t>(special_ids::kEnd));
  return ids;
}

void keep_each_once(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// The derivative of the logarithm of the gamma function: by its recurrence, then by its asymptotic series (Abramowitz
// and Stegun, 1964, 6.3.18).
double digamma(double x) {
  double result = 0;
  for (; x < 6; ++x) result -= 1 / x;
  const double inverse = 1 / (x * x);
  return result + std::log(x) - 0.5 / x - inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse / 252));
}

}  // namespace

LexicalModel::LexicalModel(const ParallelText& text, int64_t iterations) {
  if (iterations < 1)
    throw std::invalid_argument(fmt::format("a lexical model needs at least 1 iteration, not {}", iterations));
  find_pairs(text);
  const Expectation model_1 = [](size_t targets, size_t sources, std::vector<double>& values) {
    for (size_t t = 0; t < targets; ++t) {
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(t * (sources + 1));
      const auto end = begin + static_cast<std::ptrdiff_t>(sources + 1);
      const double sum = std::accumulate(begin, end, 0.0);
      for (auto value = begin; value != end; ++value) *value /= sum;
    }
  };
  for (int64_t i = 0; i < iterations; ++i) improve(text, model_1, 0);
}

void LexicalModel::find_pairs(const ParallelText& text) {
  std::vector<std::vector<int32_t>> rows;
  std::vector<size_t> sorted_size;  // number of entries per row after it was last compacted
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
      entries_.push_back({target, 1, 0});  // starts equal: the first iteration makes them probabilities
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

void LexicalModel::improve(const ParallelText& text, const Expectation& expectation, double prior) {
  constexpr size_t kMostPlaces = size_t{64} << 20U;  // of which an iteration looks up the others again
  const bool can_keep = entries_.size() <= std::numeric_limits<uint32_t>::max();
  const size_t known = places_.size();
  std::vector<size_t> places;
  std::vector<double> values;
  size_t token = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::vector<int32_t> sources = with_end(text.source, i);
    const size_t targets = text.target.length(i);
    places.clear();
    values.clear();
    for (size_t t = 0; t < targets; ++t)
      for (const int32_t source : sources) {
        places.push_back(token < known ? places_[token] : find(source, text.target.data(i)[t]));
        if (token >= known && can_keep && places_.size() < kMostPlaces)
          places_.push_back(static_cast<uint32_t>(places.back()));
        values.push_back(static_cast<double>(entries_[places.back()].probability));
        ++token;
      }
    expectation(targets, sources.size() - 1, values);
    for (size_t k = 0; k < places.size(); ++k) entries_[places[k]].count += values[k];
  }
  set_probabilities(prior);
}

void LexicalModel::set_probabilities(double prior) {
  constexpr double kLeast = 1e-9;  // keeps the sum of a target token's probabilities above 0
  for (size_t s = 0; s + 1 < rows_.size(); ++s) {
    double total = prior * static_cast<double>(rows_[s + 1] - rows_[s]);
    for (size_t place = rows_[s]; place < rows_[s + 1]; ++place) total += entries_[place].count;
    const double log_total = prior > 0 && total > 0 ? digamma(total) : 0;
    for (size_t place = rows_[s]; place < rows_[s + 1]; ++place) {
      const double count = entries_[place].count;
      const double probability = prior > 0 ? std::exp(digamma(count + prior) - log_total) : count / total;
      entries_[place].probability = static_cast<float>(std::max(kLeast, probability));
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
