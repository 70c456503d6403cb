// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/plural_forms.h>
#include <transmute/tests/documents/file_support.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kHeader =
    "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n"
    "\"Plural-Forms: nplurals=3; plural=(n==1 ? 0 : n%10>=2 ? 1 : 2);\\n\"\n\n";

TEST(PoFile, TranslatesWhatHasNoTranslationAndMarksIt) {
  const std::string catalog = std::string(kHeader) +
                              "#: a.c:1\n#, c-format\nmsgctxt \"menu\"\nmsgid \"Open %s\"\nmsgstr \"\"\n\n"
                              "msgid \"Done\"\nmsgstr \"Fertig\"\n\n"
                              "msgid \"\"\n\"Two\\n\"\n\"lines \\\"here\\\"\\n\"\nmsgstr \"\"\n\n#~ msgid \"old\"\n";
  const auto file = opened("de.po", catalog);
  ASSERT_THAT(file->texts(), ElementsAre("Open %s", "Two\nlines \"here\"\n"));
  EXPECT_EQ(file->with({"%s öffnen", "Zwei\nZeilen \"hier\"\n"}),
            std::string(kHeader) +
                "#: a.c:1\n#, fuzzy, c-format\nmsgctxt \"menu\"\nmsgid \"Open %s\"\nmsgstr \"%s öffnen\"\n\n"
                "msgid \"Done\"\nmsgstr \"Fertig\"\n\n"
                "#, fuzzy\nmsgid \"\"\n\"Two\\n\"\n\"lines \\\"here\\\"\\n\"\n"
                "msgstr \"\"\n\"Zwei\\n\"\n\"Zeilen \\\"hier\\\"\\n\"\n\n#~ msgid \"old\"\n");
  EXPECT_THAT(opened("de.po", catalog, {true})->texts(), ElementsAre("Open %s", "Done", "Two\nlines \"here\"\n"));
}

TEST(PoFile, TheMarkIsBeforeTheMessageThatAnEntryHadBefore) {
  const std::string remark = "#: a.ui:1\n";
  const std::string entry = "#| msgctxt \"menu\"\n#| msgid \"Old\"\nmsgctxt \"menu\"\nmsgid \"New\"\nmsgstr ";
  EXPECT_EQ(opened("de.po", remark + entry + "\"\"\n")->with({"Neu"}), remark + "#, fuzzy\n" + entry + "\"Neu\"\n");
}

TEST(PoFile, FlagsOfAnObsoleteEntryAreNotThoseOfTheNext) {
  const std::string old = "#, fuzzy\n#~ msgid \"old\"\n#~ msgstr \"alt\"\n\n", entry = "msgid \"New\"\nmsgstr ";
  EXPECT_EQ(opened("de.po", old + entry + "\"\"\n")->with({"Neu"}), old + "#, fuzzy\n" + entry + "\"Neu\"\n");
}

TEST(PoFile, FillsAllPluralForms) {
  const auto file =
      opened("pl.po", std::string(kHeader) + "msgid \"a file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n");
  EXPECT_THAT(with(*file, {{"a file", "plik"}, {"%d files", "%d pliki"}}),
              HasSubstr("msgstr[0] \"plik\"\nmsgstr[1] \"%d pliki\"\nmsgstr[2] \"%d pliki\"\n"));
  std::string many = "msgid \"a\"\nmsgid_plural \"b\"\n";
  for (int i = 0; i < 5000; ++i) many += "msgstr[9] \"\"\n";
  const std::string translated = opened("no_header.po", many)->with({"c", "d"});
  EXPECT_THAT(translated, HasSubstr("msgstr[8] \"c\"\nmsgstr[9] \"c\"\n"));
  EXPECT_LT(translated.size(), 300U);
}

TEST(PoFile, EachCaseOfAPluralOfIcuIsATextOfItsOwn) {
  const auto file = opened("de.po", std::string(kHeader) +
                                        "msgid \"{n, plural, one {# dog} other {# dogs}} here\\n\"\n"
                                        "msgstr \"\"\n");
  ASSERT_THAT(file->texts(), ElementsAre("<var-x0/> dog here", "<var-x0/> dogs here"));
  EXPECT_THAT(file->with({"<var-x0/> Hund hier", "<var-x0/> Hunde hier"}),
              HasSubstr("msgstr \"{n, plural, one {# Hund hier} other {# Hunde hier}}\\n\"\n"));
  const std::string unclear = "msgid \"Dog #1: {n, plural, one {dog} other {dogs}}\"\nmsgstr \"\"\n";
  EXPECT_EQ(opened("a.po", unclear)->with({}), unclear);
}

TEST(PoFile, WordsInAngleBracketsAreTexts) {
  const auto file = opened("a.po", "msgid \"<All files>\"\nmsgstr \"\"\n\nmsgid \"<title>\"\nmsgstr \"\"\n");
  ASSERT_THAT(file->texts(), ElementsAre("All files", "<title>"));
  EXPECT_THAT(file->with({"Alle", "<title>"}), HasSubstr("msgstr \"<Alle>\"\n"));
}

