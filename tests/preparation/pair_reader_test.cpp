// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/preparation/pair_reader.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/folder_fixture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::TemporaryFolder;
using testing::write_text;
using APairReader = testing::InFolder;

constexpr const char* kTmxBegin =
    "<?xml version=\"1.0\"?>\n<!DOCTYPE tmx SYSTEM \"tmx14.dtd\">\n<tmx version=\"1.4\">"
    "<header srclang=\"en-US\" note=\"a > b\"/><body>\n";
constexpr const char* kTmxEnd = "</body></tmx>\n";

struct ReadPairs {
  std::vector<std::string> pairs;  // source|target
  int64_t untranslated = 0, other_languages = 0;
  std::vector<std::string> notes;
};

ReadPairs read_all(const PairInput& input, const PairReaderOptions& options = {}) {
  ReadPairs all;
  const auto reader = open_pairs(input, options);
  for (TextPair pair; reader->next(pair);) all.pairs.push_back(pair.source + "|" + pair.target);
  all.untranslated = reader->untranslated();
  all.other_languages = reader->other_languages();
  all.notes = reader->notes();
  return all;
}

ReadPairs read_file(const std::string& name, const std::string& content, const PairReaderOptions& options = {}) {
  const TemporaryFolder folder;
  write_text(folder / name, content);
  return read_all({folder / name, ""}, options);
}

std::string failure_of(const std::string& name, const std::string& content, const PairReaderOptions& options = {}) {
  return message_of<std::runtime_error>([&] { read_file(name, content, options); });
}

std::string tmx_unit(const std::string& english, const std::string& german) {
  return "<tu><tuv xml:lang=\"de-DE\"><seg>" + german + "</seg></tuv><tuv xml:lang=\"en-US\"><seg>" + english +
         "</seg></tuv></tu>\n";
}

TEST_F(APairReader, ReadsTwoFilesLineByLine) {
  write_text(folder_ / "a.en", "one\ntwo\n");
  write_text(folder_ / "a.de", "eins\nzwei");
  EXPECT_THAT(read_all({folder_ / "a.en", folder_ / "a.de"}).pairs, ElementsAre("one|eins", "two|zwei"));
  write_text(folder_ / "a.de", "eins\n");
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                read_all({folder_ / "a.en", folder_ / "a.de"});
              }),
              AllOf(HasSubstr("a.en has more lines than"), HasSubstr("after line 1")));
}

std::string repeated(int times, const std::string& line) {
  std::string lines;
  for (int i = 0; i < times; ++i) lines += line;
  return lines;
}

TEST_F(APairReader, RepairsAFewLinesThatAreNotUtf8AndNotesThem) {
  write_text(folder_ / "a.en", repeated(200, "two\n"));
  write_text(folder_ / "a.de", repeated(198, "zwei\n") + "z\xffwei\nzw\xfc\n");
  const ReadPairs all = read_all({folder_ / "a.en", folder_ / "a.de"});
  ASSERT_EQ(all.pairs.size(), 200);
  EXPECT_EQ(all.pairs[198], "two|z\uFFFDwei");
  EXPECT_EQ(all.pairs[199], "two|zw\uFFFD");
  EXPECT_THAT(all.notes,
              ElementsAre(AllOf(HasSubstr("a.de:199: not valid UTF-8 (byte 2 of the line, 0xff)"),
                                HasSubstr("iconv -f windows-1252"), HasSubstr("lines that are not UTF-8: 2 of 200"))));
  const ReadPairs columns = read_file("a.tsv", "a\t\xe4\n" + repeated(99, "two\tzwei\n"));
  EXPECT_EQ(columns.pairs.front(), "a|\uFFFD");
  EXPECT_THAT(columns.notes, ElementsAre(HasSubstr("a.tsv:1: not valid UTF-8")));
  EXPECT_THAT(read_file("a.tsv", "lost\tverl\uFFFDren\n").notes, IsEmpty()) << "U+FFFD itself is UTF-8";
}

