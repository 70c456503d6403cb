// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/serving/detection.h>

#include <string>
#include <vector>

namespace transmute::testing {
namespace {

TEST(Detection, TellsTheScriptsOfALanguageApart) {
  const std::string traditional = "歡迎光臨。請問您需要什麼幫助?我們的圖書館從星期一到星期五開放,週末休息。";
  const std::string simplified = "欢迎光临。请问您需要什么帮助?我们的图书馆从星期一到星期五开放,周末休息。";
  const auto best = [](const std::string& text, const std::vector<std::string>& languages) {
    return detect_language(text, languages).front().code;
  };
  EXPECT_EQ(best(traditional, {"zh-Hans", "zh-Hant"}), "zh-Hant");
  EXPECT_EQ(best(simplified, {"zh-Hant", "zh-Hans"}), "zh-Hans");
  EXPECT_EQ(best(traditional, {"zh", "zh-TW"}), "zh-TW");
  EXPECT_EQ(best(simplified, {"zh-TW", "zh"}), "zh");
  EXPECT_EQ(best(traditional, {"en", "zh"}), "zh") << "where no model has its script";
  EXPECT_EQ(best(traditional, {"zh", "zt"}), "zt") << "Argos Translate's code";
  EXPECT_EQ(best(simplified, {"zh", "zt"}), "zh");
}

}  // namespace
}  // namespace transmute::testing
