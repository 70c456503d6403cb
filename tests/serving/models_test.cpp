// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/common/config_schema.h>
#include <transmute/serving/detection.h>
#include <transmute/serving/models.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tokenizer/tokenizer.h>

#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using AModelSource = InFolder;

// "source|target|path", and the names in a multilingual model.
std::string parsed(const std::string& text) {
  const ModelSource model = parse_model_sources(text).front();
  const std::string names =
      model.source_name.empty() && model.target_name.empty() ? "" : "|" + model.source_name + "|" + model.target_name;
  return model.source + "|" + model.target + "|" + model.path + names;
}

TEST_F(AModelSource, IsReadWithItsLanguages) {
  EXPECT_EQ(parsed("en-de=runs/a=b"), "en|de|runs/a=b");
  EXPECT_EQ(parsed("pt-BR:zh_Hant=m.pt"), "pt-BR|zh_Hant|m.pt");
  EXPECT_EQ(parsed("ar/arb_Arab:en/eng_Latn=m"), "ar|en|m|arb_Arab|eng_Latn");
  EXPECT_EQ(parsed("en:ar/arb_Arab=a/b"), "en|ar|a/b||arb_Arab");
  for (const char* text : {"ende=x", "en-=x", "en-en=x", "pt-BR-en=x", "=x", "e-de=x", "engl-de=x"})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { parse_model_sources(text); }),
                HasSubstr("names no two languages"))
        << text;
}

TEST_F(AModelSource, IsDoubtedIfTheFolderSaysOtherLanguages) {
  write_text(folder_ / "config.yaml", "data: {train_source: train.en, train_target: [train.pt-BR.gz]}");
  const auto doubt = [&](const std::string& languages) {
    return doubt_about(parse_model_sources(languages + "=" + folder_.path()).front());
  };
  for (const char* right : {"en:pt-BR", "en-pt", "EN:pt_PT", "en-GB:pt"}) EXPECT_EQ(doubt(right), "") << right;
  EXPECT_EQ(doubt("pt-en"), "--model pt-en=" + folder_.path() +
                                ": the folder says that its model translates from en to pt-BR; if that is right, write "
                                "en:pt-BR=" +
                                folder_.path());
  for (const char* other : {"en-de", "fr-pt", "pt:en"})
    EXPECT_THAT(doubt(other), HasSubstr("from en to pt-BR")) << other;
  for (const char* config : {"data: {train_source: train.txt, train_target: train.de}", "model: {}", "x: [", "a",
                             "data: {train_source: a.en, train_target: b.en}"}) {
    write_text(folder_ / "config.yaml", config);
    EXPECT_EQ(doubt("de-en"), "") << config;
  }
  EXPECT_EQ(doubt_about(parse_model_sources("en-de=" + folder_.path() + "/missing").front()), "");
}

TEST_F(AModelSource, TakesItsLanguagesFromTheTrainingFiles) {
  const auto with = [&](const std::string& config) {
    write_text(folder_ / "config.yaml", config);
    return parsed(folder_.path());
  };
  EXPECT_EQ(with("data: {train_source: train.en, train_target: train.de}"), "en|de|" + folder_.path());
  EXPECT_EQ(with("data: {train_source: [a/x.en.gz, y.fr], train_target: [x.pt-BR.gz]}"), "en|pt-BR|" + folder_.path());
  for (const char* config :
       {"data: {train_source: train.en, train_target: train.txt2}", "data: {}", "model: {}", "x: [", ","})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { with(config); }), HasSubstr("--model en-de=")) << config;
}

TEST_F(AModelSource, HasAllPairsOfATrainingInSeveralLanguages) {
  write_text(folder_ / "config.yaml",
             "data: {train_source: [a.en, a.de, b.en], train_target: [a.de, a.en, b.de], train_languages: [en-de, "
             "de-en, en-de]}");
  const std::vector<ModelSource> models = parse_model_sources(folder_.path());
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(model_name(models[0]), "en-de");
  EXPECT_EQ(model_name(models[1]), "de-en");
  EXPECT_EQ(doubt_about(models[1]), "") << "the first file is English";
}

TEST_F(AModelSource, IsNotWaitedForNorReadWithoutEnd) {
  const std::string config = folder_ / "config.yaml";
  const auto refusal = [&] { return message_of<std::runtime_error>([&] { parse_model_sources(folder_.path()); }); };
  write_text(config, std::string(kMaxConfigBytes + 1, '#'));
  EXPECT_THAT(refusal(), HasSubstr(config));
  std::filesystem::remove(config);
  ASSERT_EQ(mkfifo(config.c_str(), 0600), 0);
  EXPECT_THAT(refusal(), HasSubstr(config));
}

