// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/random.h>
#include <transmute/search/search.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute::testing {

// The words of these tests, after the four reserved ids.
enum Word : int64_t { kA = special_ids::kCount, kB, kC, kD, kE };
constexpr int64_t kEnd = special_ids::kEnd;

// Probabilities of the next token; what is not named has none.
using Distribution = std::map<int64_t, double>;

// The distribution after `prefix` (without begin) for a source. A function of nothing else, which a test can
// evaluate without any search.
using Table = std::function<Distribution(const Ids& source, const Ids& prefix)>;

// log-probabilities are float32 and sums of a few of them: some units of 6e-8 times their size.
inline constexpr double kTolerance = 1e-5;

// Logits are log-probabilities up to a constant, another one for each prefix.
inline double offset_of(const Ids& prefix) {
  return static_cast<double>((prefix.back() + static_cast<int64_t>(prefix.size())) % 5 - 2);
}

class TableBatch : public DecodingBatch {
 public:
  TableBatch(const Table& table, int64_t vocabulary, std::vector<Ids> sources, std::vector<Ids> shortlists)
      : table_(table),
        vocabulary_(vocabulary),
        sources_(std::move(sources)),
        shortlists_(std::move(shortlists)),
        prefixes_(sources_.size()) {}

  NextToken step(const Ids& ids, int64_t positions) override {
    const auto wide = static_cast<size_t>(positions);
    if (ids.size() != prefixes_.size() * wide) throw std::logic_error("step: ids are not [B,N·T]");
    if (wide > 1 && prefixes_.size() != sources_.size()) throw std::logic_error("step: several hypotheses");
    const size_t rows_per_sentence = ids.size() / sources_.size();
    const auto width = static_cast<size_t>(vocabulary_);
    logits_.assign(ids.size() * width, -std::numeric_limits<float>::infinity());
    for (size_t row = 0; row < ids.size(); ++row) {
      Ids& prefix = prefixes_[row / wide];
      prefix.push_back(ids[row]);
      if (prefix.front() != special_ids::kBegin) throw std::logic_error("the first token is not begin");
      const Ids after_begin(prefix.begin() + 1, prefix.end());
      for (const auto& [token, probability] : table_(sources_[row / rows_per_sentence], after_begin))
        logits_[row * width + static_cast<size_t>(token)] =
            static_cast<float>(std::log(probability) + offset_of(prefix));
    }
    NextToken next;
    next.columns = vocabulary_;
    if (!shortlists_.empty()) next.columns = keep_lists(rows_per_sentence);
    next.logits = [this, columns = next.columns](int64_t row) { return logits_.data() + row * columns; };
    return next;
  }

  void select(const std::vector<int64_t>& sentences, const std::vector<int64_t>& parents) override {
    const size_t old_beam = prefixes_.size() / sources_.size();
    if (parents.size() % sentences.size() != 0) throw std::logic_error("select: beams of unequal size");
    const size_t beam = parents.size() / sentences.size();
    std::vector<Ids> sources, prefixes, shortlists;
    for (const int64_t sentence : sentences) {
      const auto kept = static_cast<size_t>(sentence);
      sources.push_back(sources_.at(kept));
      if (!shortlists_.empty()) shortlists.push_back(shortlists_.at(kept));
    }
    for (size_t i = 0; i < parents.size(); ++i) {
      const auto parent = static_cast<size_t>(parents[i]);
      if (parent / old_beam != static_cast<size_t>(sentences[i / beam]))
        throw std::logic_error("select: a parent of another sentence");
      prefixes.push_back(prefixes_.at(parent));
    }
    sources_ = std::move(sources);
    shortlists_ = std::move(shortlists);
    prefixes_ = std::move(prefixes);
  }

 private:
  // The logits of each sentence's list alone; returns how many the longest has.
  int64_t keep_lists(size_t rows_per_sentence) {
    size_t longest = 0;
    for (const Ids& list : shortlists_) longest = std::max(longest, list.size());
    const size_t rows = sources_.size() * rows_per_sentence;
    std::vector<float> own(rows * longest, -std::numeric_limits<float>::infinity());
    for (size_t row = 0; row < rows; ++row) {
      const Ids& list = shortlists_[row / rows_per_sentence];
      for (size_t c = 0; c < list.size(); ++c)
        own[row * longest + c] = logits_[row * static_cast<size_t>(vocabulary_) + static_cast<size_t>(list[c])];
    }
    logits_ = std::move(own);
    return static_cast<int64_t>(longest);
  }

