// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/serving/detection.h>

#include <string>
#include <utility>
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

// A language, and short texts that no other one of these languages has.
const std::vector<std::pair<std::string, std::vector<std::string>>> kShortTexts{
    {"cs", {"děkuji mnohokrát", "kde jsi", "Dobrý den"}},    {"da", {"hvor er du", "mange tak", "Undskyld mig"}},
    {"de", {"vielen Dank", "wo bist du", "Haus"}},           {"en", {"thank you", "where are you", "house"}},
    {"es", {"muchas gracias", "dónde estás", "mi hermano"}}, {"fi", {"kiitos paljon", "missä olet", "talo"}},
    {"fr", {"merci beaucoup", "où es-tu", "maison"}},        {"hu", {"köszönöm szépen", "hol vagy", "ház"}},
    {"it", {"grazie mille", "dove sei", "chiesa"}},          {"nl", {"dank je wel", "waar ben je", "huis"}},
    {"pl", {"dziękuję bardzo", "gdzie jesteś", "kościół"}},  {"pt", {"muito obrigado", "onde você está", "igreja"}},
    {"ro", {"mulțumesc frumos", "unde ești", "biserică"}},   {"sv", {"tack så mycket", "var är du", "kyrka"}},
    {"tr", {"çok teşekkür ederim", "neredesin", "Günaydın"}}};

TEST(Detection, KnowsTheLanguageOfAFewWords) {
  std::vector<std::string> languages;
  for (const auto& [language, texts] : kShortTexts) languages.push_back(language);
  for (const auto& [language, texts] : kShortTexts)
    for (const std::string& text : texts) EXPECT_EQ(detect_language(text, languages).front().code, language) << text;
}

TEST(Detection, SaysHowSureItIs) {
  const auto best = [](const std::string& text, const std::vector<std::string>& languages) {
    return detect_language(text, languages).front();
  };
  EXPECT_GE(best("the house", {"de", "en"}).confidence, 95);
  EXPECT_LE(best("xkqz wvrtp", {"de", "en"}).confidence, 5) << "no language spells so";
  EXPECT_LE(best("Ein Mann schaut einem Hund zu.", {"en", "fr"}).confidence, 5) << "neither of them";
  const auto both = detect_language("radio taxi", {"es", "it", "de", "en"});
  EXPECT_GT(both.size(), 1U) << "words of many languages";
  EXPECT_LT(both.front().confidence, 90);
  EXPECT_EQ(best("12 345 €", {"de", "en"}).confidence, 0);
}

TEST(Detection, TellsLanguagesWithoutAListOfWordsFromOthers) {
  const auto best = [](const std::string& text, const std::vector<std::string>& languages) {
    return detect_language(text, languages).front().code;
  };
  EXPECT_EQ(best("Unë jam një mësues dhe jetoj në Tiranë.", {"en", "sq", "it"}), "sq");
  EXPECT_EQ(best("How are you today?", {"et", "eu", "sq", "en"}), "en");
  EXPECT_EQ(best("გამარჯობა", {"en", "ka"}), "ka");
  EXPECT_EQ(best("Dobar dan, kako ste danas?", {"en", "sr-Latn"}), "sr-Latn") << "by the words of Croatian";
}

TEST(Detection, ReadsAllFormsOfTheSameLetters) {
  EXPECT_EQ(detect_language("gru\u0308n", {"en", "de", "fi"}).front().code, "de") << "u and its dots as two characters";
  EXPECT_EQ(detect_language("ÜBUNG", {"en", "de", "fi"}).front().code, "de");
  EXPECT_EQ(detect_language("c\u2019est l\u2019heure", {"en", "fr"}).front().code, "fr");
  EXPECT_EQ(detect_language("<p>k&ouml;nnen<br>m&#xF6;gen</p>", {"en", "de", "fi"}, true).front().code, "de");
}

}  // namespace
}  // namespace transmute::testing
