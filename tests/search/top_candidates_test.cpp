// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/kernels/simd/simd.h>
#include <transmute/search/top_candidates.h>
#include <transmute/tests/support/inference_kernels.h>
#include <transmute/tokenizer/special_ids.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using kernels::available_simd;
using kernels::Simd;
using kernels::SimdLimit;
using ::testing::ElementsAre;
using testing::random_floats;
using ::testing::SizeIs;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The best continuations by sorting all of them.
std::vector<Candidate> sorted_candidates(const std::vector<std::vector<float>>& logits,
                                         const std::vector<double>& totals, size_t count) {
  std::vector<Candidate> all;
  for (size_t row = 0; row < logits.size(); ++row) {
    double sum = 0;
    for (const float logit : logits[row]) sum += std::exp(static_cast<double>(logit));
    for (size_t token = 0; token < logits[row].size(); ++token) {
      const auto id = static_cast<int64_t>(token);
      if (id == special_ids::kPad || id == special_ids::kUnknown || id == special_ids::kBegin) continue;
      all.push_back(
          {static_cast<int64_t>(row), id, totals[row] + static_cast<double>(logits[row][token]) - std::log(sum)});
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.log_probability > b.log_probability; });
  all.resize(std::min(count, all.size()));
  return all;
}

TEST(CandidateFinder, FindsWhatSortingFinds) {
  for (const Simd simd : available_simd())
    for (const int64_t vocabulary : {5, 16, 127, 128, 129, 1000, 8001})
      for (const size_t rows : {size_t{1}, size_t{4}})
        for (const size_t count : {size_t{2}, size_t{8}, size_t{300}}) {
          std::vector<std::vector<float>> logits;
          std::vector<double> totals;
          std::vector<CandidateRow> given;
          for (size_t row = 0; row < rows; ++row) {
            logits.push_back(random_floats(vocabulary, static_cast<uint32_t>(row + count), 3));
            logits.back()[row % 3] = 12;  // a reserved one that would win
            totals.push_back(-0.7 * static_cast<double>(row));
          }
          for (size_t row = 0; row < rows; ++row) given.push_back({{logits[row].data(), vocabulary}, totals[row]});
          const SimdLimit limit(simd);
          CandidateFinder finder;
          const auto found = finder.best(given, count);
          const auto expected = sorted_candidates(logits, totals, count);
          ASSERT_EQ(found.size(), expected.size());
          for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-5);
            ASSERT_EQ(found[i].parent, expected[i].parent) << i;
            ASSERT_EQ(found[i].token, expected[i].token);
          }
          ASSERT_NEAR(finder.log_probability(given[0].logits, 3),
                      sorted_candidates({logits[0]}, {0.0}, logits[0].size())[0].log_probability +
                          static_cast<double>(logits[0][3]) -
                          static_cast<double>(*std::max_element(logits[0].begin() + 3, logits[0].end())),
                      1e-5);
        }
}

TEST(CandidateFinder, FindsNothingMoreProbableThanCertain) {
  for (const Simd simd : available_simd())
    for (const float top : {0.0F, 3.7F, 41.0F, -17.3F}) {
      std::vector<float> logits(1000, top - 90);  // e^-90 is lost in the sum
      logits[7] = top;
      const SimdLimit limit(simd);
      CandidateFinder finder;
      EXPECT_LE(finder.log_probability({logits.data(), 1000}, 7), 0);
      EXPECT_NEAR(finder.log_probability({logits.data(), 1000}, 7), 0, 1e-6);
      const auto found = finder.best({{{logits.data(), 1000}, -1.25}}, 2);
      ASSERT_THAT(found, SizeIs(2));
      EXPECT_EQ(found[0].token, 7);
      EXPECT_LE(found[0].log_probability, -1.25);
      EXPECT_LT(found[1].log_probability, found[0].log_probability);
    }
}

TEST(CandidateFinder, PrefersTheFirstOfEqualsAndLeavesOutWhatCannotBe) {
  for (const Simd simd : available_simd()) {
    std::vector<float> equal(200, -kInfinity);
    for (const size_t token : {4, 5, 150, 199}) equal[token] = 1.0F;
    const std::vector<float> nothing(200, -kInfinity);
    const SimdLimit limit(simd);
    CandidateFinder finder;
    const auto tokens = [](const std::vector<Candidate>& list) {
      std::vector<int64_t> ids;
      for (const auto& candidate : list) ids.push_back(candidate.token);
      return ids;
    };
    const LogitsRow good{equal.data(), 200}, bad{nothing.data(), 200};
    EXPECT_THAT(tokens(finder.best({{good, 0.0}}, 3)), ElementsAre(4, 5, 150));
    EXPECT_THAT(tokens(finder.best({{good, 0.0}, {good, 0.0}}, 6)), ElementsAre(4, 5, 150, 199, 4, 5));
    EXPECT_THAT(tokens(finder.best({{bad, 0.0}, {good, -9.0}}, 8)), ElementsAre(4, 5, 150, 199));
    EXPECT_THAT(tokens(finder.best({{{equal.data(), 150}, 0.0}}, 8)), ElementsAre(4, 5));
    EXPECT_THAT(finder.best({{bad, 0.0}}, 8), SizeIs(0));
  }
}

// A damaged weight makes one score no number, wherever it is, or all of them.
TEST(CandidateFinder, RefusesScoresThatAreNotFinite) {
  for (const Simd simd : available_simd())
    for (const float wrong : {std::nanf(""), -std::nanf(""), kInfinity})
      for (const size_t vocabulary : {size_t{5}, size_t{47}, size_t{300}})
        for (size_t at = 0; at <= vocabulary; ++at) {
          std::vector<float> logits = random_floats(static_cast<int64_t>(vocabulary), 1, 3);
          if (at < vocabulary) {
            logits[at] = wrong;
          } else {
            std::fill(logits.begin(), logits.end(), wrong);
          }
          const LogitsRow row{logits.data(), static_cast<int64_t>(vocabulary)};
          const SimdLimit limit(simd);
          CandidateFinder finder;
          EXPECT_THROW(finder.best({{row, 0.0}}, 4), std::runtime_error) << at << " of " << vocabulary;
          EXPECT_THROW(finder.log_probability(row, 3), std::runtime_error) << at << " of " << vocabulary;
          EXPECT_THROW(check_scores(row.values, row.count), std::runtime_error) << at << " of " << vocabulary;
        }
}

TEST(CandidateFinder, LeavesOutWhatIsExcluded) {
  for (const Simd simd : available_simd()) {
    std::vector<float> logits(200, 0.0F);
    logits[7] = logits[150] = 3;
    logits[9] = 2;
    const SimdLimit limit(simd);
    CandidateFinder finder;
    const LogitsRow row{logits.data(), 200};
    EXPECT_EQ(finder.best({{row, 0.0}}, 1, {7, 150}).at(0).token, 9);
    EXPECT_EQ(finder.best({{row, 0.0}}, 1, {7, 150}).at(0).log_probability, finder.log_probability(row, 9));
  }
}

}  // namespace
}  // namespace transmute
