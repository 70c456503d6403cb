// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/inference_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/ensemble.h>
#include <transmute/tests/support/table_model.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using testing::Distribution;
using testing::expect_equal;
using testing::kA;
using testing::kB;
using testing::kC;
using testing::random_table;
using testing::Table;
using testing::TableModel;
using testing::whole_space;

TEST(Ensemble, AveragesTheProbabilitiesOfItsModels) {
  const Table first = random_table(21, 3), second = random_table(22, 3);
  const Table average = [=](const Ids& source, const Ids& prefix) {
    Distribution mean = first(source, prefix);
    for (const auto& [token, probability] : second(source, prefix)) mean[token] += probability;
    for (auto& entry : mean) entry.second /= 2;
    return mean;
  };
  const EnsembleStepModel both({std::make_shared<TableModel>(first, 3), std::make_shared<TableModel>(second, 3)});
  SearchOptions options = whole_space(0.6);
  options.num_hypotheses = 5;
  const auto found = beam_search(both, {{kA, kB}, {kC}}, options);
  const auto expected = beam_search(TableModel(average, 3), {{kA, kB}, {kC}}, options);
  for (size_t b = 0; b < 2; ++b)
    for (size_t n = 0; n < 5; ++n) expect_equal(found[b].at(n), expected[b].at(n));
  EXPECT_THROW(EnsembleStepModel({}), std::invalid_argument);
}

// An InferenceModel's logits become narrower when the sentence with the longest list leaves, a Transformer's do not.
TEST(Ensemble, GoesOnWithShorterShortlistsWhereItsModelsAreRunInDifferentWays) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 45;
  options.num_encoder_layers = options.num_decoder_layers = 1;
  options.d_model = 24;
  options.num_heads = 2;
  options.d_ff = 40;
  torch::manual_seed(3);
  Transformer first(options);
  options.score_function = ScoreFunction::additive;
  Transformer second(options);
  first->eval();
  second->eval();
  const EnsembleStepModel both({std::make_shared<InferenceModel>(first, Precision::float32),
                                std::make_shared<TransformerStepModel>(second, torch::kCPU)});
  const std::vector<Ids> sources{{kA}, {kB, kC, kA, kB}};
  const std::vector<Ids> lists{{kA, kB, kC, 20, 30, 40}, {kB, kC}};
  SearchOptions search = testing::options_of(2, 0.6);
  search.max_extra_length = 0;
  search.min_length = 4;  // the first may have one token, the second has four
  TargetDemands demands;
  demands.shortlists = lists;
  const auto found = beam_search(both, sources, search, {}, demands);
  for (size_t i = 0; i < sources.size(); ++i) {
    EXPECT_EQ(found[i].at(0).ids.size(), sources[i].size());
    demands.shortlists = {lists[i]};
    expect_equal(found[i].at(0), beam_search(both, {sources[i]}, search, {}, demands).at(0).at(0));
  }
}

}  // namespace
}  // namespace transmute