TEST_F(APairReader, RefusesTextInAnotherEncoding) {
  EXPECT_THAT(failure_of("a.tsv", repeated(98, "two\tzwei\n") + "a\t\xe4\n"),
              AllOf(HasSubstr("a.tsv:99: not valid UTF-8"), HasSubstr("iconv -f windows-1252"), HasSubstr("1 of 99")));
  write_text(folder_ / "a.en", "men\nwomen\n");
  write_text(folder_ / "a.de", "M\xe4nner\nFrauen\n");
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                read_all({folder_ / "a.en", folder_ / "a.de"});
              }),
              AllOf(HasSubstr("a.de:1: not valid UTF-8"), HasSubstr("1 of 2")));
  EXPECT_THAT(failure_of("a.tsv", std::string("a\0\t\0\xe4\0\n\0", 8)), HasSubstr("a.tsv:1: is UTF-16"));
}

TEST_F(APairReader, ReadsColumns) {
  EXPECT_THAT(read_file("a.tsv", "one\teins\tx\ntwo\n").pairs, ElementsAre("one|eins", "two|"));
  PairReaderOptions options;
  options.source_column = 2;
  options.target_column = 0;
  EXPECT_THAT(read_file("a.tsv", "eins\t7\tone\n", options).pairs, ElementsAre("one|eins"));
  EXPECT_THAT(failure_of("a.tsv", "eins\tone\nzwei\n", options),
              HasSubstr("a.tsv: has no column 3; its lines have 2 columns. --columns"));
  EXPECT_THAT(read_file("a.tsv", "", options).pairs, IsEmpty());
}

TEST_F(APairReader, KnowsNoOtherEnding) {
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_file("a.docx", ""); }), HasSubstr(".tmx"));
}

TEST(Tmx, HasTheLanguageOfItsHeaderFirst) {
  const std::string content = kTmxBegin + tmx_unit("Tom &amp; Ann", "Tom und  Ann") + kTmxEnd;
  EXPECT_THAT(read_file("a.tmx", content).pairs, ElementsAre("Tom & Ann|Tom und Ann"));
  PairReaderOptions options;
  options.source_language = "de";
  EXPECT_THAT(read_file("a.tmx", content, options).pairs, ElementsAre("Tom und Ann|Tom & Ann"));
  options.target_language = "en-GB";
  EXPECT_THAT(failure_of("a.tmx", content, options),
              AllOf(HasSubstr("no unit has both de and en-GB"), HasSubstr("de-DE, en-US")));
}

std::string tmx_texts(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::string unit = "<tu>";
  for (const auto& [language, text] : texts)
    unit.append("<tuv xml:lang=\"").append(language).append("\"><seg>").append(text).append("</seg></tuv>");
  return unit + "</tu>\n";
}

TEST(Tmx, RegionsDoNotCountUnlessLanguagesDifferInNothingElse) {
  const std::string mixed = kTmxBegin + tmx_texts({{"DE", "a"}, {"EN-US", "b"}}) +
                            tmx_texts({{"en-GB", "c"}, {"de-DE", "d"}}) + tmx_texts({{"en", "e"}, {"de_AT", "f"}}) +
                            tmx_texts({{"en-US", "g"}, {"fr", "h"}}) + tmx_texts({{"en-US", "i"}}) + kTmxEnd;
  PairReaderOptions english;
  english.source_language = "en";
  for (const PairReaderOptions& options : {PairReaderOptions(), english}) {
    const ReadPairs all = read_file("a.tmx", mixed, options);
    EXPECT_THAT(all.pairs, ElementsAre("b|a", "c|d", "e|f"));
    EXPECT_EQ(all.other_languages, 1);
    EXPECT_EQ(all.untranslated, 1);
  }
  english.source_language = "en-GB";
  EXPECT_THAT(read_file("a.tmx", mixed, english).pairs, ElementsAre("c|d"));
  const std::string varieties = kTmxBegin + tmx_texts({{"en-GB", "colour"}, {"EN-US", "color"}}) +
                                tmx_texts({{"en-us", "gray"}, {"en-GB", "grey"}}) + kTmxEnd;
  EXPECT_THAT(read_file("a.tmx", varieties).pairs, ElementsAre("color|colour", "gray|grey"));
}

