// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/training/data/language_pairs.h>

#include <cmath>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

TEST(LanguageWeights, AreOneForOneLanguagePair) {
  EXPECT_THAT(language_weights({}, {10, 1000}, 5), ElementsAre(1, 1));
  EXPECT_THAT(language_weights({"en-de", "en-de"}, {10, 1000}, 5), ElementsAre(1, 1));
}

TEST(LanguageWeights, DrawPairsInProportionToARootOfTheirAmounts) {
  const std::vector<double> amounts{8000, 300, 500, 10};
  const std::vector<std::string> languages{"en-de", "en-cs", "en-cs", "en-is"};
  for (const double temperature : {1.0, 2.0, 5.0}) {
    const std::vector<double> weights = language_weights(languages, amounts, temperature);
    const double german = weights[0] * 8000, czech = weights[1] * 300 + weights[2] * 500, icelandic = weights[3] * 10;
    EXPECT_DOUBLE_EQ(german, 8000) << "the largest is read once";
    EXPECT_NEAR(czech / german, std::pow(800.0 / 8000, 1 / temperature), 1e-9);
    EXPECT_NEAR(icelandic / german, std::pow(10.0 / 8000, 1 / temperature), 1e-9);
    EXPECT_EQ(weights[1], weights[2]) << "the files of one pair keep their proportion";
  }
}

TEST(LanguageWeights, LeaveAloneWhatHasNoPairs) {
  EXPECT_THAT(language_weights({"en-de", "en-cs"}, {100, 0}, 5), ElementsAre(1, 1));
}

TEST(LanguagePairs, HaveATarget) {
  EXPECT_EQ(target_of("en-pt_BR"), "pt_BR");
  EXPECT_EQ(target_of(""), "");
}

}  // namespace
}  // namespace transmute
