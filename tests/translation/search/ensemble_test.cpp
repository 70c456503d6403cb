// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/table_model.h>
#include <transmute/translation/search/ensemble.h>

#include <memory>
#include <stdexcept>

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

}  // namespace
}  // namespace transmute