TEST(Tmx, ScriptsCountAndSoDoChineseRegions) {
  const auto pairs_of = [](const char* first, const char* second, const char* third, const PairReaderOptions& options) {
    return read_file("a.tmx",
                     kTmxBegin + tmx_texts({{"en-US", "a"}, {first, "b"}}) + tmx_texts({{"en", "c"}, {second, "d"}}) +
                         tmx_texts({{"en", "e"}, {third, "f"}}) + kTmxEnd,
                     options)
        .pairs;
  };
  PairReaderOptions given;
  EXPECT_THAT(pairs_of("zh-CN", "zh-TW", "zh_Hans", given), ElementsAre("a|b", "e|f"));
  EXPECT_THAT(pairs_of("zh-HK", "zh-SG", "zh-Hant-TW", given), ElementsAre("a|b", "e|f"));
  EXPECT_THAT(pairs_of("sr-Latn-RS", "sr-Cyrl", "SR-latn", given), ElementsAre("a|b", "e|f"));
  EXPECT_THAT(pairs_of("de-1996", "de-1901", "de", given), ElementsAre("a|b", "c|d", "e|f"));
  given.target_language = "zh";
  EXPECT_THAT(pairs_of("zh-CN", "zh-TW", "zh", given), ElementsAre("a|b", "c|d", "e|f"));
  given.target_language = "zh-TW";
  EXPECT_THAT(pairs_of("zh-CN", "zh-TW", "zh", given), ElementsAre("c|d"));
}

TEST(Tmx, AsksWhichOfSeveralVarietiesInOneUnit) {
  const std::string two = kTmxBegin + tmx_texts({{"en", "a"}, {"pt", "b"}});
  const auto refusal_of = [&](const std::string& unit, const PairReaderOptions& options = {}) {
    return message_of<std::invalid_argument>([&] { read_file("a.tmx", two + unit + kTmxEnd, options); });
  };
  const std::string three = tmx_texts({{"en", "c"}, {"pt-BR", "d"}, {"pt-PT", "e"}});
  PairReaderOptions given;
  given.source_language = "en";
  for (const PairReaderOptions& options : {PairReaderOptions(), given})
    EXPECT_THAT(refusal_of(three, options), AllOf(HasSubstr("en, pt-BR, pt-PT"), HasSubstr("--target-language")));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                read_file("a.tmx", kTmxBegin + tmx_texts({{"en", "a"}, {"zh-CN", "b"}, {"zh-TW", "c"}}) + kTmxEnd);
              }),
              HasSubstr("en, zh-CN, zh-TW"));
  given.target_language = "pt-PT";
  EXPECT_THAT(read_file("a.tmx", two + three + kTmxEnd, given).pairs, ElementsAre("c|e"));
}

TEST(Tmx, NamesItsLanguagesWhereNoUnitHasTheTwo) {
  const std::string content = kTmxBegin + tmx_unit("one", "eins") + kTmxEnd;
  PairReaderOptions options;
  options.source_language = "fr";
  options.target_language = "es";
  EXPECT_THAT(failure_of("a.tmx", content, options),
              AllOf(HasSubstr("no unit has both fr and es"), HasSubstr("languages of the file are: de-DE, en-US.")));
  EXPECT_THAT(failure_of("a.tmx", kTmxBegin + tmx_texts({{"en", "a"}, {"en", "b"}}) + kTmxEnd),
              AllOf(HasSubstr("no unit has two languages; "), HasSubstr("are: en.")));
  EXPECT_THAT(failure_of("a.tmx", kTmxBegin + tmx_texts({{"en", "a"}, {"", "b"}}) + kTmxEnd),
              HasSubstr("are: (none), en."));
  options.source_language = "";
  EXPECT_THAT(failure_of("a.tmx", content, options), HasSubstr("no unit has both another language and es;"));
}

TEST(Tmx, LeavesOutNativeCodesAndComments) {
  const std::string content = kTmxBegin + ("<!-- " + tmx_unit("no", "nein") + " -->") +
                              tmx_unit("a <bpt i=\"1\">&lt;b&gt;</bpt><hi>bold</hi><ept i=\"1\">&lt;/b&gt;</ept> word",
                                       "<![CDATA[ein <fettes>]]>\n  Wort") +
                              kTmxEnd;
  EXPECT_THAT(read_file("a.tmx", content).pairs, ElementsAre("a bold word|ein <fettes> Wort"));
  std::string commented = tmx_unit("a", "<![CDATA[</tu>]]>b");
  commented.insert(commented.find('>') + 1, "<!-- </tu> -->");
  EXPECT_THAT(read_file("b.tmx", kTmxBegin + commented + kTmxEnd).pairs, ElementsAre("a|</tu>b"));
}