TEST_F(AModelSource, TakesItsLanguagesFromTheNameOfAModelOfFirefox) {
  for (const char* name : {"model.enpt.intgemm.alphas.bin", "vocab.enpt.spm", "lex.50.50.enpt.s2t.bin"})
    write_text(folder_ / name, "");
  EXPECT_EQ(parsed(folder_.path()), "en|pt|" + folder_.path());
  const std::string file = folder_ / "model.enpt.intgemm.alphas.bin";
  EXPECT_EQ(parsed(file), "en|pt|" + file);
  std::filesystem::remove(file);
  write_text(folder_ / "model.intgemm.alphas.bin", "");
  EXPECT_ANY_THROW(parsed(folder_.path())) << "a name without languages";
}

TEST_F(AModelSource, TakesItsLanguagesFromAPackageOfArgosTranslate) {
  const auto with = [&](const std::string& metadata) {
    write_text(folder_ / "metadata.json", metadata);
    return parsed(folder_.path());
  };
  EXPECT_EQ(with(R"({"package_version": "1.9", "from_code": "pb", "to_code": "en"})"), "pb|en|" + folder_.path());
  for (const char* metadata :
       {R"({"from_code": "en"})", R"({"from_code": "en", "to_code": "en"})", R"({"from_code": 1, "to_code": "en"})",
        R"({"from_code": "engl", "to_code": "de"})", "[]", "{"})
    EXPECT_THAT(message_of<std::invalid_argument>([&] { with(metadata); }), HasSubstr("--model en-de=")) << metadata;
}

TEST_F(AModelSource, GetsItsShortlist) {
  const auto given = [](const std::vector<std::string>& shortlists, const std::vector<std::string>& models) {
    std::vector<ModelSource> sources;
    for (const std::string& model : models) sources.push_back(parse_model_sources(model).front());
    give_shortlists(shortlists, sources);
    std::vector<std::string> tables;
    for (const ModelSource& source : sources) tables.push_back(source.shortlist);
    return tables;
  };
  using Tables = std::vector<std::string>;
  EXPECT_EQ(given({"a.txt"}, {"en-de=m"}), Tables({"a.txt"}));
  EXPECT_EQ(given({"pt-BR:en=a=b"}, {"en-de=m", "pt-BR:en=n"}), Tables({"", "a=b"}));
  EXPECT_EQ(given({"en:ar=a"}, {"en:ar/arb_Arab=m"}), Tables({"a"}));
  const auto refusal = [&](const Tables& shortlists) {
    return message_of<std::invalid_argument>([&] { given(shortlists, {"en-de=m", "de-en=n"}); });
  };
  EXPECT_THAT(refusal({"a.txt"}), HasSubstr("--shortlist en-de=a.txt"));
  EXPECT_THAT(refusal({"en-fr=a"}), HasSubstr("no --model is given for en-fr"));
  for (const char* text : {"ende=a", "en:de/deu=a"}) EXPECT_THAT(refusal({text}), HasSubstr("write en-de=FILE"));
  EXPECT_THAT(refusal({"en-de="}), HasSubstr("needs a file"));
  EXPECT_THAT(refusal({"de-en=a", "de-en=b"}), HasSubstr("another one is given for de-en"));
}

TEST(LanguageInVocabulary, IsTheOneThatACodeMeans) {
  const std::vector<std::string> nllb{"arb_Arab", "deu_Latn", "eng_Latn", "srp_Cyrl", "zho_Hans", "zho_Hant"};
  EXPECT_EQ(language_in_vocabulary("de", nllb), "deu_Latn");
  EXPECT_EQ(language_in_vocabulary("zh", nllb), "zho_Hans");
  EXPECT_EQ(language_in_vocabulary("zh-TW", nllb), "zho_Hant");
  EXPECT_EQ(language_in_vocabulary("sr", nllb), "srp_Cyrl");
  EXPECT_EQ(language_in_vocabulary("zho_Hant", nllb), "zho_Hant");
  EXPECT_EQ(language_in_vocabulary("de", {"de_DE", "en_XX"}), "de_DE");
  EXPECT_EQ(language_in_vocabulary("en-GB", {"de", "en", "fr"}), "en");
  EXPECT_EQ(language_in_vocabulary("de", {"deu", "nld"}), "deu");
  for (const auto& [code, names] : {std::pair{"ar", nllb}, {"fr", nllb}, {"de", {}}})
    EXPECT_THAT(
        message_of<std::invalid_argument>([&, code = code, names = names] { language_in_vocabulary(code, names); }),
        HasSubstr("no language \"" + std::string(code) + "\""));
  EXPECT_THAT(message_of<std::invalid_argument>([&] {
                language_in_vocabulary("pt", {"pt_BR", "pt_PT"});
              }),
              HasSubstr("several languages"));
}