  std::vector<float> logits_;
  Table table_;
  int64_t vocabulary_;
  std::vector<Ids> sources_;
  std::vector<Ids> shortlists_;
  std::vector<Ids> prefixes_;  // begin included
};

class TableModel : public StepModel {
 public:
  explicit TableModel(Table table, int64_t words = 5)
      : table_(std::move(table)), vocabulary_(special_ids::kCount + words) {}
  std::unique_ptr<DecodingBatch> start(const std::vector<Ids>& sources, AttentionChoice,
                                       const std::vector<Ids>& shortlists) const override {
    return std::make_unique<TableBatch>(table_, vocabulary_, sources, shortlists);
  }

 private:
  Table table_;
  int64_t vocabulary_;
};

// A table of few prefixes; any other prefix ends.
inline Table written(const std::map<Ids, Distribution>& rows) {
  return [rows](const Ids&, const Ids& prefix) {
    const auto row = rows.find(prefix);
    return row == rows.end() ? Distribution{{kEnd, 1.0}} : row->second;
  };
}

// Random probabilities for every prefix, different for each source and key.
inline Table random_table(uint64_t key, int64_t words) {
  return [key, words](const Ids& source, const Ids& prefix) {
    uint64_t state = mix_bits(key);
    for (const int64_t id : source) state = combine_keys(state, id);
    state = combine_keys(state, 1'000'003);
    for (const int64_t id : prefix) state = combine_keys(state, id);
    Distribution distribution;
    double sum = 0;
    for (int64_t token = kEnd; token <= kEnd + words; ++token) {
      state = mix_bits(state);
      const double uniform = static_cast<double>(state >> 11) * 0x1p-53;
      sum += distribution[token] = std::exp(4 * uniform);
    }
    for (auto& entry : distribution) entry.second /= sum;
    return distribution;
  };
}

inline double probability_of(const Distribution& distribution, int64_t token) {
  const auto found = distribution.find(token);
  return found == distribution.end() ? 0.0 : found->second;
}

// log P of a whole hypothesis, its end included, straight from the table.
inline double log_probability(const Table& table, const Ids& source, const Ids& ids) {
  double sum = 0;
  Ids prefix;
  for (const int64_t id : ids) {
    sum += std::log(probability_of(table(source, prefix), id));
    prefix.push_back(id);
  }
  return sum + std::log(probability_of(table(source, prefix), kEnd));
}

// The paper's penalty, Wu et al. (2016), Eq. 14; the length counts the end.
inline double expected_score(double log_p, const Ids& ids, double alpha) {
  return log_p / (std::pow(5.0 + static_cast<double>(ids.size()) + 1.0, alpha) / std::pow(6.0, alpha));
}

// Every sequence of at most `limit` words with its probability, best score first.
inline std::vector<IdHypothesis> all_hypotheses(const Table& table, const Ids& source, int64_t words, size_t limit,
                                                double alpha) {
  std::vector<IdHypothesis> found;
  std::vector<Ids> sequences{{}};
  for (size_t i = 0; i < sequences.size(); ++i) {
    const Ids ids = sequences[i];
    const double log_p = log_probability(table, source, ids);
    found.push_back({ids, log_p, expected_score(log_p, ids, alpha)});
    if (ids.size() == limit) continue;
    for (int64_t word = kA; word < kA + words; ++word) {
      sequences.push_back(ids);
      sequences.back().push_back(word);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return found;
}

inline SearchOptions options_of(int64_t beam_size, double alpha = 0, int64_t num_hypotheses = 1) {
  SearchOptions options;
  options.beam_size = beam_size;
  options.length_alpha = alpha;
  options.num_hypotheses = num_hypotheses;
  return options;
}

inline SearchOptions sampling_of(const SamplingOptions& sampling, int64_t draws = 1) {
  SearchOptions options;
  options.num_hypotheses = draws;
  options.sampling = sampling;
  return options;
}

inline std::vector<IdHypothesis> search_one(const Table& table, const Ids& source, const SearchOptions& options) {
  auto results = beam_search(TableModel(table), {source}, options);
  EXPECT_EQ(results.size(), 1u);
  return results.at(0);
}

// Wide enough for every sequence of three words and four tokens.
inline SearchOptions whole_space(double alpha) {
  SearchOptions options = options_of(200, alpha);
  options.max_extra_length = 2;
  return options;
}

inline void expect_equal(const IdHypothesis& found, const IdHypothesis& expected) {
  EXPECT_EQ(found.ids, expected.ids);
  EXPECT_NEAR(found.log_probability, expected.log_probability, kTolerance);
  EXPECT_NEAR(found.score, expected.score, kTolerance);
}

}  // namespace transmute::testing
