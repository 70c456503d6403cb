// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/text/language_codes.h>

namespace transmute::testing {
namespace {

TEST(LanguageName, IsEnglish) {
  EXPECT_EQ(language_name("de"), "German");
  EXPECT_EQ(language_name("pt-BR"), "Portuguese (Brazil)");
  EXPECT_EQ(language_name("pb"), "Portuguese (Brazil)") << "Argos Translate's code";
  EXPECT_EQ(language_name("xx"), "xx");
}

TEST(LanguageOf, IsTheSameForAllItsCodes) {
  for (const char* german : {"de", "deu", "ger", "de-AT", "deu_Latn", "DE"}) EXPECT_EQ(language_of(german), "deu");
  for (const char* norwegian : {"no", "nb", "nn", "nob", "nb-NO"}) EXPECT_EQ(language_of(norwegian), "nor");
  EXPECT_EQ(language_of("arb_Arab"), language_of("ar")) << "NLLB's code";
  EXPECT_EQ(language_of("iw"), "heb");
  EXPECT_EQ(language_of("xx-YY"), "xx");
  EXPECT_EQ(language_of(""), "");
}

TEST(LikelyLocale, HasTheScriptAndTheRegion) {
  EXPECT_STREQ(likely_locale("sr").getName(), "sr_Cyrl_RS");
  EXPECT_STREQ(likely_locale("zt").getName(), "zh_Hant_TW") << "Argos Translate's code";
}

}  // namespace
}  // namespace transmute::testing
