// SPDX-License-Identifier: Apache-2.0
// The language model with which tests compare neural ones.

#include <gtest/gtest.h>
#include <transmute/tests/support/kneser_ney.h>
#include <transmute/tokenizer/tokenizer.h>

#include <algorithm>
#include <random>
#include <vector>

namespace transmute {
namespace {

std::vector<Ids> random_texts(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Ids> texts;
  for (int i = 0; i < count; ++i) {
    Ids text;
    for (auto length = random() % 6; length > 0; --length)
      text.push_back(4 + static_cast<int64_t>(std::min(random() % 9, random() % 9)));
    texts.push_back(text);
  }
  return texts;
}

TEST(TrigramModel, GivesProbabilitiesThatSumToOneAfterEveryContext) {
  constexpr int64_t kVocabulary = 15;
  const testing::TrigramModel model(random_texts(200, 1), kVocabulary, special_ids::kEnd);
  for (int64_t a = testing::TrigramModel::kBeginning; a < kVocabulary; ++a)
    for (int64_t b = testing::TrigramModel::kBeginning; b < kVocabulary; ++b) {
      double sum = 0;
      for (int64_t token = 0; token < kVocabulary; ++token) {
        EXPECT_GT(model.probability(a, b, token), 0);
        sum += model.probability(a, b, token);
      }
      EXPECT_NEAR(sum, 1, 1e-12) << a << " " << b;
    }
}

// Texts "4 5" three times and "4 6" once; V = 8, end 3. Trigrams: (B,B,4) 4 times, (B,4,5) 3, (B,4,6) 1, (4,5,end) 3,
// (4,6,end) 1. Of 5 trigrams two were seen once and none twice: the discounts are 1, 2 and min(3, 3 - 4 · 1 · n4/n3) =
// 3 - 4 · 1/2 = 1. Bigrams: (B,4) 4, (4,5), (4,6), (5,end), (6,end) 1 each: discounts 1, 2, 3. Unigrams: 4, 5, 6 once
// each, end twice: n1 = 3, n2 = 1, so Y = 3/5, the first discount 1 - 2 · 3/5 · 1/3 = 3/5, the second 2.
TEST(TrigramModel, EqualsProbabilitiesWorkedOutByHand) {
  const testing::TrigramModel model({{4, 5}, {4, 5}, {4, 5}, {4, 6}}, 8, special_ids::kEnd);
  const double unigram5 = (1 - 0.6) / 5 + (3 * 0.6 + 2) / 5 / 8;
  const double bigram45 = 0.0 / 2 + 2.0 / 2 * unigram5;
  EXPECT_NEAR(model.probability(-1, 4, 5), (3 - 1) / 4.0 + 2.0 / 4 * bigram45, 1e-12);
}

TEST(TrigramModel, KnowsTheTextItWasMadeFromBest) {
  const auto texts = random_texts(300, 1);
  const testing::TrigramModel model(texts, 15, special_ids::kEnd);
  const double own = model.perplexity(texts), other = model.perplexity(random_texts(300, 2));
  EXPECT_LT(own, other);
  EXPECT_LT(other, 15) << "better than no knowledge at all";
}

}  // namespace
}  // namespace transmute
