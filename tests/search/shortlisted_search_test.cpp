// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/table_model.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::Distribution;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kEnd;
using testing::kTolerance;
using testing::log_probability;
using testing::options_of;
using testing::random_table;
using testing::Table;
using testing::TableModel;

// The table without what is not on the list, as shares of what is.
Table restricted(const Table& table, const Ids& list) {
  return [table, list](const Ids& source, const Ids& prefix) {
    Distribution kept;
    double sum = 0;
    for (const auto& [token, probability] : table(source, prefix))
      if (token == kEnd || std::find(list.begin(), list.end(), token) != list.end()) sum += kept[token] = probability;
    for (auto& entry : kept) entry.second /= sum;
    return kept;
  };
}

TEST(Shortlists, AreLikeAModelThatHasNoOtherTokens) {
  const Table table = random_table(7, 12);
  const std::vector<Ids> sources{{kA}, {kB, kB, kB}, {kC, kA}};
  const std::vector<Ids> lists{{kA, kA + 3, kA + 11}, {kB}, {kA + 9, kC, kA + 5, kA + 4, kA + 5}};
  std::vector<SearchRequest> requests;
  for (size_t i = 0; i < sources.size(); ++i) requests.push_back({sources[i], {}, 0, {}, lists[i]});
  std::vector<std::pair<std::string, SearchOptions>> ways{{"beam", options_of(4, 0.6)},
                                                          {"greedy", options_of(1, 0.6)},
                                                          {"sampling", options_of(1)},
                                                          {"alternatives", options_of(1)},
                                                          {"no repetition", options_of(3, 0.6)}};
  ways[0].second.num_hypotheses = 3;
  ways[2].second.sampling = SamplingOptions();
  ways[2].second.num_hypotheses = 4;
  ways[3].second.alternatives = true;
  ways[3].second.num_hypotheses = 3;
  ways[4].second.no_repeat_ngram = 1;
  ways[4].second.min_length = 2;
  for (const auto& [name, options] : ways) {
    const auto found = beam_search(TableModel(table, 12), requests, options);
    for (size_t i = 0; i < sources.size(); ++i) {
      const TableModel alone(restricted(table, lists[i]), 12);
      const auto expected = beam_search(alone, {sources[i]}, options).at(0);
      ASSERT_EQ(found[i].size(), expected.size()) << name;
      for (size_t k = 0; k < expected.size(); ++k) {
        EXPECT_EQ(found[i][k].ids, expected[k].ids) << name << ", sentence " << i;
        EXPECT_NEAR(found[i][k].log_probability, expected[k].log_probability, kTolerance) << name;
      }
    }
  }
}

TEST(Shortlists, TakeInPrefixesAndTerms) {
  const Table table = random_table(8, 12);
  const Ids prefix{kA + 7, kA + 2}, term{kA + 9, kA + 10};
  const SearchRequest request{{kA, kA, kA}, prefix, 0, {term}, Ids{kA}};
  const auto found = beam_search(TableModel(table, 12), {request}, options_of(4, 0.6)).at(0).at(0);
  EXPECT_EQ(Ids(found.ids.begin(), found.ids.begin() + 2), prefix);
  EXPECT_NE(std::search(found.ids.begin(), found.ids.end(), term.begin(), term.end()), found.ids.end());
}

TEST(Shortlists, EndATranslationThatMayHaveNothingElse) {
  SearchRequest request{{kA}};
  request.shortlist.emplace();
  SearchOptions options = options_of(4, 0.6);
  options.min_length = 3;
  const auto end_alone = [&] { return beam_search(TableModel(random_table(9, 5)), {request}, options).at(0); };
  ASSERT_EQ(end_alone().size(), 1U);
  EXPECT_EQ(end_alone()[0].ids, Ids());
  options.sampling = SamplingOptions();
  EXPECT_EQ(end_alone().at(0).ids, Ids());
}

}  // namespace
}  // namespace transmute
