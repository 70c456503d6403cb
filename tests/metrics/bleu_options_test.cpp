// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/metrics/bleu.h>
#include <transmute/tests/support/metric_sentences.h>

#include <optional>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::kMetricTolerance;
using testing::metric_hypotheses;
using testing::metric_references;

TEST(BleuTokenizers, ScoreAsSacreBleuDoes) {
  struct Recorded {
    BleuTokenizer tokenizer;
    BleuCase letter_case;
    std::size_t num_references;
    double score;
    const char* line;
    const char* signature;
  };
  const Recorded recorded[] = {
      {BleuTokenizer::international, BleuCase::mixed, 1, 43.409797449691744,
       "BLEU = 43.41 66.2/50.8/38.2/27.7 (BP = 1.000 ratio = 1.092 hyp_len = 71 ref_len = 65)",
       "nrefs:1|case:mixed|eff:no|tok:intl|smooth:exp"},
      {BleuTokenizer::international, BleuCase::mixed, 2, 54.689229951491505,
       "BLEU = 54.69 74.6/65.1/50.9/36.2 (BP = 1.000 ratio = 1.109 hyp_len = 71 ref_len = 64)",
       "nrefs:2|case:mixed|eff:no|tok:intl|smooth:exp"},
      {BleuTokenizer::international, BleuCase::lower, 1, 45.32226565198782,
       "BLEU = 45.32 67.6/52.4/40.0/29.8 (BP = 1.000 ratio = 1.092 hyp_len = 71 ref_len = 65)",
       "nrefs:1|case:lc|eff:no|tok:intl|smooth:exp"},
      {BleuTokenizer::international, BleuCase::lower, 2, 56.56704951143072,
       "BLEU = 56.57 76.1/66.7/52.7/38.3 (BP = 1.000 ratio = 1.109 hyp_len = 71 ref_len = 64)",
       "nrefs:2|case:lc|eff:no|tok:intl|smooth:exp"},
      {BleuTokenizer::character, BleuCase::mixed, 1, 70.047188537435,
       "BLEU = 70.05 85.6/77.5/71.9/67.4 (BP = 0.930 ratio = 0.933 hyp_len = 208 ref_len = 223)",
       "nrefs:1|case:mixed|eff:no|tok:char|smooth:exp"},
      {BleuTokenizer::character, BleuCase::mixed, 2, 80.3690431667895,
       "BLEU = 80.37 88.9/84.5/80.7/77.2 (BP = 0.972 ratio = 0.972 hyp_len = 208 ref_len = 214)",
       "nrefs:2|case:mixed|eff:no|tok:char|smooth:exp"},
      {BleuTokenizer::character, BleuCase::lower, 1, 73.85379672871647,
       "BLEU = 73.85 89.4/82.0/76.0/71.2 (BP = 0.930 ratio = 0.933 hyp_len = 208 ref_len = 223)",
       "nrefs:1|case:lc|eff:no|tok:char|smooth:exp"},
      {BleuTokenizer::character, BleuCase::lower, 2, 82.64284942453108,
       "BLEU = 82.64 90.4/87.0/83.3/79.9 (BP = 0.972 ratio = 0.972 hyp_len = 208 ref_len = 214)",
       "nrefs:2|case:lc|eff:no|tok:char|smooth:exp"},
      {BleuTokenizer::chinese, BleuCase::mixed, 1, 49.204794681533286,
       "BLEU = 49.20 76.2/58.3/45.3/32.1 (BP = 0.975 ratio = 0.976 hyp_len = 80 ref_len = 82)",
       "nrefs:1|case:mixed|eff:no|tok:zh|smooth:exp"},
      {BleuTokenizer::chinese, BleuCase::mixed, 2, 57.61085107213778,
       "BLEU = 57.61 81.2/68.1/53.1/37.5 (BP = 1.000 ratio = 1.039 hyp_len = 80 ref_len = 77)",
       "nrefs:2|case:mixed|eff:no|tok:zh|smooth:exp"},
      {BleuTokenizer::chinese, BleuCase::lower, 1, 50.801761004865654,
       "BLEU = 50.80 77.5/59.7/46.9/33.9 (BP = 0.975 ratio = 0.976 hyp_len = 80 ref_len = 82)",
       "nrefs:1|case:lc|eff:no|tok:zh|smooth:exp"},
      {BleuTokenizer::chinese, BleuCase::lower, 2, 59.2316110381426,
       "BLEU = 59.23 82.5/69.4/54.7/39.3 (BP = 1.000 ratio = 1.039 hyp_len = 80 ref_len = 77)",
       "nrefs:2|case:lc|eff:no|tok:zh|smooth:exp"},
  };
  for (const Recorded& r : recorded) {
    SCOPED_TRACE(r.signature);
    BleuOptions options;
    options.tokenizer = r.tokenizer;
    options.letter_case = r.letter_case;
    const BleuScore score = corpus_bleu(metric_hypotheses(), metric_references(r.num_references), options);
    EXPECT_NEAR(score.score, r.score, kMetricTolerance);
    EXPECT_EQ(format_bleu(score), r.line);
    EXPECT_EQ(bleu_signature(options, r.num_references), std::string(r.signature) + "|version:transmute-1");
  }
}

