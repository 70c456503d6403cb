// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <transmute/metrics/bleu.h>
#include <transmute/tests/support/metric_sentences.h>

namespace transmute {
namespace {

using testing::kMetricTolerance;
using testing::metric_hypotheses;
using testing::metric_references;

constexpr std::size_t kWithoutChinese = testing::kMetricSentences - 1;

// The scores that sacreBLEU 2.6.0 returned (all digits of the score) and printed for the sentences above.
struct Recorded {
  BleuOptions options;
  std::size_t num_references;
  double score;
  const char* line;
  const char* signature;  // without the version
};

const Recorded kRecorded[] = {
    {{BleuTokenizer::mteval_13a, BleuCase::mixed},
     1,
     66.11352436265908,
     "BLEU = 66.11 89.7/78.4/72.7/64.9 (BP = 0.871 ratio = 0.879 hyp_len = 58 ref_len = 66)",
     "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"},
    {{BleuTokenizer::mteval_13a, BleuCase::mixed},
     2,
     81.62744313612015,
     "BLEU = 81.63 96.6/92.2/84.1/73.0 (BP = 0.950 ratio = 0.951 hyp_len = 58 ref_len = 61)",
     "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp"},
    {{BleuTokenizer::mteval_13a, BleuCase::lower},
     1,
     68.04756498301501,
     "BLEU = 68.05 91.4/80.4/75.0/67.6 (BP = 0.871 ratio = 0.879 hyp_len = 58 ref_len = 66)",
     "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp"},
    {{BleuTokenizer::mteval_13a, BleuCase::lower},
     2,
     83.73128958116096,
     "BLEU = 83.73 98.3/94.1/86.4/75.7 (BP = 0.950 ratio = 0.951 hyp_len = 58 ref_len = 61)",
     "nrefs:2|case:lc|eff:no|tok:13a|smooth:exp"},
    {{BleuTokenizer::none, BleuCase::mixed},
     1,
     41.786422566162564,
     "BLEU = 41.79 69.0/54.3/39.3/33.3 (BP = 0.888 ratio = 0.894 hyp_len = 42 ref_len = 47)",
     "nrefs:1|case:mixed|eff:no|tok:none|smooth:exp"},
    {{BleuTokenizer::none, BleuCase::mixed},
     2,
     50.94240743173321,
     "BLEU = 50.94 78.6/60.0/42.9/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 42 ref_len = 42)",
     "nrefs:2|case:mixed|eff:no|tok:none|smooth:exp"},
    {{BleuTokenizer::none, BleuCase::lower},
     1,
     45.105575840492776,
     "BLEU = 45.11 71.4/57.1/42.9/38.1 (BP = 0.888 ratio = 0.894 hyp_len = 42 ref_len = 47)",
     "nrefs:1|case:lc|eff:no|tok:none|smooth:exp"},
    {{BleuTokenizer::none, BleuCase::lower},
     2,
     54.772185342145924,
     "BLEU = 54.77 81.0/62.9/46.4/38.1 (BP = 1.000 ratio = 1.000 hyp_len = 42 ref_len = 42)",
     "nrefs:2|case:lc|eff:no|tok:none|smooth:exp"},
};

TEST(Bleu, EqualsSacreBleuOnRecordedSegments) {
  for (const Recorded& recorded : kRecorded) {
    SCOPED_TRACE(recorded.signature);
    const BleuScore score = corpus_bleu(metric_hypotheses(kWithoutChinese),
                                        metric_references(recorded.num_references, kWithoutChinese), recorded.options);
    EXPECT_NEAR(score.score, recorded.score, kMetricTolerance);
    EXPECT_EQ(format_bleu(score), recorded.line);
  }
}

TEST(Bleu, SignatureIsSacreBleusExceptForTheVersion) {
  for (const Recorded& recorded : kRecorded) {
    EXPECT_EQ(bleu_signature(recorded.options, recorded.num_references),
              std::string(recorded.signature) + "|version:transmute-1");
  }
}

TEST(Bleu, SignatureStandsBetweenNameAndScoreWhenGiven) {
  const BleuScore score = corpus_bleu({"a b c d"}, {{"a b c d"}});
  EXPECT_EQ(format_bleu(score, "nrefs:1|x"),
            "BLEU|nrefs:1|x = 100.00 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000 hyp_len = 4 ref_len = 4)");
}

TEST(Bleu, OrdersWithoutMatchCountAsHalvedMatches) {
  // 3 of 5 words match and no longer n-gram does: 1/2 of 4, 1/4 of 3 and 1/8 of 2.
  const BleuScore score = corpus_bleu({"a b c d e"}, {{"a x c y e"}});
  EXPECT_NEAR(score.score, 100 * std::pow(3.0 / 5 * (0.5 / 4) * (0.25 / 3) * (0.125 / 2), 0.25), kMetricTolerance);
}

TEST(Bleu, ShortHypothesesPayTheBrevityPenalty) {
  const BleuScore score = corpus_bleu({"a b c d"}, {{"a b c d e f g h"}});
  EXPECT_NEAR(score.brevity_penalty, std::exp(1.0 - 8.0 / 4.0), kMetricTolerance);
  EXPECT_NEAR(score.score, 100 * score.brevity_penalty, kMetricTolerance);
}

TEST(Bleu, RepeatedWordsMatchAsOftenAsOneReferenceHasThem) {
  // The example of Papineni et al., section 2.1: 7 x "the" against references with 2 and 1.
  const BleuScore score =
      corpus_bleu({"the the the the the the the"}, {{"the cat is on the mat"}, {"there is a cat on the mat"}});
  EXPECT_EQ(score.matches[0], 2);
  EXPECT_EQ(score.totals[0], 7);
}

TEST(Bleu, ClosestReferenceLengthCountsAndTheShorterOfTwoEquallyClose) {
  const BleuScore score = corpus_bleu({"a b c"}, {{"a b c d e"}, {"a b c d"}, {"a b"}});
  EXPECT_EQ(score.reference_length, 2);
}

TEST(Bleu, NothingInCommonScoresZeroInSpiteOfSmoothing) {
  EXPECT_EQ(corpus_bleu({"x y z w"}, {{"a b c d"}}).score, 0.0);
}

TEST(Bleu, CorpusTooShortForFourGramsScoresZero) {
  EXPECT_EQ(corpus_bleu({"a b"}, {{"a b"}}).score, 0.0);
}

TEST(Bleu, EmptyTranslationsScoreZero) {
  const BleuScore score = corpus_bleu({"", " "}, {{"a b", "c"}});
  EXPECT_EQ(score.score, 0.0);
  EXPECT_EQ(score.brevity_penalty, 0.0);
}

// The number of tokens that 13a cuts a segment into.
int64_t count_13a_tokens(const std::string& segment) {
  return corpus_bleu({segment}, {{""}}).hypothesis_length;
}

TEST(Bleu, Tokenizer13aKeepsNumbersWhole) {
  EXPECT_EQ(count_13a_tokens("1,250.50"), 1);
  EXPECT_EQ(count_13a_tokens("well-known"), 1);
  EXPECT_EQ(count_13a_tokens("3-4"), 3);
  EXPECT_EQ(count_13a_tokens("3."), 2);
  EXPECT_EQ(count_13a_tokens("isn't"), 1);
}

TEST(Bleu, Tokenizer13aUndoesMarkup) {
  EXPECT_EQ(count_13a_tokens("&quot;&amp;&lt;&gt;"), 4);
  EXPECT_EQ(count_13a_tokens("a<skipped>b"), 1);
  EXPECT_EQ(count_13a_tokens("hyphen-\nated"), 1);
}

TEST(Bleu, ErrorNamesBothCountsOfSegments) {
  try {
    corpus_bleu({"a", "b", "c"}, {{"a", "b", "c"}, {"a", "b"}});
    FAIL() << "expected std::invalid_argument";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("reference set 2 has 2 segments"), std::string::npos) << message;
    EXPECT_NE(message.find("3 hypotheses"), std::string::npos) << message;
  }
}

TEST(Bleu, NothingToScoreIsAnError) {
  EXPECT_THROW(corpus_bleu({}, {{}}), std::invalid_argument);
  EXPECT_THROW(corpus_bleu({"a"}, {}), std::invalid_argument);
}

TEST(Bleu, TokenizerNamesGoBothWaysAndOthersAreErrors) {
  EXPECT_EQ(bleu_tokenizer_from_name("13a"), BleuTokenizer::mteval_13a);
  EXPECT_EQ(bleu_tokenizer_from_name("none"), BleuTokenizer::none);
  EXPECT_EQ(bleu_tokenizer_name(BleuTokenizer::mteval_13a), "13a");
  EXPECT_THROW(bleu_tokenizer_from_name("13b"), std::invalid_argument);
}

TEST(Bleu, ComparesEachSegmentWithEach) {
  const std::vector<std::string> segments{"the red house", "a red house.", "", "the train is near", "the red house is"};
  BleuOptions options;
  options.effective_order = true;
  const auto scores = pairwise_bleu(segments, options);
  ASSERT_EQ(scores.size(), segments.size());
  for (size_t h = 0; h < segments.size(); ++h)
    for (size_t r = 0; r < segments.size(); ++r)
      EXPECT_EQ(scores[h].at(r), corpus_bleu({segments[h]}, {{segments[r]}}, options).score) << h << ' ' << r;
}

}  // namespace
}  // namespace transmute
