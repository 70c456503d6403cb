// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/tests/support/watched_model.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::kD;
using testing::kTolerance;
using testing::log_probability;
using testing::options_of;
using testing::random_table;
using testing::Table;
using testing::TableModel;
using testing::WatchedModel;
using testing::written;

TEST(KnownTokens, GoThroughTheModelTogether) {
  const Table table = random_table(9, 5);
  std::vector<SearchRequest> requests{{{kA}, {kA, kB, kC}}, {{kB, kC}, {kC, kC, kA, kB, kD}}, {{kD}, {kB, kA, kA}}};
  SearchOptions options = options_of(3, 0.6, 3);
  options.max_extra_length = 6;

  const TableModel model(table);
  std::vector<int64_t> steps;  // their positions
  const WatchedModel counted(model,
                             [&](NextToken&, const WatchedModel::Step& step) { steps.push_back(step.positions); });
  const auto together = beam_search(counted, requests, options);
  ASSERT_GT(steps.size(), 1U);
  EXPECT_EQ(steps.front(), 3) << "the tokens of the shortest prefix";
  EXPECT_EQ(*std::max_element(steps.begin() + 1, steps.end()), 1);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto alone = beam_search(TableModel(table), {requests[i]}, options).at(0);
    ASSERT_EQ(together[i].size(), alone.size());
    for (size_t n = 0; n < alone.size(); ++n) {
      EXPECT_EQ(together[i][n].ids, alone[n].ids);
      EXPECT_EQ(together[i][n].token_scores, alone[n].token_scores);
      EXPECT_NEAR(together[i][n].log_probability, log_probability(table, requests[i].source, alone[n].ids), kTolerance);
    }
  }

  requests[1].prefix.resize(100, kA);
  requests[2].prefix.clear();
  for (SearchRequest& request : requests) request.prefix_is_complete = true;
  steps.clear();
  const auto scores = beam_search(counted, requests, options_of(1));
  // 21 steps of three, then the rest of the one that is left.
  EXPECT_THAT(steps, ElementsAre(21, 64, 16));
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(scores[i].at(0).ids, requests[i].prefix);
    EXPECT_NEAR(scores[i][0].log_probability, log_probability(table, requests[i].source, requests[i].prefix), 1e-3);
  }
}

TEST(KnownTokens, AreRefusedWhereTheyAreImpossible) {
  const std::vector<SearchRequest> requests{{{kA}, Ids(100, kA)}, {{kB}, Ids(90, kA)}};  // the second `a` already
  EXPECT_THAT(testing::message_of<std::runtime_error>([&] {
                beam_search(TableModel(written({{{}, {{kA, 1.0}}}})), requests, options_of(2));
              }),
              ::testing::HasSubstr("no probability to any token"));
}

TEST(KnownTokens, CanBeStoppedAmongThem) {
  const SearchRequest request{{kA}, Ids(50, kA)};
  SearchHooks hooks;
  int asked = 0;
  hooks.should_stop = [&] { return ++asked == 20; };
  const auto search = [&] { beam_search(TableModel(random_table(9, 5)), {request}, options_of(1), hooks); };
  EXPECT_THROW(search(), Cancelled);
}

}  // namespace
}  // namespace transmute
