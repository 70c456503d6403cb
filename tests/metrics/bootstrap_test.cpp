// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/metrics/bleu.h>
#include <transmute/metrics/bootstrap.h>
#include <transmute/metrics/chrf.h>
#include <transmute/metrics/numpy_random.h>
#include <transmute/metrics/ter.h>
#include <transmute/tests/support/metric_sentences.h>

#include <unicode/locid.h>
#include <unicode/unistr.h>

#include <cmath>
#include <string>
#include <vector>

namespace transmute {
namespace {

double mean_of(const std::vector<double>& values, const std::vector<std::size_t>& segments) {
  double sum = 0;
  for (const std::size_t segment : segments) sum += values[segment];
  return sum / static_cast<double>(segments.size());
}

// numpy.random.default_rng(seed).choice(count, size), NumPy 2.
TEST(NumpyRandom, DrawsWhatNumPyDraws) {
  const auto drawn = [](uint64_t seed, uint32_t count, int size) {
    NumpyRandom random(seed);
    std::vector<uint32_t> numbers;
    for (int i = 0; i < size; ++i) numbers.push_back(random.below(count));
    return numbers;
  };
  EXPECT_EQ(drawn(12345, 9, 20), (std::vector<uint32_t>{6, 2, 7, 2, 1, 7, 5, 6, 8, 3, 7, 2, 5, 5, 1, 1, 2, 6, 5, 8}));
  EXPECT_EQ(drawn(7, 3000000000U, 6),
            (std::vector<uint32_t>{2834714867U, 2052539810U, 2691641402U, 1734877356U, 2327057070U, 2500953064U}));
  EXPECT_EQ(drawn((uint64_t{1} << 40U) + 5, 1000, 8), (std::vector<uint32_t>{14, 4, 449, 372, 915, 587, 899, 151}));
}

// sacreBLEU 2.6.0 with its default seed. It computes in float32: scores differ in the last digits of that type,
// the more of them the more are summed.
constexpr double kFloat32 = 1e-6;

TEST(Bootstrap, IntervalsAndPAreSacreBleus) {
  const auto hypotheses = testing::metric_hypotheses();
  const auto references = testing::metric_references(1);
  std::vector<std::string> other = testing::metric_references(2).back();
  for (std::size_t i = 0; i < other.size(); i += 3) {
    icu::UnicodeString text = icu::UnicodeString::fromUTF8(other[i]);
    other[i].clear();
    text.toUpper(icu::Locale::getRoot()).toUTF8String(other[i]);
  }
  const auto bleu = [&](const std::vector<std::string>& text) -> ScoreOfSegments {
    return [counts = bleu_segment_counts(text, references)](const auto& segments) {
      BleuCounts sum;
      for (const std::size_t segment : segments) sum += counts[segment];
      return bleu_from_counts(sum).score;
    };
  };
  const BootstrapInterval of_bleu = bootstrap(hypotheses.size(), bleu(hypotheses));
  EXPECT_NEAR(of_bleu.mean, 64.56268901460751, kFloat32);
  EXPECT_NEAR(of_bleu.half_width, 18.87676894189304, kFloat32);
  const BootstrapInterval of_other = bootstrap(hypotheses.size(), bleu(other));
  EXPECT_NEAR(of_other.mean, 13.274719618240123, kFloat32);
  EXPECT_NEAR(of_other.half_width, 6.147637098189195, kFloat32);
  EXPECT_DOUBLE_EQ(paired_bootstrap_p(hypotheses.size(), bleu(hypotheses), bleu(other)), 0.000999000999000999);

  const ScoreOfSegments chrf = [counts = chrf_segment_counts(hypotheses, references)](const auto& segments) {
    std::vector<ChrfCounts> sum(counts.front().size());
    for (const std::size_t segment : segments) add_counts(sum, counts[segment]);
    return chrf_from_counts(sum);
  };
  EXPECT_NEAR(bootstrap(hypotheses.size(), chrf).mean, 66.560585, 1e-4);
  EXPECT_NEAR(bootstrap(hypotheses.size(), chrf).half_width, 17.59679, 1e-4);
  const ScoreOfSegments ter = [counts = ter_segment_counts(hypotheses, references)](const auto& segments) {
    TerCounts sum;
    for (const std::size_t segment : segments) sum += counts[segment];
    return ter_from_counts(sum);
  };
  EXPECT_NEAR(bootstrap(hypotheses.size(), ter).mean, 46.44657, 1e-4);
  EXPECT_NEAR(bootstrap(hypotheses.size(), ter).half_width, 19.345236, 1e-4);
}

// The standard error of the mean of 400 values is known: 1.96 of it on either side are the 95% interval.
TEST(Bootstrap, FindsTheIntervalOfAMean) {
  std::vector<double> values;
  double variance = 0;
  for (int i = 0; i < 400; ++i) {
    values.push_back(i % 20);
    variance += std::pow(values.back() - 9.5, 2) / 400;
  }
  const auto interval =
      bootstrap(values.size(), [&](const auto& segments) { return mean_of(values, segments); }, {2000, 1});
  EXPECT_NEAR(interval.mean, 9.5, 0.05);
  EXPECT_NEAR(interval.half_width, 1.96 * std::sqrt(variance / 400), 0.05);
}

TEST(Bootstrap, ADifferenceInEverySegmentIsNotChanceAndNoDifferenceIs) {
  std::vector<double> values, better, shuffled;
  for (int i = 0; i < 200; ++i) {
    values.push_back(i % 17);
    better.push_back(i % 17 + 1 + i % 3);
    shuffled.push_back((i + 5) % 17);
  }
  const auto score = [](const std::vector<double>& of) -> ScoreOfSegments {
    return [&of](const auto& segments) { return mean_of(of, segments); };
  };
  EXPECT_DOUBLE_EQ(paired_bootstrap_p(200, score(values), score(better)), 1.0 / 1001);
  EXPECT_GT(paired_bootstrap_p(200, score(values), score(shuffled)), 0.05);
  EXPECT_EQ(paired_bootstrap_p(200, score(values), score(shuffled)),
            paired_bootstrap_p(200, score(values), score(shuffled)));
}

}  // namespace
}  // namespace transmute
