// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/metrics/chrf.h>
#include <transmute/tests/support/metric_sentences.h>

#include <string>

namespace transmute {
namespace {

using testing::kMetricTolerance;
using testing::metric_hypotheses;
using testing::metric_references;

TEST(Chrf, EqualsSacreBleu) {
  struct Recorded {
    int64_t word_order;
    bool lowercase;
    std::size_t num_references;
    double score;
    const char* signature;
  };
  const Recorded recorded[] = {
      {0, false, 1, 67.23579359071307, "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no"},
      {0, false, 2, 68.4065736106185, "nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no"},
      {0, true, 1, 70.82807878273653, "nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no"},
      {0, true, 2, 70.82807878273653, "nrefs:2|case:lc|eff:yes|nc:6|nw:0|space:no"},
      {2, false, 1, 66.77060528034762, "nrefs:1|case:mixed|eff:yes|nc:6|nw:2|space:no"},
      {2, false, 2, 67.17550067734628, "nrefs:2|case:mixed|eff:yes|nc:6|nw:2|space:no"},
      {2, true, 1, 69.91934525169304, "nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:no"},
      {2, true, 2, 70.50366781872857, "nrefs:2|case:lc|eff:yes|nc:6|nw:2|space:no"},
  };
  for (const Recorded& r : recorded) {
    SCOPED_TRACE(r.signature);
    ChrfOptions options;
    options.word_order = r.word_order;
    options.lowercase = r.lowercase;
    EXPECT_NEAR(corpus_chrf(metric_hypotheses(), metric_references(r.num_references), options), r.score,
                kMetricTolerance);
    EXPECT_EQ(chrf_signature(options, r.num_references), std::string(r.signature) + "|version:transmute-1");
  }
}

TEST(Chrf, NamesItself) {
  EXPECT_EQ(chrf_name({}), "chrF2");
  ChrfOptions options;
  options.word_order = 2;
  EXPECT_EQ(chrf_name(options), "chrF2++");
}

TEST(Chrf, OfTheReferenceIsAHundredAndOfNothingZero) {
  EXPECT_DOUBLE_EQ(corpus_chrf(metric_references(1)[0], metric_references(1)), 100);
  EXPECT_DOUBLE_EQ(corpus_chrf({"xyz"}, {{"abc"}}), 0);
  EXPECT_DOUBLE_EQ(corpus_chrf({""}, {{"abc"}}), 0);
  EXPECT_THROW(corpus_chrf({"a", "b"}, {{"a"}}), std::invalid_argument);
}

TEST(Chrf, ComparesEachSegmentWithEach) {
  const std::vector<std::string> segments{"the red house", "a red house.", "", "the train is near", "ein Zug, nah"};
  for (const int64_t word_order : {0, 2}) {
    const ChrfOptions options{6, word_order};
    const auto scores = pairwise_chrf(segments, options);
    ASSERT_EQ(scores.size(), segments.size());
    for (size_t h = 0; h < segments.size(); ++h)
      for (size_t r = 0; r < segments.size(); ++r)
        EXPECT_EQ(scores[h].at(r), corpus_chrf({segments[h]}, {{segments[r]}}, options)) << h << ' ' << r;
  }
}

}  // namespace
}  // namespace transmute