TEST(Tmx, AsksWhichOfSeveralLanguages) {
  const std::string unit =
      "<tu><tuv lang=\"en\"><seg>a</seg></tuv><tuv lang=\"de\"><seg>b</seg></tuv><tuv "
      "lang=\"fr\"><seg>c</seg></tuv></tu>";
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_file("a.tmx", kTmxBegin + unit + kTmxEnd); }),
              AllOf(HasSubstr("en, de, fr"), HasSubstr("--source-language")));
  PairReaderOptions options;
  options.source_language = "fr";
  options.target_language = "en";
  EXPECT_THAT(read_file("a.tmx", kTmxBegin + unit + kTmxEnd, options).pairs, ElementsAre("c|a"));
}

TEST(Tmx, OfOneLongLineIsReadUnitByUnit) {
  std::string content = kTmxBegin;
  for (int i = 0; i < 20000; ++i)
    content += "<tu><tuv xml:lang=\"en-US\"><seg>number " + std::to_string(i) +
               "</seg></tuv><tuv xml:lang=\"de\"><seg>Nummer " + std::to_string(i) + "</seg></tuv></tu>";
  const ReadPairs all = read_file("a.tmx", content + kTmxEnd);
  ASSERT_EQ(all.pairs.size(), 20000);
  EXPECT_EQ(all.pairs.back(), "number 19999|Nummer 19999");
}

TEST(Tmx, RefusesWhatIsHostileOrDamaged) {
  const std::string unit = tmx_unit("one", "eins");
  EXPECT_THAT(failure_of("a.tmx", kTmxBegin + unit), HasSubstr("it ends before </tmx>"));
  EXPECT_THAT(failure_of("a.tmx", kTmxBegin + unit.substr(0, 40)), HasSubstr("ends within a unit"));
  EXPECT_THAT(failure_of("a.tmx", "<tmx><body><tu><tuv></tu></body></tmx>"), HasSubstr("unit 1: damaged XML"));
  EXPECT_THAT(failure_of("a.tmx", "<!DOCTYPE tmx [<!ENTITY a \"aaaaaaaaaa\">]><tmx></tmx>"), HasSubstr("declares"));
  EXPECT_THAT(failure_of("a.tmx", "<html></html>"), HasSubstr("<html>, not <tmx>"));
  EXPECT_THAT(failure_of("a.tmx", "just text"), HasSubstr("no element <tmx>"));
  EXPECT_THAT(failure_of("a.tmx", ""), HasSubstr("no element <tmx>"));
  EXPECT_THAT(failure_of("a.tmx", std::string("<\0t\0m\0x\0>\0", 10)), HasSubstr("UTF-16"));
  EXPECT_THAT(failure_of("a.tmx", kTmxBegin + ("<tu>" + std::string(9 << 20, 'a'))), HasSubstr("8 MiB"));
  EXPECT_THAT(failure_of("a.tmx", "<tmx><body><tu><seg>\xff</seg></tu></body></tmx>"), HasSubstr("not UTF-8"));
}

TEST(Xliff, Version1HasItsFinishedTranslations) {
  const std::string content =
      "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"de\"><body>"
      "<trans-unit id=\"1\"><source>Open <g id=\"1\">file</g><x id=\"2\"/></source><target>Datei öffnen</target>"
      "<alt-trans><target>Falsch</target></alt-trans></trans-unit>"
      "<trans-unit id=\"2\"><source>Close</source><target state=\"needs-translation\">Close</target></trans-unit>"
      "<trans-unit id=\"3\"><source>Save</source></trans-unit></body></file></xliff>";
  const ReadPairs all = read_file("a.xlf", content);
  EXPECT_THAT(all.pairs, ElementsAre("Open file|Datei öffnen"));
  EXPECT_EQ(all.untranslated, 2);
  PairReaderOptions reversed;
  reversed.source_language = "de";
  EXPECT_THAT(read_file("a.xlf", content, reversed).pairs, ElementsAre("Datei öffnen|Open file"));
  PairReaderOptions other;
  other.source_language = "fr";
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_file("a.xlf", content, other); }), HasSubstr("en into de"));
}

