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

}  // namespace
}  // namespace transmute::testing