// Three words of which two match: only the first two lengths have matches, and there is no fourth.
TEST(BleuSmoothing, ScoresAsSacreBleuDoes) {
  struct Recorded {
    const char* smoothing;
    std::optional<double> value;
    bool effective_order;
    double corpus;
    double short_sentence;
    const char* signature;
  };
  const Recorded recorded[] = {
      {"floor", std::nullopt, false, 65.94685818903551, 0.0, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.10]"},
      {"floor", std::nullopt, true, 65.94685818903551, 32.182979486854336,
       "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:floor[0.10]"},
      {"floor", 0.5, false, 65.94685818903551, 0.0, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:floor[0.50]"},
      {"floor", 0.5, true, 65.94685818903551, 55.03212081491043,
       "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:floor[0.50]"},
      {"add-k", std::nullopt, false, 67.59680356576693, 68.65890479690394,
       "nrefs:1|case:mixed|eff:no|tok:13a|smooth:add-k[1.00]"},
      {"add-k", std::nullopt, true, 67.59680356576693, 68.65890479690394,
       "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:add-k[1.00]"},
      {"add-k", 2, false, 69.04543001844112, 75.9835685651592, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:add-k[2.00]"},
      {"add-k", 2, true, 69.04543001844112, 75.9835685651592, "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:add-k[2.00]"},
      {"none", std::nullopt, false, 65.94685818903551, 0.0, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:none"},
      {"none", std::nullopt, true, 65.94685818903551, 0.0, "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:none"},
      {"exp", std::nullopt, false, 65.94685818903551, 0.0, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp"},
      {"exp", std::nullopt, true, 65.94685818903551, 55.03212081491043,
       "nrefs:1|case:mixed|eff:yes|tok:13a|smooth:exp"},
  };
  const auto some = [](const std::vector<std::string>& all) {
    return std::vector<std::string>{all[0], all[1], all[5]};
  };
  const std::vector<std::string> corpus = some(metric_hypotheses());
  const std::vector<std::vector<std::string>> reference = {some(metric_references(1)[0])};
  for (const Recorded& r : recorded) {
    SCOPED_TRACE(r.signature);
    BleuOptions options;
    options.smoothing = bleu_smoothing_from_name(r.smoothing);
    options.smoothing_value = r.value;
    options.effective_order = r.effective_order;
    EXPECT_NEAR(corpus_bleu(corpus, reference, options).score, r.corpus, kMetricTolerance);
    EXPECT_NEAR(corpus_bleu({"a b c"}, {{"a b d"}}, options).score, r.short_sentence, kMetricTolerance);
    EXPECT_EQ(bleu_signature(options, 1), std::string(r.signature) + "|version:transmute-1");
  }
  EXPECT_THROW(bleu_smoothing_from_name("laplace"), std::invalid_argument);
}

TEST(BleuTokenizers, FollowTheScriptOfMostLetters) {
  using Texts = std::vector<std::string>;
  const auto name_for = [](const Texts& texts) { return bleu_tokenizer_name(bleu_tokenizer_for(texts)); };
  EXPECT_EQ(name_for({"The dog barks.", "犬"}), "13a");
  EXPECT_EQ(name_for({"Собака лает.", "الكلب ينبح", "कुत्ता भौंकता है", "개가 짖는다."}), "13a");
  EXPECT_EQ(name_for({"123 – …"}), "13a");
  EXPECT_EQ(name_for({}), "13a");
  EXPECT_EQ(name_for({"他们明天去北京。", "这本 PDF 非常有意思。"}), "zh");
  EXPECT_EQ(name_for({"彼らは明日北京へ行きます。", "東京都知事選挙"}), "char");
  EXPECT_EQ(name_for({"พรุ่งนี้พวกเขาจะไปปักกิ่ง"}), "char");
  EXPECT_EQ(name_for({"ថ្ងៃស្អែកពួកគេទៅប៉េកាំង"}), "char");
}

}  // namespace
}  // namespace transmute