TEST(Xliff, Version2HasItsSegments) {
  const std::string content =
      "<xliff version=\"2.0\" srcLang=\"en\" trgLang=\"de\"><file id=\"f\"><unit id=\"u\">"
      "<segment><source>One.</source><target>Eins.</target></segment>"
      "<segment state=\"initial\"><source>Two.</source><target>Two.</target></segment>"
      "<segment><source>Three.</source><target>Drei.</target></segment></unit></file></xliff>";
  EXPECT_THAT(read_file("a.xliff", content).pairs, ElementsAre("One.|Eins.", "Three.|Drei."));
}

TEST(Catalog, HasItsFinishedTranslationsAndPlurals) {
  const std::string content =
      "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n"
      "\"Plural-Forms: nplurals=2; plural=n != 1;\\n\"\n\n"
      "msgid \"Open\"\nmsgstr \"Öffnen\"\n\n#, fuzzy\nmsgid \"Close\"\nmsgstr \"Klose\"\n\n"
      "msgid \"Save\"\nmsgstr \"\"\n\n"
      "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"%d Datei\"\nmsgstr[1] \"%d Dateien\"\n\n"
      "#~ msgid \"Old\"\n#~ msgstr \"Alt\"\n\nmsgid \"two\\n\"\n\"lines\"\nmsgstr \"zwei\\tZeilen\"\n";
  const ReadPairs all = read_file("a.po", content);
  EXPECT_THAT(all.pairs,
              ElementsAre("Open|Öffnen", "%d file|%d Datei", "%d files|%d Dateien", "two lines|zwei Zeilen"));
  EXPECT_EQ(all.untranslated, 2);
  EXPECT_THAT(failure_of("a.po",
                         "msgid \"Open\"\nmsgstr \"\xd6"
                         "ffnen\"\n"),
              HasSubstr("msgconv"));
}

PairReaderOptions from_to(const std::string& source, const std::string& target) {
  PairReaderOptions options;
  options.source_language = source;
  options.target_language = target;
  return options;
}

TEST_F(APairReader, FindsTheTwoTextsOfAnArchive) {
  testing::write_zip(folder_ / "opus.zip", {{"README", "See opus.nlpl.eu."},
                                            {"Books.de-en.de", "eins\nzwei\n"},
                                            {"Books.de-en.en", "one\ntwo\n"},
                                            {"Books.de-en.xml", "<linkGrp/>"}});
  const PairInput archive{folder_ / "opus.zip", ""};
  const std::vector<std::string> english_first{"one|eins", "two|zwei"};
  EXPECT_EQ(read_all(archive, from_to("en", "de")).pairs, english_first);
  EXPECT_EQ(read_all(archive, from_to("en", "")).pairs, english_first);
  EXPECT_EQ(read_all(archive, from_to("", "de")).pairs, english_first);
  EXPECT_THAT(read_all(archive, from_to("de", "en")).pairs, ElementsAre("eins|one", "zwei|two"));
  for (const PairReaderOptions& options : {PairReaderOptions(), from_to("en", "fr")})
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_all(archive, options); }),
                AllOf(HasSubstr("Books.de-en.de, Books.de-en.en"), HasSubstr("--source-language")));
}

TEST_F(APairReader, FindsTheOnlyFileOfPairsOfAnArchive) {
  testing::write_zip(folder_ / "a.zip",
                     {{"memory.tmx", kTmxBegin + tmx_unit("one", "eins") + kTmxEnd}, {"LICENSE", ""}});
  EXPECT_THAT(read_all({folder_ / "a.zip", ""}).pairs, ElementsAre("one|eins"));
  testing::write_zip(folder_ / "b.tsv.zip", {{"b.tsv", "one\teins\n"}});
  EXPECT_THAT(read_all({folder_ / "b.tsv.zip", ""}).pairs, ElementsAre("one|eins"));
  testing::write_zip(folder_ / "c.zip", {{"notes.txt", "one"}});
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                read_all({folder_ / "c.zip", ""});
              }),
              HasSubstr("c.zip: contains no pairs"));
}

}  // namespace
}  // namespace transmute
