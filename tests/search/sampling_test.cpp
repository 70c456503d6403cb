// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/table_model.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::Distribution;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kD;
using testing::kE;
using testing::kEnd;
using testing::kTolerance;
using testing::log_probability;
using testing::probability_of;
using testing::random_table;
using testing::sampling_of;
using ::testing::SizeIs;
using testing::Table;
using testing::TableModel;

// How often each first token comes in draws for `count` different sources, which the table does not look at.
std::map<int64_t, double> first_tokens(const Distribution& distribution, const SamplingOptions& sampling, int count) {
  const Table table = [=](const Ids&, const Ids& prefix) {
    return prefix.empty() ? distribution : Distribution{{kEnd, 1.0}};
  };
  std::map<int64_t, double> frequency;
  std::vector<Ids> sources;
  for (int i = 0; i < count; ++i) sources.push_back({i});
  for (const auto& found : beam_search(TableModel(table, 5), sources, sampling_of(sampling)))
    frequency[found.at(0).ids.empty() ? kEnd : found[0].ids[0]] += 1.0 / count;
  return frequency;
}

TEST(Sampling, DrawsFromTheDistribution) {
  const Distribution distribution{{kEnd, 0.1}, {kA, 0.2}, {kB, 0.3}, {kC, 0.4}};
  constexpr int kDraws = 4000;
  const auto expect_near = [](const std::map<int64_t, double>& found, const Distribution& expected) {
    constexpr double kRounding = 1e-9;
    for (const auto& [token, frequency] : found) EXPECT_GT(probability_of(expected, token), 0) << token;
    for (const auto& [token, probability] : expected)  // four standard deviations
      EXPECT_NEAR(probability_of(found, token), probability,
                  kRounding + 4 * std::sqrt(probability * (1 - probability) / kDraws));
  };
  SamplingOptions sampling;
  expect_near(first_tokens(distribution, sampling, kDraws), distribution);
  sampling.seed = 2;
  expect_near(first_tokens(distribution, sampling, kDraws), distribution);
  sampling.top_k = 2;
  expect_near(first_tokens(distribution, sampling, kDraws), {{kB, 3.0 / 7}, {kC, 4.0 / 7}});
  sampling.top_k = 0;
  sampling.top_p = 0.75;  // 0.4 + 0.3 is too little
  expect_near(first_tokens(distribution, sampling, kDraws), {{kA, 2.0 / 9}, {kB, 3.0 / 9}, {kC, 4.0 / 9}});
  sampling.top_p = 1;
  sampling.temperature = 0.5;  // squares
  expect_near(first_tokens(distribution, sampling, kDraws),
              {{kEnd, 0.01 / 0.3}, {kA, 0.04 / 0.3}, {kB, 0.09 / 0.3}, {kC, 0.16 / 0.3}});
  sampling.temperature = 0;
  expect_near(first_tokens(distribution, sampling, kDraws), {{kC, 1.0}});
}

TEST(Sampling, DependsOnTheSeedAndTheSentenceAndNothingElse) {
  const Table table = random_table(11, 5);
  const TableModel model(table, 5);
  const std::vector<Ids> sources{{kA}, {kB, kC}, {kD, kA, kA}, {kE}};
  const SearchOptions options = sampling_of({}, 3);
  const auto together = beam_search(model, sources, options);
  bool differs = false;
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto alone = beam_search(model, {sources[i]}, options).at(0);
    ASSERT_THAT(alone, SizeIs(3));
    for (size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(alone[n].ids, together[i][n].ids);
      EXPECT_NEAR(alone[n].log_probability, log_probability(table, sources[i], alone[n].ids), kTolerance);
      EXPECT_GE(alone[0].score, alone[n].score);
    }
    SamplingOptions other;
    other.seed = 2;
    differs = differs || beam_search(model, {sources[i]}, sampling_of(other, 3)).at(0)[0].ids != alone[0].ids;
  }
  EXPECT_TRUE(differs);
}

TEST(Alternatives, GoOnFromThePrefixInDifferentWays) {
  const Table table = random_table(31, 5);
  const Ids source{kA, kB}, prefix{kC};
  SearchOptions options;
  options.alternatives = true;
  options.num_hypotheses = 3;
  options.max_extra_length = 4;
  const auto found =
      beam_search(TableModel(table, 5), {SearchRequest{source, prefix}, SearchRequest{{kD}}}, options).at(0);
  ASSERT_THAT(found, SizeIs(3));
  std::vector<std::pair<double, int64_t>> next;  // after the prefix, by hand
  for (const auto& [token, probability] : table(source, prefix)) next.emplace_back(-probability, token);
  std::sort(next.begin(), next.end());
  std::set<Ids> expected;
  for (size_t n = 0; n < 3; ++n) {
    Ids ids = prefix;
    for (int64_t token = next[n].second; token != kEnd;) {
      ids.push_back(token);
      if (ids.size() == source.size() + 4) break;
      const Distribution after = table(source, ids);
      token = std::max_element(after.begin(), after.end(), [](auto& a, auto& b) { return a.second < b.second; })->first;
    }
    expected.insert(ids);
  }
  std::set<Ids> ids;
  for (const auto& hypothesis : found) {
    ids.insert(hypothesis.ids);
    EXPECT_NEAR(hypothesis.log_probability, log_probability(table, source, hypothesis.ids), kTolerance);
  }
  EXPECT_EQ(ids, expected);
  EXPECT_GE(found[0].score, found[1].score);
}

}  // namespace
}  // namespace transmute
