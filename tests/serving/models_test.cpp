// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/serving/detection.h>
#include <transmute/serving/models.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <stdexcept>
#include <string>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

// "source|target|path".
std::string parsed(const std::string& text) {
  const ModelSource model = parse_model_source(text);
  return model.source + "|" + model.target + "|" + model.path;
}

TEST(ModelSource, IsReadWithItsLanguages) {
  EXPECT_EQ(parsed("en-de=runs/a=b"), "en|de|runs/a=b");
  EXPECT_EQ(parsed("pt-BR:zh_Hant=m.pt"), "pt-BR|zh_Hant|m.pt");
  for (const char* text : {"ende=x", "en-=x", "en-en=x", "pt-BR-en=x", "=x", "e-de=x", "engl-de=x"})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { parse_model_source(text); }),
                HasSubstr("names no two languages"))
        << text;
}

TEST(ModelSource, TakesItsLanguagesFromTheTrainingFiles) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& config) {
    write_text(folder / "config.yaml", config);
    return parsed(folder.path());
  };
  EXPECT_EQ(with("data: {train_source: train.en, train_target: train.de}"), "en|de|" + folder.path());
  EXPECT_EQ(with("data: {train_source: [a/x.en.gz, y.fr], train_target: [x.pt-BR.gz]}"), "en|pt-BR|" + folder.path());
  for (const char* config :
       {"data: {train_source: train.en, train_target: train.txt2}", "data: {}", "model: {}", "x: ["})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { with(config); }), HasSubstr("--model en-de=")) << config;
}

TEST(LanguageName, IsEnglish) {
  EXPECT_EQ(language_name("de"), "German");
  EXPECT_EQ(language_name("pt-BR"), "Portuguese (Brazil)");
  EXPECT_EQ(language_name("xx"), "xx");
}

TEST(Detection, ChoosesAmongTheLanguagesOfTheModels) {
  const auto best = [](const std::string& text, const std::vector<std::string>& languages) {
    return detect_language(text, languages).front().code;
  };
  const std::string german = "Ein Mann in einem roten Hemd steht auf der Straße und schaut einem Hund zu.";
  const std::string english = "A man in a red shirt is standing on the street and watching a dog.";
  EXPECT_EQ(best(german, {"en", "de"}), "de");
  EXPECT_EQ(best(english, {"de", "en-GB"}), "en-GB");
  EXPECT_EQ(best("C'est un homme qui regarde un chien dans la rue.", {"en", "fr"}), "fr");
  EXPECT_EQ(best(german, {"fr"}), "fr");
  EXPECT_EQ(detect_language(german, {"fr"}).front().confidence, 0);
  EXPECT_GT(detect_language(german, {"en", "de"}).front().confidence, 50);
  for (const char* text : {"", " ", "1234", "?"}) EXPECT_EQ(detect_language(text, {"en", "de"}).size(), 1U) << text;
}

}  // namespace
}  // namespace transmute::testing