TEST(ModelSet, ListsEveryLanguageAsATargetOfItself) {
  const std::string folder = TRANSMUTE_TEST_DATA "/formats/nllb";
  const ModelSet models(parse_model_sources("EN/eng_Latn:de=" + folder), TranslatorOptions{}, "");
  using Targets = std::map<std::string, std::set<std::string>>;
  EXPECT_EQ(models.targets(), (Targets{{"EN", {"EN", "de"}}, {"de", {"de"}}}));
  EXPECT_EQ(models.language("en"), "EN");
  EXPECT_EQ(models.language("De"), "de");
  EXPECT_EQ(models.language("fr"), "");
  const ModelSet argos(parse_model_sources("zh-Hans/eng_Latn:pb/deu_Latn=" + folder), TranslatorOptions{}, "");
  for (const char* code : {"zh", "ZH-hans", "zh-Hans"}) EXPECT_EQ(argos.language(code), "zh-Hans");
  for (const char* code : {"pt-br", "PB"}) EXPECT_EQ(argos.language(code), "pb");
  for (const char* code : {"pt", "zt", ""}) EXPECT_EQ(argos.language(code), "");
  const ModelSet both(parse_model_sources("zh/eng_Latn:zh-Hans/deu_Latn=" + folder), TranslatorOptions{}, "");
  EXPECT_EQ(both.language("ZH-HANS"), "zh-Hans");
  EXPECT_EQ(both.language("ZH"), "zh");
  EXPECT_THAT(models.route("de", "EN"), IsEmpty());
}

// One model serves all pairs that it is named for, and each hop tells it of the languages.
TEST(ModelSet, TellsAMultilingualModelOfTheLanguages) {
  const std::string folder = TRANSMUTE_TEST_DATA "/formats/nllb";
  const auto set = [&](const std::vector<std::string>& models, const std::string& pivot = "") {
    std::vector<ModelSource> sources;
    for (const std::string& model : models) sources.push_back(parse_model_sources(model).front());
    return ModelSet(sources, TranslatorOptions{}, pivot);
  };
  const ModelSet models = set({"en-de=" + folder, "de-en=" + folder}, "en");
  const ModelSet::Route route = models.route("en", "de"), back = models.route("de", "en");
  ASSERT_EQ(route.size(), 1U);
  EXPECT_EQ(route[0].source_language, "eng_Latn");
  EXPECT_EQ(route[0].target_language, "deu_Latn");
  EXPECT_EQ(back.at(0).source_language, "deu_Latn");
  EXPECT_EQ(back.at(0).model, route[0].model);
  EXPECT_EQ(set({"en:no/deu_Latn=" + folder}).route("en", "no").at(0).target_language, "deu_Latn");
  EXPECT_THAT(message_of<std::invalid_argument>([&] { set({"en-no=" + folder}); }),
              AllOf(HasSubstr("--model en-no=" + folder), HasSubstr("write no/NAME")));
  EXPECT_THAT(message_of<std::invalid_argument>([&] { set({"en:no/nor=" + folder}); }), HasSubstr("\"nor\""));
}

TEST(ModelSet, UsesAShortlistForTheModelsOfItsLanguagesAlone) {
  const TinyModelFolder folder;
  const TemporaryFolder tables;
  TranslatorOptions options;
  options.shortlist.frequent = 0;
  std::vector<ModelSource> sources{parse_model_sources("en-de=" + folder.path()).front(),
                                   parse_model_sources("en-fr=" + folder.path()).front()};
  const Tokenizer tokenizer = Translator(folder.path()).tokenizer();
  write_text(tables / "table", tokenizer.target().piece(10) + " " + tokenizer.source().piece(10) + " 0.5\n");
  give_shortlists({"en-de=" + (tables / "table")}, sources);
  const ModelSet models(sources, options, "");
  const std::string text = "the red house is there";
  const auto translated = [&](const std::string& target) {
    return models.route("en", target).at(0).model->translate(text);
  };
  EXPECT_EQ(translated("fr"), Translator(folder.path()).translate(text));
  options.shortlist.table = sources[0].shortlist;
  EXPECT_EQ(translated("de"), Translator(folder.path(), options).translate(text));
  EXPECT_NE(translated("de"), translated("fr"));
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
  const std::string page =
      "<div class=\"container main-content navigation\"><p class=\"article-body first-paragraph\">Das Haus ist rot.</p>"
      "</div>";
  EXPECT_EQ(detect_language(page, {"en", "de"}, true).front().code, "de") << "markup is English to the detector";
  const std::string hebrew = "האיש בחולצה האדומה עומד ברחוב ומסתכל על הכלב.";
  const std::string javanese = "Basa Jawa iku basa sing digunakake dening wong Jawa ing pulo Jawa.";
  EXPECT_EQ(best(hebrew, {"en", "he"}), "he") << "iw to the detector";
  EXPECT_EQ(best(javanese, {"en", "jv"}), "jv") << "jw to the detector";
  EXPECT_EQ(best(hebrew, {"deu", "heb"}), "heb");
  EXPECT_EQ(best(german, {"heb", "deu"}), "deu");
  EXPECT_EQ(best("Um homem de camisa vermelha está na rua e olha para um cachorro.", {"en", "pb"}), "pb");
  EXPECT_EQ(best("Dette er en liten hund som løper over gaten og ikke vil stoppe.", {"en", "nb"}), "nb");
  for (const char* text : {"", " ", "1234", "?"}) EXPECT_EQ(detect_language(text, {"en", "de"}).size(), 1U) << text;
}

}  // namespace
}  // namespace transmute::testing