TEST(PoFile, ApostrophesThatAreDoubledInAMessageWithArgumentsStaySo) {
  const std::string id = "msgid \"Add ''{name}''\"\nmsgstr ";
  const auto file = opened("a.po", id + "\"\"\n");
  ASSERT_THAT(file->texts(), ElementsAre("Add '{name}'"));
  EXPECT_EQ(file->with({"L'area '{name}'"}), "#, fuzzy\n" + id + "\"L''area ''{name}''\"\n");
  const std::string empty = "msgid \"Set {name} to '' here\"\nmsgstr ";
  const auto with_empty = opened("a.po", empty + "\"\"\n");
  ASSERT_THAT(with_empty->texts(), ElementsAre("Set {name} to '' here"));
  EXPECT_EQ(with_empty->with({"Metti '' in {name}"}), "#, fuzzy\n" + empty + "\"Metti '' in {name}\"\n");
}

TEST(PoFile, WrappedParagraphsAreOneTextAndWrappedAgain) {
  const std::string id =
      "msgid \"\"\n\"Prints the names of all files whose content\\n\"\n\"has changed since the last call of this\\n\"\n"
      "\"program.\\n\"\n\"\\n\"\n\"  -a  all\\n\"\n\"  -b  both\\n\"\n";
  const auto file = opened("a.po", id + "msgstr \"\"\n");
  const std::string rest = "\n\n  -a  all\n  -b  both\n";
  ASSERT_THAT(file->texts(), ElementsAre("Prints the names of all files whose content has changed since the last call "
                                         "of this program." +
                                         rest));
  EXPECT_EQ(file->with(file->texts()), "#, fuzzy\n" + id + "msgstr" + id.substr(5));
  EXPECT_EQ(
      file->with({"Gibt die Namen aller Dateien aus, deren Inhalt seither anders ist." + rest}),
      "#, fuzzy\n" + id +
          "msgstr \"\"\n\"Gibt die Namen aller Dateien aus, deren\\n\"\n\"Inhalt seither anders ist.\\n\"\n\"\\n\"\n"
          "\"  -a  all\\n\"\n\"  -b  both\\n\"\n");
  EXPECT_EQ(
      file->with({"显示自上次调用此程序以来内容已更改的所有文件（按照字母顺序列出）的名称。" + rest}),
      "#, fuzzy\n" + id +
          "msgstr "
          "\"\"\n\"显示自上次调用此程序以来内容已更改的所有文\\n\"\n\"件（按照字母顺序列出）的名称。\\n\"\n\"\\n\"\n"
          "\"  -a  all\\n\"\n\"  -b  both\\n\"\n");
  EXPECT_THAT(opened("a.po",
                     "msgid \"\"\n\"显示自上次调用此程序以来内容已更改的所有\\n\"\n\"文件的名称\\n\"\n\"（已完成）\"\n"
                     "msgstr \"\"\n")
                  ->texts(),
              ElementsAre("显示自上次调用此程序以来内容已更改的所有文件的名称\n（已完成）"));
  const std::string lines = "Usage: program [options]\nPrints files in the order of their names.\nDone.";
  EXPECT_THAT(opened("a.po",
                     "msgid \"Usage: program [options]\\nPrints files in the order of their names.\\nDone.\"\n"
                     "msgstr \"\"\n")
                  ->texts(),
              ElementsAre(lines));
}

