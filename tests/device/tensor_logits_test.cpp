// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/device/tensor_logits.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/tests/support/watched_model.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::kA;
using testing::kB;
using testing::kC;
using testing::kD;
using testing::kE;
using testing::kTolerance;
using testing::log_probability;
using testing::options_of;
using testing::random_table;
using testing::sampling_of;
using testing::TableModel;
using testing::WatchedModel;

// The same numbers in a tensor, which search reads as it reads a GPU's.
WatchedModel tensor_model(const StepModel& inner) {
  return {inner, [](NextToken& next, const WatchedModel::Step& step) {
            const auto rows = static_cast<int64_t>(step.ids.size());
            const torch::Tensor logits = torch::empty({step.sentences, rows / step.sentences, next.columns});
            for (int64_t row = 0; row < rows; ++row)
              std::copy_n(next.logits(row), next.columns, logits.data_ptr<float>() + row * next.columns);
            next.on_device = std::make_shared<const TensorLogits>(logits.to(torch::kDouble), step.positions);
            next.logits = nullptr;
          }};
}

TEST(TensorLogits, LeadToTheSameHypotheses) {
  constexpr int64_t kWords = 7;
  const std::vector<Ids> sources{{kA}, {kB, kB, kB}, {kC, kA}, {}};
  std::vector<std::pair<std::string, SearchOptions>> ways{{"beam", options_of(4, 0.6, 3)},
                                                          {"greedy", options_of(1)},
                                                          {"wide", options_of(20, 0.6, 20)},
                                                          {"no repetition", options_of(3, 0.6)},
                                                          {"sampling", sampling_of(SamplingOptions(), 4)},
                                                          {"alternatives", options_of(1)},
                                                          {"repetition penalty", options_of(4, 0.6)}};
  ways[3].second.no_repeat_ngram = 1;
  ways[3].second.min_length = 2;
  ways[5].second.alternatives = true;
  ways[5].second.num_hypotheses = 3;
  ways[6].second.repetition_penalty = 1.5;
  const std::vector<Ids> some_prefixes{{kB}, {}, {kC, kA}, {kE}}, whole_targets{{kB, kC}, {kD}, {}, {kA, kA, kA}};
  const std::vector<std::vector<Ids>> some_terms{{{kB, kC}}, {}, {{kA}, {kD}}, {{kE}}};
  const std::vector<Ids> some_lists{{kA, kA + 6}, {kB}, {kC, kD, kE}, {kA + 5}};
  std::vector<SearchRequest> none, prefixes, terms, lists, complete;
  for (size_t i = 0; i < sources.size(); ++i) {
    none.push_back({sources[i]});
    prefixes.push_back({sources[i], some_prefixes[i]});
    terms.push_back({sources[i], {}, 0, some_terms[i]});
    lists.push_back({sources[i], {}, 0, {}, some_lists[i]});
    complete.push_back({sources[i], whole_targets[i]});
    complete.back().prefix_is_complete = true;
  }
  for (uint64_t key = 0; key < 5; ++key)
    for (auto [name, options] : ways)
      for (const auto* requests : {&none, &prefixes, &terms, &lists, &complete}) {
        if (requests == &terms && (options.sampling || options.alternatives)) continue;  // nothing to search with
        options.max_extra_length = 3;
        SearchContext context;
        if (name == "repetition penalty") context.suppressed = {{kB}, {kC, kA}};
        const TableModel model(random_table(11000 + key, kWords), kWords);
        const auto expected = beam_search(model, *requests, options, {}, context);
        const auto found = beam_search(tensor_model(model), *requests, options, {}, context);
        for (size_t i = 0; i < sources.size(); ++i) {
          ASSERT_EQ(found[i].size(), expected[i].size()) << name;
          for (size_t k = 0; k < expected[i].size(); ++k) {
            EXPECT_EQ(found[i][k].ids, expected[i][k].ids) << name << ", sentence " << i << ", key " << key;
            EXPECT_NEAR(found[i][k].log_probability, expected[i][k].log_probability, kTolerance) << name;
          }
        }
      }
}

TEST(TensorLogits, AreRefusedWhereTheyAreNone) {
  const auto damaged = [](const Ids&, const Ids& prefix) {
    return testing::Distribution{{kA, 0.5}, {kB, prefix.empty() ? 0.5 : std::nan("")}};
  };
  SearchOptions alternatives = options_of(1);
  alternatives.alternatives = true;
  const TableModel model(damaged, 3);
  for (const SearchOptions& options : {options_of(1), options_of(4), sampling_of(SamplingOptions(), 2), alternatives}) {
    EXPECT_THROW(beam_search(model, {Ids{kA}}, options), std::runtime_error);
    EXPECT_THROW(beam_search(tensor_model(model), {Ids{kA}}, options), std::runtime_error);
  }
}

TEST(TensorLogits, NeverMakeATranslationOfWhatIsExcluded) {
  const auto table = [](const Ids&, const Ids& prefix) {
    testing::Distribution next{{kA, 0.6}, {kB, 0.3}};
    next[prefix.size() < 3 ? static_cast<int64_t>(kC) : testing::kEnd] = 0.1;
    return next;
  };
  SearchContext context;
  context.excluded = {kA, kB};
  const SearchRequest free{{kA}}, listed{{kA}, {}, 0, {}, Ids{kA, kB, kC, kD}};
  SearchOptions alternatives = options_of(1);
  alternatives.alternatives = true;
  const TableModel model(table, 4);
  for (const SearchOptions& options : {options_of(1), options_of(4), sampling_of(SamplingOptions(), 2), alternatives})
    for (const SearchRequest& request : {free, listed}) {
      EXPECT_EQ(beam_search(model, {request}, options, {}, context).at(0).at(0).ids, (Ids{kC, kC, kC}));
      EXPECT_EQ(beam_search(tensor_model(model), {request}, options, {}, context).at(0).at(0).ids, (Ids{kC, kC, kC}));
    }
  const SearchRequest excluded{{kA}, {kC, kA}};
  EXPECT_THROW(beam_search(model, {excluded}, options_of(1), {}, context), std::invalid_argument);
}

}  // namespace
}  // namespace transmute
