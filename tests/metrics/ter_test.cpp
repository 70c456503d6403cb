// SPDX-License-Identifier: Apache-2.0
// Expected numbers are sacreBLEU 2.6.0's for the same text and options.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <transmute/metrics/ter.h>
#include <transmute/tests/support/metric_sentences.h>
#include <transmute/tests/support/sanitizers.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using testing::kMetricTolerance;
using testing::metric_hypotheses;
using testing::metric_references;

TerOptions options_of(bool normalized, bool no_punctuation, bool asian, bool case_sensitive) {
  return {normalized, no_punctuation, asian, case_sensitive};
}

TEST(Ter, EqualsSacreBleuInEachVariantWithOneReferenceAndTwo) {
  struct Case {
    TerOptions options;
    double one, two;
  };
  const std::vector<Case> cases{{options_of(false, false, false, false), 45.83333333333333, 44.44444444444444},
                                {options_of(true, false, false, false), 26.865671641791046, 23.62204724409449},
                                {options_of(false, true, false, false), 35.41666666666667, 28.888888888888886},
                                {options_of(true, false, true, false), 22.89156626506024, 20.77922077922078},
                                {options_of(true, true, true, false), 27.692307692307693, 23.333333333333332},
                                {options_of(false, false, false, true), 47.91666666666667, 46.666666666666664}};
  for (const Case& expected : cases) {
    SCOPED_TRACE(ter_signature(expected.options, 1));
    EXPECT_NEAR(corpus_ter(metric_hypotheses(), metric_references(1), expected.options), expected.one,
                kMetricTolerance);
    EXPECT_NEAR(corpus_ter(metric_hypotheses(), metric_references(2), expected.options), expected.two,
                kMetricTolerance);
  }
}

TEST(Ter, NormalizesReferencesTwiceAsSacreBleuDoes) {
  const std::vector<std::string> hypotheses{"this shirt is the man's.", "version ..5 of it", "the dog's house"};
  const std::vector<std::vector<std::string>> references{
      {"this shirt is the man's.", "version ..5 of that", "the dog's, house"}};
  EXPECT_NEAR(corpus_ter(hypotheses, references, options_of(true, false, false, false)), 33.33333333333333,
              kMetricTolerance);
  EXPECT_NEAR(corpus_ter(hypotheses, references, options_of(true, true, false, false)), 21.428571428571427,
              kMetricTolerance);
}

// The same generator wrote the text that sacreBLEU scored: sentences of up to 64 words with three phrases moved, words
// replaced and ends cut off.
class MadeText {
 public:
  MadeText() {
    for (int i = 0; i < 60; ++i) add_segment();
  }
  std::vector<std::string> hypotheses, references;

 private:
  using Words = std::vector<std::string>;

  int next(int count) {
    state_ = (state_ * 1103515245U + 12345U) % (1U << 31U);
    return static_cast<int>(state_ >> 16U) % count;
  }
  std::string word() { return "w" + std::to_string(next(30)); }
  void add_segment() {
    Words reference(static_cast<size_t>(5 + next(60)));
    for (auto& each : reference) each = word();
    Words hypothesis = reference;
    const auto size = static_cast<int>(hypothesis.size());
    for (int i = 0; i < 3; ++i) {
      const int from = next(size), length = 1 + next(4), wanted = next(size);
      const auto begin = hypothesis.begin() + from, end = hypothesis.begin() + std::min(from + length, size);
      const Words moved(begin, end);
      hypothesis.erase(begin, end);
      const int to = std::min(wanted, static_cast<int>(hypothesis.size()));
      hypothesis.insert(hypothesis.begin() + to, moved.begin(), moved.end());
    }
    for (int i = 0; i < 4; ++i) {
      const std::string other = word();
      hypothesis[static_cast<size_t>(next(size))] = other;
    }
    if (next(2) == 1) hypothesis.resize(static_cast<size_t>(std::max(1, size - next(4))));
    hypotheses.push_back(joined(hypothesis));
    references.push_back(joined(reference));
  }
  static std::string joined(const Words& words) {
    std::string text;
    for (const auto& each : words) text += (text.empty() ? "" : " ") + each;
    return text;
  }

  uint32_t state_ = 1;
};

TEST(Ter, FindsTheShiftsThatSacreBleuFinds) {
  const MadeText text;
  TerCounts sum;
  for (const TerCounts& counts : ter_segment_counts(text.hypotheses, {text.references})) sum += counts;
  EXPECT_EQ(sum.reference_length, 2007);
  EXPECT_EQ(sum.edits, 446);
}

TEST(Ter, EqualsSacreBleuWhereLengthsDifferByMuchAndWordsRepeat) {
  std::string longer, sevens, fives;
  for (int i = 0; i < 200; ++i) longer += " w" + std::to_string(i);
  for (int i = 0; i < 120; ++i) sevens += " w" + std::to_string(i % 7);
  for (int i = 0; i < 110; ++i) fives += " w" + std::to_string(i % 5);
  EXPECT_EQ(ter_segment_counts({"w1 w2"}, {{longer}}).front().edits, 200);
  EXPECT_EQ(ter_segment_counts({sevens}, {{fives}}).front().edits, 49);
}

// A table of all words by all words would have 1.6 billion cells.
TEST(Ter, LongLinesTakeMemoryInProportionToTheirLength) {
  std::string hypothesis, reference;
  for (int i = 0; i < 40000; ++i) {
    hypothesis += " w" + std::to_string(i);
    reference += i % 4 == 0 ? " other" : " w" + std::to_string(i);
  }
  if (testing::kHasSanitizer) GTEST_SKIP() << "limits the address space";
  struct rlimit unlimited = {};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &unlimited), 0);
  const struct rlimit limited = {rlim_t{1} << 31, unlimited.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &limited), 0);
  EXPECT_NO_THROW(EXPECT_EQ(ter_segment_counts({hypothesis}, {{reference}}).front().edits, 10000));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &unlimited), 0);
}

TEST(Ter, EmptyTextsHaveADefinedScore) {
  EXPECT_EQ(corpus_ter({""}, {{""}}), 0);
  EXPECT_EQ(corpus_ter({"a b"}, {{""}}), 100);
  EXPECT_EQ(corpus_ter({""}, {{"a b"}}), 100);
  EXPECT_THROW(corpus_ter({}, {{}}), std::invalid_argument);
}

TEST(Ter, TheSignatureIsSacreBleus) {
  EXPECT_EQ(ter_signature({}, 1), "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:transmute-1");
  EXPECT_EQ(ter_signature(options_of(true, true, true, true), 2),
            "nrefs:2|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|version:transmute-1");
}

}  // namespace
}  // namespace transmute