TEST(PoFile, AcceleratorsComeBackOnceAtAWord) {
  const auto entry = [](const std::string& id) { return "msgid \"" + id + "\"\nmsgstr \"\"\n\n"; };
  const std::vector<std::array<std::string, 4>> kMessages{
      // message, its text, a translation, and what the catalog gets
      {"&File", "<accelerator/>File", "<accelerator/>Datei", "&Datei"},
      {"Scree&n size", "<accelerator/>Screen size", "Größe des <accelerator/>Bildschirms", "Größe des &Bildschirms"},
      {"C&ut 1", "<accelerator/>Cut 1", "ausschneiden 1", "&ausschneiden 1"},
      {"&Find && replace", "<accelerator/>Find & replace", "<accelerator/>Suchen & ersetzen", "&Suchen && ersetzen"},
      {"&Open %1", "<accelerator/>Open %1", "%1 öffnen<accelerator/>", "%1 &öffnen"},
      {"&Show %n", "<accelerator/>Show %n", "%n <accelerator/>(ja)!", "%n (&ja)!"},
      {"&Open...", "<accelerator/>Open...", "<accelerator/>開く...", "開く(&O)..."},
      {"文件(&F)…", "文件…", "File…", "&File…"},
      {"R&D", "R&D", "F&E", "F&E"},
      {"Save && close", "Save & close", "Speichern & schließen", "Speichern && schließen"},
      {"a &nbsp; b", "a &nbsp; b", "a &nbsp; c", "a &nbsp; c"},
  };
  std::string catalog;
  std::vector<std::string> texts, translations;
  for (const auto& [id, text, translation, result] : kMessages) {
    catalog += entry(id);
    texts.push_back(text);
    translations.push_back(translation);
  }
  const auto file = opened("a.po", catalog);
  ASSERT_EQ(file->texts(), texts);
  const std::string written = file->with(translations), copied = file->with(texts);
  for (const auto& [id, text, translation, result] : kMessages) {
    EXPECT_THAT(written, HasSubstr("msgid \"" + id + "\"\nmsgstr \"" + result + "\"\n"));
    EXPECT_THAT(copied, HasSubstr("msgid \"" + id + "\"\nmsgstr \"" + id + "\"\n"));
  }
  EXPECT_THAT(opened("gtk.po", entry("_File") + entry("Cu_t") + entry("_Open") + entry("file_name") + entry("A & B") +
                                   entry("Invalid file_name given") + entry("Sort A_scending") + entry("Ena_ble it") +
                                   entry("Chinese (zh_TW)") + entry("VAR_POP") + entry("$_CLICK here"))
                  ->texts(),
              ElementsAre("<accelerator/>File", "<accelerator/>Cut", "<accelerator/>Open", "file_name", "A & B",
                          "Invalid file_name given", "Sort <accelerator/>Ascending", "<accelerator/>Enable it",
                          "Chinese (zh_TW)", "VAR_POP", "$_CLICK here"));
  EXPECT_THAT(
      opened("gtk.po", entry("_File") + entry("_Open") + entry("{ip_type} failed") + entry("All %(n_all)s"))->texts(),
      ElementsAre("<accelerator/>File", "<accelerator/>Open", "{ip_type} failed", "All %(n_all)s"));
  EXPECT_THAT(opened("office.po", entry("~File") + entry("Save ~As"))->texts(),
              ElementsAre("<accelerator/>File", "Save <accelerator/>As"));
  EXPECT_THAT(opened("none.po", entry("AT&T") + entry("file_name") + entry("~5 lines"))->texts(),
              ElementsAre("AT&T", "file_name", "~5 lines"));
}

TEST(PoFile, TheNamesOfTranslatorsAreLeftToThem) {
  EXPECT_THAT(opened("a.po",
                     "msgid \"translator-credits\"\nmsgstr \"\"\n\n"
                     "msgid \"translator_credits\"\nmsgstr \"\"\n\n"
                     "msgctxt \"NAME OF TRANSLATORS\"\nmsgid \"Your names\"\nmsgstr \"\"\n\n"
                     "msgctxt \"EMAIL OF TRANSLATORS\"\nmsgid \"Your emails\"\nmsgstr \"\"\n\n"
                     "msgid \"Your names\"\nmsgstr \"\"\n")
                  ->texts(),
              ElementsAre("Your names"));
}

TEST(PoFile, ATemplateBecomesUtf8) {
  const auto file = opened("a.pot",
                           "\uFEFFmsgid \"\"\nmsgstr \"Content-Type: text/plain; charset=CHARSET\\n\"\n\n"
                           "msgid \"Open\"\nmsgstr \"\"\n");
  EXPECT_THAT(file->with({"Öffnen"}), AllOf(StartsWith("\uFEFFmsgid"), HasSubstr("charset=UTF-8\\n\"")));
  EXPECT_THROW(opened("a.po", "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n"),
               std::runtime_error);
}

TEST(PoFile, DamageIsNamedWithItsLine) {
  try {
    opened("a.po", "msgid \"a\"\nmsgstr \"b\"\nnonsense\n");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.po:3: "));
  }
}

TEST(PluralForms, TheFormForOneIsThatOfTheExpression) {
  const auto forms = [](const std::string& rule) { return PluralForms("Plural-Forms: " + rule + "\n"); };
  EXPECT_EQ(forms("nplurals=2; plural=(n != 1);").singular(), 0U);
  EXPECT_EQ(forms("nplurals=2; plural=n>1;").singular(), 0U);
  EXPECT_EQ(forms("nplurals=4; plural=(n%100==1 ? 1 : n%100==2 ? 2 : n%100==3 || n%100==4 ? 3 : 0);").singular(), 1U);
  EXPECT_EQ(forms("nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : 3;").singular(), 1U);
  EXPECT_EQ(forms("nplurals=1; plural=0;").count(), 1U);
  EXPECT_EQ(forms("nplurals=INTEGER; plural=EXPRESSION;").count(), 0U);
  EXPECT_EQ(forms("nplurals=2; plural=n/0;").count(), 0U);
  EXPECT_EQ(forms("nplurals=2; plural=" + std::string(100000, '(') + ";").count(), 0U);
}

}  // namespace
}  // namespace transmute::testing
