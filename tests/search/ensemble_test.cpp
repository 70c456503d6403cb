// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/inference_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/model/module_weights.h>
#include <transmute/search/ensemble.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/tests/support/tensor_batch.h>

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

TransformerOptions small_network() {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = 45;
  options.num_encoder_layers = options.num_decoder_layers = 1;
  options.d_model = 24;
  options.num_heads = 2;
  options.d_ff = 40;
  return options;
}

Transformer random_network(const TransformerOptions& options, uint64_t seed) {
  torch::manual_seed(seed);
  Transformer transformer(options);
  transformer->eval();
  return transformer;
}

TEST(Ensemble, OfTransformersIsTheSameByPlainLoopsAndByLibTorch) {
  const Transformer first = random_network(small_network(), 3), second = random_network(small_network(), 4);
  const EnsembleStepModel plain({std::make_shared<TransformerStepModel>(first, torch::kCPU),
                                 std::make_shared<TransformerStepModel>(second, torch::kCPU)});
  const TransformerStepModel on_device(std::vector<Transformer>{first, second}, torch::kCPU);
  const std::vector<Ids> sources{{kA}, {kB, kC, kA, kB}, {kC, kC}};
  const auto ids = torch::full({3, 1}, special_ids::kBegin, torch::kLong);
  const auto found = testing::start(plain, sources, {true})->step(ids);
  const auto expected = testing::start(on_device, sources, {true})->step(ids);
  EXPECT_TRUE(torch::allclose(torch::log_softmax(found.logits, -1), expected.logits, 0, 1e-5));
  EXPECT_TRUE(torch::allclose(found.attention, expected.attention, 0, 1e-6));
  SearchOptions search = testing::options_of(4, 0.6, 3);
  search.max_extra_length = 5;
  const std::vector<Ids> lists{{kA, kB, 20, 30, 40}, {kB, kC}, {kA, 21, 22}};
  std::vector<SearchRequest> free, listed;
  for (size_t i = 0; i < sources.size(); ++i) {
    free.push_back({sources[i]});
    listed.push_back({sources[i], {}, 0, {}, lists[i]});
  }
  for (const auto& requests : {free, listed}) {
    const auto by_loops = beam_search(plain, requests, search);
    const auto by_libtorch = beam_search(on_device, requests, search);
    for (size_t b = 0; b < sources.size(); ++b)
      for (size_t n = 0; n < 3; ++n) expect_equal(by_loops[b].at(n), by_libtorch[b].at(n));
  }
}

// An InferenceModel's logits become narrower when the sentence with the longest list leaves, a Transformer's do not.
TEST(Ensemble, GoesOnWithShorterShortlistsWhereItsModelsAreRunInDifferentWays) {
  TransformerOptions additive = small_network();
  additive.score_function = ScoreFunction::additive;
  const Transformer first = random_network(small_network(), 3), second = random_network(additive, 3);
  const EnsembleStepModel both({std::make_shared<InferenceModel>(weights_of(first), Precision::float32),
                                std::make_shared<TransformerStepModel>(second, torch::kCPU)});
  const std::vector<SearchRequest> requests{{{kA}, {}, 0, {}, Ids{kA, kB, kC, 20, 30, 40}},
                                            {{kB, kC, kA, kB}, {}, 0, {}, Ids{kB, kC}}};
  SearchOptions search = testing::options_of(2, 0.6);
  search.max_extra_length = 0;
  search.min_length = 4;  // the first may have one token, the second has four
  const auto found = beam_search(both, requests, search);
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(found[i].at(0).ids.size(), requests[i].source.size());
    expect_equal(found[i].at(0), beam_search(both, {requests[i]}, search).at(0).at(0));
  }
}

}  // namespace
}  // namespace transmute
