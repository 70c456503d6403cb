// SPDX-License-Identifier: Apache-2.0
// JSON, YAML, properties and the catalogs in XML.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/message.h>
#include <transmute/tests/documents/file_support.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/tests/support/errors.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string refusal(const std::string& name, const std::string& content) {
  return message_of<std::runtime_error>([&] { opened(name, content); });
}

TEST(Message, EachCaseOfAPluralIsATextOfItsOwn) {
  const Message message("You have {n, plural, =0 {no files} one {# file} other {# files}} in {folder}.");
  ASSERT_THAT(message.texts(), ElementsAre("You have no files in {folder}.", "You have <var-x0/> file in {folder}.",
                                           "You have <var-x0/> files in {folder}."));
  EXPECT_EQ(
      message.with({"In {folder} ist nichts.", "In {folder} ist <var-x0/> Datei.", "D'accord: <var-x0/>, {folder}"}),
      "{n, plural, =0 {In {folder} ist nichts.} one {In {folder} ist # Datei.} "
      "other {D''accord: #, {folder}}}");
}

TEST(Message, SelectionsWithinOthersAreExpanded) {
  const Message nested("{g, select, f {Her {n, plural, one {dog} other {dogs}}} other {Their dogs}}");
  EXPECT_THAT(nested.texts(), ElementsAre("Her dog", "Her dogs", "Their dogs"));
  EXPECT_EQ(nested.with(nested.texts()),
            "{g, select, f {{n, plural, one {Her dog} other {Her dogs}}} other {Their dogs}}");
}

TEST(Message, EachCaseOfAPluralOfMediaWikiIsATextOfItsOwn) {
  const Message message(
      "$1 of {{PLURAL:$1|0=no|the}} {{PLURAL:$2|[[a|page]]|$2 pages}} {{PLURAL:$2|is|are}} ''new'' #\nBy "
      "{{gender:$3|him of $1|her}}");
  ASSERT_THAT(message.texts(),
              ElementsAre("<var-x0/> of no <x1>page</x1> is ''new'' #", "<var-x0/> of no <var-x1/> pages are ''new'' #",
                          "<var-x0/> of the <x1>page</x1> is ''new'' #",
                          "<var-x0/> of the <var-x1/> pages are ''new'' #", "By him of <var-x0/>", "By her"));
  EXPECT_EQ(message.with(message.texts()),
            "{{PLURAL:$1|0={{PLURAL:$2|$1 of no [[a|page]] is ''new'' #|$1 of no $2 pages are ''new'' #}}|"
            "{{PLURAL:$2|$1 of the [[a|page]] is ''new'' #|$1 of the $2 pages are ''new'' #}}}}\n"
            "{{gender:$3|By him of $1|By her}}");
  for (const char* text : {"a | b {{PLURAL:$1|dog|dogs}}", "{{PLURAL:$1}} a dog", "a dog {{PLURAL:$1|dog",
                           "a {{PLURAL:$1|dog|[dogs}} here", "a dog {{GENDER:$1|b}ö}"}) {
    const Message other(text);
    EXPECT_EQ(other.texts().size(), 1U) << text;
    EXPECT_EQ(other.with(other.texts()), text);
  }
  EXPECT_EQ(Message("The {{PLURAL:$1|file|files\n}} of {{PLURAL:$2|one|all}} ran").texts().size(), 4U);
}

TEST(Message, WordsInAngleBracketsAreTexts) {
  const Message message("<All files>");
  EXPECT_EQ(message.texts(), std::vector<std::string>{"All files"});
  EXPECT_EQ(message.with({"Alle"}), "<Alle>");
  for (const std::string text : {"<strong>", "<title>", "<td>", "<hr>", "<h3>", "<fileName>", "<a href=\"b\">"})
    EXPECT_EQ(Message(text).with(Message(text).texts()), text);
  EXPECT_NE(Message("<title>").texts(), std::vector<std::string>{"title"});
}

TEST(Message, SelectionsThatAreRepeatedTakeTheSameCase) {
  const Message message(
      "{n, plural, one {# item} other {# items}} of {g, select, f {hers} other {theirs}} "
      "{n,plural,\n one{is} other{are}} hidden from {g, select, f {her} other {them}}");
  EXPECT_THAT(
      message.texts(),
      ElementsAre("<var-x0/> item of hers is hidden from her", "<var-x0/> item of theirs is hidden from them",
                  "<var-x0/> items of hers are hidden from her", "<var-x0/> items of theirs are hidden from them"));
  EXPECT_EQ(Message("{n, plural, one {# dog} other {# dogs}} {n, plural, one {(#)} other {(# in all)}}")
                .with({"<var-x0/> Hund", "<var-x0/> Hunde"}),
            "{n, plural, one {# Hund} other {# Hunde}}");
  const std::string first = "{n, plural, one {dog} other {dogs}} ";
  for (const char* other : {"{n, plural, =0 {no} other {cats}}", "{m, plural, one {cat} other {cats}}",
                            "{n, select, one {cat} other {cats}}", "{n, selectordinal, one {cat} other {cats}}"})
    EXPECT_EQ(Message(first + other).texts().size(), 4U) << other;
  EXPECT_EQ(Message(first + "{m, plural, one {cat} other {cats}} {n, plural, one {in #} other {in #}}").texts().size(),
            8U)
      << "the # is not the number of m";
}

TEST(Message, SelectionsThatAreNotExpandedStayWithTheirMessage) {
  const std::string plural = "{n, plural,\n one {dog}\n other {dogs}\n}";
  std::string five = "A house", cases = "{n, select,";
  for (const char name : {'a', 'b', 'c', 'd', 'e'}) five += std::string("\n{") + name + ", select, x {x} other {y}}";
  for (int i = 0; i <= 40; ++i) cases += " a" + std::to_string(i) + " {dog}";
  for (const std::string& text :
       {"Item #{i}: " + plural, "It is '{'#'}'\n" + plural, std::string("{n, plural,\n one {'{' dog}\n other {dogs}}"),
        "A house\n" + five, "A house\n" + cases + "}", std::string(10'000, 'a') + '\n' + plural}) {
    const Message message(text);
    EXPECT_TRUE(message.has_own_texts()) << text;
    EXPECT_THAT(message.texts(), IsEmpty()) << text;
    EXPECT_EQ(message.with({}), text);
  }
  const Message unfinished("Write {n, plural, ...} for that."), quoted("It is '{'#'}'\n{name}, {n, number}");
  EXPECT_FALSE(unfinished.has_own_texts() || quoted.has_own_texts());
  EXPECT_THAT(unfinished.texts(), ElementsAre("Write {n, plural, ...} for that."));
  EXPECT_THAT(quoted.texts(), ElementsAre("It is <var-x0/>\n{name}, {n, number}"));
  for (const std::string part : {"{", "{a,plural,", "{a, ", "'{' {a,select", "'{'", "__a", "__"}) {
    std::string text;
    while (text.size() < 1 << 20) text += part;
    EXPECT_LT(cpu_seconds_of([&] { EXPECT_TRUE(Message(text).texts().size() <= 1) << part; }), 2) << part;
  }
}

TEST(Message, ReferencesAndApostrophesOfArgumentsStay) {
  EXPECT_THAT(Message("See $t(more), @:link.to and $NAME$.").texts(),
              ElementsAre("See <var-x0/>, <var-x1/> and <var-x2/>."));
  EXPECT_THAT(Message("The __name__ of my__b__c, ____ and '{'id'}', '{' or '}'").texts(),
              ElementsAre("The <var-x0/> of my__b__c, ____ and <var-x1/>, <var-x2/> or <var-x3/>"));
  EXPECT_THAT(Message("See [%key:ui::common::more%] or [%key: that").texts(),
              ElementsAre("See <var-x0/> or [%key: that"));
  EXPECT_THAT(Message("[%key:ui::common::more%]").texts(), IsEmpty());
  EXPECT_THAT(Message("See <x>, </xx1>, $NAME$").texts(), ElementsAre("See <x>, </xx1>, <var-xxx0/>"));
  const Message java("It''s {0}", MessageSyntax::java);
  EXPECT_THAT(java.texts(), ElementsAre("It's {0}"));
  EXPECT_EQ(java.with({"L'un {0}"}), "L''un {0}");
  EXPECT_THAT(Message("It''s", MessageSyntax::java).texts(), ElementsAre("It''s"));
}

TEST(Message, ApostrophesThatAreDoubledInAMessageWithArgumentsStaySo) {
  const Message message("Add ''{ name }'' to {n, number}.");
  EXPECT_THAT(message.texts(), ElementsAre("Add '{ name }' to {n, number}."));
  EXPECT_EQ(message.with({"L'area '{ name }' in {n, number}."}), "L''area ''{ name }'' in {n, number}.");
  for (const std::string text : {"Add '{name}'.", "It's ''{name}''.", "'''Bold''' {name}", "''Add'' it", "''Add'' {",
                                 "''Add'' {{name}}", "''Add'' { it now }", "Add {name}", "Set {name} to '' here",
                                 "''Add'' {name} ('')", "''Add'' %{name}", "''Add'' ${name} and #{name}"}) {
    EXPECT_THAT(Message(text).texts(), ElementsAre(text));
    EXPECT_EQ(Message(text).with({"L'" + text}), "L'" + text);
  }
}

TEST(Message, ValuesThatAreNoLanguageStay) {
  for (const char* value : {"2024-01-01T00:00:00Z",
                            "2024-01-01 12:30:00 UTC",
                            "2024-01-01T00:00:00.000+01:00",
                            "YYYY-MM-DD HH:mm",
                            "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
                            "yyyyMMddHHmmss",
                            "d. MMMM 'de' y",
                            "EEE, MMM d, yyyy",
                            "h:mm a",
                            "hh:mm A",
                            "D [de] MMMM [de] YYYY",
                            "YYYY. MM. DD.",
                            "yyyy-MM-ddTHH:mm:ssZ",
                            "%d/%m/%Y",
                            "%B %-d, %Y %H:%M",
                            "rgba(255,0,0,0.5)",
                            "rgb(0 0 0 / 50%)",
                            "#FFAA00",
                            "#fff",
                            "var(--main)",
                            "SOME_CONSTANT",
                            "MAX_LENGTH",
                            "first_name",
                            "America/New_York",
                            "API_KEY=abc",
                            "firstName",
                            "MainWindow",
                            "com.example.app.MainWindow",
                            "user.profile.title",
                            "README.md",
                            "application/json",
                            "image/svg+xml",
                            "text/html",
                            "v1.2.3",
                            "1.2.3-beta.1",
                            "v2",
                            "sha256",
                            "B2B",
                            "PT1H30M",
                            "550e8400-e29b-abcd-a716-446655440000",
                            "16px",
                            "en-US",
                            "./bin/run",
                            "$HOME/.config",
                            " first_name\n"}) {
    const Message message(value);
    ASSERT_THAT(message.texts(), IsEmpty()) << value;
    EXPECT_EQ(message.with({}), value);
  }
  for (const std::string text : {"Hello",
                                 "OK",
                                 "TODO",
                                 "and/or",
                                 "Yes/No",
                                 "he/she",
                                 "day/month/year",
                                 "Audio/Video",
                                 "text/image",
                                 "Done.Next",
                                 "e.g.",
                                 "U.S.A",
                                 "z.B",
                                 "p.m.",
                                 "1st",
                                 "90s",
                                 "mid-1990s",
                                 "3D-printed",
                                 "MP3-Dateien",
                                 "Step1",
                                 "LehrerInnen",
                                 "add",
                                 "Hmm",
                                 "Mmm",
                                 "DDT",
                                 "mm",
                                 "a.m.",
                                 "well-known",
                                 "file(s)",
                                 "#add",
                                 "_Hello_",
                                 "Rock'n'Roll",
                                 "First name",
                                 "first_name is required.",
                                 "The file config.json is missing",
                                 "2.5-inch",
                                 "12:30 Uhr",
                                 "#1 choice",
                                 "Version v1.2.3",
                                 "a",
                                 "Café",
                                 "日本語",
                                 "{name}s"}) {
    EXPECT_THAT(Message(text).texts(), ElementsAre(text));
  }
}

TEST(JsonFile, StringsThatAreValuesAreTranslated) {
  const std::string catalog =
      "{\r\n \"Menu\" : {\"open\":\"Open \\\"{name}\\\"\", \"n\": [1.5e3, null, true, \"a\\tb\"]},\"e\":\"\"}\n";
  const auto file = opened("en.json", catalog);
  ASSERT_THAT(file->texts(), ElementsAre("Open \"{name}\"", "a\tb"));
  EXPECT_EQ(file->with(file->texts()), catalog);
  EXPECT_EQ(
      file->with({"{name} \"öffnen\"", "a\tb"}),
      "{\r\n \"Menu\" : {\"open\":\"{name} \\\"öffnen\\\"\", \"n\": [1.5e3, null, true, \"a\\tb\"]},\"e\":\"\"}\n");
}

TEST(JsonFile, AsciiStaysAsciiAndHalvesOfCharactersStay) {
  EXPECT_EQ(opened("a.json", R"(["\u00fcber", "\ud83d\ude00 ok", "\ud83d x"])")->with({"über 😀", "x"}),
            R"(["\u00fcber \ud83d\ude00", "x", "\ud83d x"])");
}

TEST(JsonFile, CatalogsOfBrowserExtensionsAndFlutterKeepTheirRemarks) {
  EXPECT_THAT(opened("messages.json", R"({"a": {"description": "who", "message": "Hi $NAME$",
                                       "placeholders": {"name": {"content": "$1", "example": "Bob"}}}})")
                  ->texts(),
              ElementsAre("Hi <var-x0/>"));
  EXPECT_THAT(opened("messages.json", R"({"a": {"message": "A cat", "description": "who"}})")->texts(),
              ElementsAre("A cat"));
  EXPECT_THAT(opened("app_en.arb", R"({"@@locale": "en", "hi": "Hi", "@hi": {"description": "a greeting"}})")->texts(),
              ElementsAre("Hi"));
}

TEST(JsonFile, ArgumentsAndLinksOfWikisStay) {
  const std::string catalog =
      "[\"$1 by $2 for $1.50, US$1\", \"A prize of $2\", \"[[$1]] and [[User:$2|$2]] moved to [[Help:A|the "
      "help]]\", "
      "\"See [$1 a page] (1)\", \"{{int:ago|<b>$1</b>}} ago\", \"[a] and [[1, 2], [3]]\"]";
  const auto file = opened("en.json", catalog);
  EXPECT_THAT(file->texts(), ElementsAre("<var-x0/> by <var-x1/> for $1.50, US$1", "A prize of $2",
                                         "<var-x0/> and <var-x1/> moved to <x2>the help</x2>",
                                         "See <x0>a page</x0> (1)", "<var-x0/> ago", "[a] and [[1, 2], [3]]"));
  EXPECT_EQ(file->with(file->texts()), catalog);
}

TEST(JsonFile, DamageIsNamedWithItsLineAndDepthIsBounded) {
  EXPECT_THAT(refusal("a.json", "{\"a\":\n // no\n1}"), HasSubstr("a.json:2: damaged JSON"));
  EXPECT_THAT(refusal("a.json", "[\"a\" \"b\"]"), HasSubstr("neither ',' nor ']'"));
  EXPECT_THAT(refusal("a.json", std::string(1000000, '[')), HasSubstr("more than 500 deep"));
}

TEST(YamlFile, ScalarsKeepTheirStyle) {
  const std::string catalog =
      "# a comment\nen:\n  plain: Open the door # why\n  'quoted': 'It''s open'\n  \"double\": \"One\\ntwo\"\n"
      "  anchored: &x Some text\n  again: *x\n  flow: [one dog, 'a cat']\n  yes: true\n  symbol: :year\n"
      "  block: |-\n    First line\n\n    second line\n  folded: >\n    Folded\n    text\n\n    here\n  last: !ruby/x "
      "no\n";
  const auto file = opened("en.yml", catalog);
  ASSERT_THAT(file->texts(), ElementsAre("Open the door", "It's open", "One\ntwo", "Some text", "one dog", "a cat",
                                         "First line\n\nsecond line", "Folded text\nhere"));
  EXPECT_EQ(file->with(file->texts()), catalog);
  EXPECT_EQ(file->with({"Tür: auf", "Da's", "Eins\n\"zwei\"", "no", "ein Hund, jung", "eine Katze", "Erste\n\nzweite",
                        "Gefaltet\nhier"}),
            "# a comment\nen:\n  plain: 'Tür: auf' # why\n  'quoted': 'Da''s'\n  \"double\": \"Eins\\n\\\"zwei\\\"\"\n"
            "  anchored: &x 'no'\n  again: *x\n  flow: ['ein Hund, jung', 'eine Katze']\n  yes: true\n  symbol: :year\n"
            "  block: |-\n    Erste\n\n    zweite\n  folded: >\n    Gefaltet\n\n    hier\n  last: !ruby/x no\n");
}

TEST(YamlFile, TextThatWouldBeAnotherValueIsQuoted) {
  const auto file = opened("a.yml", "a: Word\n");
  for (const std::string value : {"No", ".inf", "-.INF", ".NaN", "<<", "0x1F", "0o17", "-0b10", "1_000", "1e3",
                                  "12:30:45", "2025-03-03", "2001-12-14T21:59:43.10Z", "2001-12-14 21:59:43 +5"}) {
    EXPECT_EQ(file->with({value}), "a: '" + value + "'\n");
    EXPECT_THAT(opened("a.yml", "a: " + value + "\n")->texts(), IsEmpty()) << value;
  }
  for (const std::string text : {"0x1G", ".info", "3 e 5", "2025 - 3", "<b>", "Yes no", "y n"})
    EXPECT_EQ(file->with({text}), "a: " + text + "\n");
}

TEST(YamlFile, DamageIsNamedAndAliasesAreNotExpanded) {
  EXPECT_THAT(refusal("a.yml", "a: [b\n"), HasSubstr("a.yml:2:1: not valid YAML"));
  EXPECT_THAT(refusal("a.yml", ",a"), HasSubstr("not valid YAML"));
  EXPECT_THAT(refusal("a.yml", std::string(100000, '[')), HasSubstr("not valid YAML"));
  std::string bomb = "a0: &a0 word\n";
  for (int i = 1; i < 40; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += "*a" + std::to_string(i - 1) + ", ";
    bomb += "*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_THAT(opened("a.yml", bomb)->texts(), ElementsAre("word"));
}

TEST(PropertiesFile, EscapesContinuationsAndArguments) {
  const std::string file_text =
      "# remark\\\nopen = Open \\\n    the file\n! another\nmessage.a:It''s {0}\\n\nkey\\ with\\=space   "
      "Value\\u00e4\nempty=\n";
  const auto file = opened("en.properties", file_text);
  ASSERT_THAT(file->texts(), ElementsAre("Open the file", "It's {0}\n", "Valueä"));
  EXPECT_EQ(file->with(file->texts()), file_text);
  EXPECT_EQ(file->with({"Datei öffnen", "So'n {0}\n", "Wert 😀"}),
            "# remark\\\nopen = Datei \\u00f6ffnen\n! another\nmessage.a:So''n {0}\\n\n"
            "key\\ with\\=space   Wert \\ud83d\\ude00\nempty=\n");
}

TEST(Catalogs, AcceleratorsWithinWordsComeBackOnce) {
  const std::string properties = "a=&Open\nb=Into fo&lder:\nc=R&D\nd=C&ut {0}\ne=&Save";
  const auto file = opened("a.properties", properties);
  ASSERT_THAT(file->texts(), ElementsAre("<accelerator/>Open", "Into <accelerator/>folder:", "R&D",
                                         "<accelerator/>Cut {0}", "<accelerator/>Save"));
  EXPECT_EQ(file->with(file->texts()), properties);
  EXPECT_EQ(file->with({"Abrir", "Na <accelerator/>pasta:", "P&D", "<accelerator/>{0} cortado", "Salvar"}),
            "a=&Abrir\nb=Na &pasta:\nc=P&D\nd={0} &cortado\ne=&Salvar");
  const std::string links = "a=_Open\nb=_Save\nc=<a href=\"{0}\" target=\"_blank\">More</a>\nd=At http://a.org/_b";
  EXPECT_THAT(opened("a.properties", links)->texts(),
              ElementsAre("<accelerator/>Open", "<accelerator/>Save", "<a href=\"{0}\" target=\"_blank\">More</a>",
                          "At http://a.org/_b"));
  const auto resx = opened("a.resx",
                           "<root><data name=\"a\"><value>&amp;Open</value></data>"
                           "<data name=\"s\"><value>&amp;Save</value></data>"
                           "<data name=\"b\"><value>Bro&amp;wse...</value></data></root>");
  ASSERT_THAT(resx->texts(), ElementsAre("<accelerator/>Open", "<accelerator/>Save", "<accelerator/>Browse..."));
  EXPECT_THAT(resx->with({"<accelerator/>Öffnen", "<accelerator/>Sichern", "<accelerator/>Suchen..."}),
              HasSubstr("<value>&amp;Suchen...</value>"));
}

TEST(PropertiesFile, BothHalvesOfACharacterFollowEachOther) {
  EXPECT_THAT(opened("a.properties", "a=\\ud83d\\\n  \\ude00 b\n")->texts(), ElementsAre("\U0001F600 b"));
  EXPECT_THAT(opened("a.properties", "a=\\ud83d\\n\\ude00 b\nc=\\ud83d b\nd=\\ude00 b\n")->texts(), IsEmpty());
}

TEST(PropertiesFile, TheEncodingStays) {
  EXPECT_EQ(opened("a.properties", "a=\xC3\xBC\nb=x")->with({"ä", "€"}), "a=ä\nb=€");
  const auto latin1 = opened("a.properties", "a=\xFC\nb=x");
  ASSERT_THAT(latin1->texts(), ElementsAre("ü", "x"));
  EXPECT_EQ(latin1->with({"ä", "€"}), "a=\xE4\nb=\\u20ac");
}

TEST(StringsFile, ValuesAreTranslated) {
  const std::string content =
      "/* A = \"b\"; */\n\"Hello %@\" = \"Hello %@,\\nyou say \\\"dog\\\"\";  // here\nCFBundleName=\"Dog \\U00e4\" ;\n"
      "\"same\";\nkey = word;\n\"id\" = \"com.example.app\";\n\"half\" = \"dog \\Ud83d\";";
  const auto file = opened("Localizable.strings", content);
  ASSERT_THAT(file->texts(), ElementsAre("Hello %@,\nyou say \"dog\"", "Dog ä"));
  EXPECT_EQ(file->with(file->texts()), content);
  EXPECT_THAT(
      file->with({"Olá %@,\nvocê diz \"cão\"", "Cão\\"}),
      AllOf(HasSubstr("\"Hello %@\" = \"Olá %@,\\nvocê diz \\\"cão\\\"\";  // here\nCFBundleName=\"Cão\\\\\" ;\n"),
            HasSubstr("\"same\";\nkey = word;\n")));
  for (const char* damaged : {"\"a\" = \"b\"", "\n\"a", "\na = ;", "\n{", "\na = \"b\\"})
    EXPECT_THAT(message_of<std::runtime_error>([&] { opened("a.strings", damaged); }), HasSubstr("a.strings:"));
  EXPECT_THAT(opened("a.strings", "// no line end")->texts(), IsEmpty());
}

TEST(ResxFile, TextsAreTranslatedAndOthersStay) {
  const std::string begin =
      "<?xml version=\"1.0\"?>\n<root><resheader name=\"version\"><value>2.0 a</value></resheader>\n"
      "<data name=\"icon\" type=\"X\"><value>a b</value></data>\n"
      "<data name=\"&gt;&gt;b.Name\" xml:space=\"preserve\"><value>button</value></data>\n";
  const auto file = opened("a.resx", begin +
                                         "<data name=\"a\"><value>A &lt;b&gt;{0}&lt;/b&gt; &amp; b</value>"
                                         "<comment>why</comment></data></root>");
  ASSERT_THAT(file->texts(), ElementsAre("A <b>{0}</b> & b"));
  EXPECT_EQ(file->with({"<b>{0}</b> & c"}), begin +
                                                "<data name=\"a\"><value>&lt;b&gt;{0}&lt;/b&gt; &amp; c</value>"
                                                "<comment>why</comment></data></root>");
}

TEST(AndroidFile, EscapesMarkupAndWhatIsNotTranslatable) {
  const auto file = opened("res/values/strings.xml",
                           "<resources>\n<string name=\"a\">It\\'s <b>red</b>\\n\n  or <xliff:g id=\"n\">%1$s</xliff:g>"
                           "</string>\n<string name=\"b\" translatable=\"false\">Key</string>\n"
                           "<plurals name=\"c\"><item quantity=\"one\">%d dog</item></plurals>\n"
                           "<string-array name=\"d\"><item>@string/a</item><item>\"One  two\"</item></string-array>\n"
                           "<string name=\"e\"><![CDATA[<i>Hi</i> & bye]]></string></resources>\n");
  ASSERT_THAT(file->texts(),
              ElementsAre("It's <x0>red</x0>\n or <var-x1/>", "%d dog", "<x0/>One  two<x1/>", "<i>Hi</i> & bye"));
  EXPECT_EQ(file->with({"<x0>Rot</x0>, \"so's\"\noder <var-x1/>", "?Hund", "<x0/>Eins<x1/>", "<i>Da</i> & fort"}),
            "<resources>\n<string name=\"a\"><b>Rot</b>, \\\"so\\'s\\\"\\noder <xliff:g id=\"n\">%1$s</xliff:g>"
            "</string>\n<string name=\"b\" translatable=\"false\">Key</string>\n"
            "<plurals name=\"c\"><item quantity=\"one\">\\?Hund</item></plurals>\n"
            "<string-array name=\"d\"><item>@string/a</item><item>\"Eins\"</item></string-array>\n"
            "<string name=\"e\"><![CDATA[<i>Da</i> & fort]]></string></resources>\n");
}

TEST(AndroidFile, SpacesAfterWhatIsKeptStay) {
  const std::string begin = "<resources><string name=\"a\">", end = "</string></resources>",
                    argument = "<xliff:g id=\"n\">%1$s</xliff:g>";
  const auto texts_of = [&](const std::string& text) { return opened("strings.xml", begin + text + end)->texts(); };
  const auto file = opened("strings.xml", begin + "Delete " + argument + " files?" + end);
  ASSERT_THAT(file->texts(), ElementsAre("Delete <var-x0/> files?"));
  EXPECT_EQ(file->with({"<var-x0/> Dateien löschen?"}), begin + argument + " Dateien löschen?" + end);
  EXPECT_THAT(texts_of(argument + "\n  of  " + argument + " files"), ElementsAre("<var-x0/> of <var-x1/> files"));
  EXPECT_THAT(texts_of("a \"red\" dog"), ElementsAre("a <x0/>red<x1/> dog"));
  EXPECT_THAT(texts_of("a <b> dog</b> runs"), ElementsAre("a <x0>dog</x0> runs"));  // as Android joins spaces
}

TEST(AndroidFile, ValuesThatAreNoLanguageStay) {
  EXPECT_THAT(opened("strings.xml",
                     "<resources><string name=\"a\">yyyy-MM-dd</string><string name=\"b\">app_name</string>"
                     "<string name=\"c\">Name</string></resources>")
                  ->texts(),
              ElementsAre("Name"));
}

TEST(AndroidFile, TagsKeepTheirQuotesAndLettersAreDecoded) {
  const std::string begin = "<resources><string name=\"a\">", end = "</string></resources>";
  for (const char* text :
       {"<![CDATA[a <font color=\"red\">bike</font>]]>", "a &lt;b title=\\\"c d\\\"&gt;bike&lt;/b&gt;"}) {
    const auto file = opened("strings.xml", begin + text + end);
    ASSERT_EQ(file->texts().size(), 1U);
    EXPECT_THAT(file->texts().front(), HasSubstr("\">bike</"));
    EXPECT_THAT(shouted(*file), HasSubstr("BIKE"));
    EXPECT_EQ(file->with({file->texts().front() + "!"}).find("\\\\"), std::string::npos);
  }
  const auto file = opened("strings.xml", begin + "doesn\\u2019t\\u00a0caf\\u00e9" + end);
  ASSERT_THAT(file->texts(), ElementsAre("doesn’t<x0/>café"));
  EXPECT_EQ(file->with({"n’a<x0/>thé"}), begin + "n’a\\u00a0thé" + end);
}

TEST(Xliff, Version1GetsTargetsWithAState) {
  const std::string head = "<xliff version=\"1.2\"><file><body>\n";
  const auto file = opened(
      "a.xlf",
      head +
          "  <trans-unit id=\"1\">\n    <source>A <g id=\"1\">red</g> dog<x id=\"2\"/></source>\n  </trans-unit>\n"
          "<trans-unit id=\"2\"><source>Done</source><target>Fertig</target></trans-unit>\n"
          "<trans-unit id=\"3\"><source>New</source><target state=\"new\">New</target></trans-unit>\n"
          "<group translate=\"no\"><trans-unit id=\"4\"><source>Kept</source></trans-unit></group>\n"
          "<trans-unit id=\"5\"><source>One. Two.</source><seg-source><mrk mtype=\"seg\" mid=\"1\">One.</mrk> "
          "<mrk mtype=\"seg\" mid=\"2\">Two.</mrk></seg-source><target/></trans-unit></body></file></xliff>");
  ASSERT_THAT(file->texts(), ElementsAre("A <x0>red</x0> dog<var-x1/>", "New", "One.", "Two."));
  const std::string state = " state=\"needs-review-translation\" state-qualifier=\"mt-suggestion\"";
  EXPECT_EQ(file->with({"Ein <x0>roter</x0> Hund<var-x1/>", "Neu & <gut>", "Eins.", "Zwei."}),
            head + "  <trans-unit id=\"1\">\n    <source>A <g id=\"1\">red</g> dog<x id=\"2\"/></source>\n    <target" +
                state +
                ">Ein <g id=\"1\">roter</g> Hund<x id=\"2\"/></target>\n  </trans-unit>\n"
                "<trans-unit id=\"2\"><source>Done</source><target>Fertig</target></trans-unit>\n"
                "<trans-unit id=\"3\"><source>New</source><target state-qualifier=\"mt-suggestion\" "
                "state=\"needs-review-translation\">Neu &amp; &lt;gut&gt;</target></trans-unit>\n"
                "<group translate=\"no\"><trans-unit id=\"4\"><source>Kept</source></trans-unit></group>\n"
                "<trans-unit id=\"5\"><source>One. Two.</source><seg-source><mrk mtype=\"seg\" mid=\"1\">One.</mrk> "
                "<mrk mtype=\"seg\" mid=\"2\">Two.</mrk></seg-source><target" +
                state +
                "><mrk mtype=\"seg\" mid=\"1\">Eins.</mrk> <mrk mtype=\"seg\" mid=\"2\">Zwei.</mrk></target>"
                "</trans-unit></body></file></xliff>");
}

TEST(Xliff, TheNamespaceTellsTheVersionWhereNothingElseDoes) {
  EXPECT_THAT(opened("a.xlf",
                     "<xliff xmlns=\"urn:oasis:names:tc:xliff:document:1.1\"><file><body><trans-unit>"
                     "<source>A dog</source></trans-unit></body></file></xliff>")
                  ->texts(),
              ElementsAre("A dog"));
}

TEST(Xliff, Version2GetsTargetsAndItsSegmentsTheState) {
  const std::string unit =
      "<xliff version=\"2.1\" srcLang=\"en\"><file id=\"f\"><unit id=\"u\">\n<segment>\n <source>Press <pc "
      "id=\"1\">OK</pc> "
      "<mrk id=\"m\" translate=\"no\">Foo</mrk></source>\n</segment><ignorable><source> x </source></ignorable>"
      "<segment state=\"translated\"><source>Two</source><target>Zwei</target></segment></unit></file></xliff>";
  const auto file = opened("a.xliff", unit);
  ASSERT_THAT(file->texts(), ElementsAre("Press <x0>OK</x0> <var-x1/>"));
  std::string expected = unit;
  expected.replace(expected.find("<segment>"), 9, "<segment state=\"translated\">");
  expected.insert(expected.find("</source>") + 9,
                  "\n <target><pc id=\"1\">OK</pc> <mrk id=\"m\" translate=\"no\">Foo</mrk></target>");
  EXPECT_EQ(file->with({"<x0>OK</x0> <var-x1/>"}), expected);
  EXPECT_THAT(opened("a.xliff", unit, {true})->texts(), ElementsAre("Press <x0>OK</x0> <var-x1/>", "Two"));
  EXPECT_THROW(opened("a.xliff", "<xliff version=\"3.0\"/>"), std::runtime_error);
}

// A unit of XLIFF 1.2, and its target.
std::string xliff_unit(const std::string& source) {
  return "<xliff version=\"1.2\"><file><body><trans-unit id=\"1\"><source>" + source +
         "</source></trans-unit></body></file></xliff>";
}
std::string target_in(const std::string& xliff) {
  const size_t begin = xliff.find('>', xliff.find("<target")) + 1;
  return xliff.substr(begin, xliff.find("</target>") - begin);
}

TEST(Xliff, TagsThatBeginAndEndAPairAreOne) {
  const auto texts_of = [](const std::string& source) { return opened("a.xlf", xliff_unit(source))->texts(); };
  EXPECT_THAT(texts_of("a <bpt id=\"1\">[b]</bpt>red<x id=\"3\"/> dog<ept id=\"1\">[/b]</ept>"),
              ElementsAre("a <x0>red<var-x1/> dog</x0>"));
  EXPECT_THAT(texts_of("<bx id=\"1\" rid=\"7\"/>a <g id=\"4\">red</g><ex id=\"2\" rid=\"7\"/> dog"),
              ElementsAre("<x0>a <x1>red</x1></x0> dog"));
  EXPECT_THAT(texts_of("a <sc id=\"1\"/>red<ec startRef=\"1\"/> dog"), ElementsAre("a <x0>red</x0> dog"));
  EXPECT_THAT(texts_of("<x id=\"START_LINK_1\"/>a<x id=\"START_TAG_B\"/> red <x id=\"CLOSE_TAG_B\"/>"
                       "<x id=\"CLOSE_LINK\"/>dog"),
              ElementsAre("<x0>a<x1> red </x1></x0>dog"));
  // Pairs that cross an element or each other are none, nor are halves.
  EXPECT_THAT(texts_of("<sc id=\"1\"/>a <g id=\"2\">red<ec startRef=\"1\"/></g> dog"),
              ElementsAre("<x0/>a <x1>red<x2/></x1> dog"));
  EXPECT_THAT(texts_of("<sc id=\"1\"/>a <sc id=\"2\"/>red<ec startRef=\"1\"/> dog<ec startRef=\"2\"/>"),
              ElementsAre("<x0>a <x1/>red</x0> dog<x2/>"));
  EXPECT_THAT(texts_of("<mrk mtype=\"seg\"><bpt id=\"1\"/>One.</mrk><mrk mtype=\"seg\">Two.<ept id=\"1\"/></mrk>"),
              ElementsAre("<x0/>One.", "Two.<x0/>"));
  const auto file = opened("a.xlf", xliff_unit("A <bpt id=\"1\">[b]</bpt>red<ept id=\"1\">[/b]</ept> dog"));
  EXPECT_EQ(target_in(file->with({"Un chien <x0>rouge</x0>"})),
            "Un chien <bpt id=\"1\">[b]</bpt>rouge<ept id=\"1\">[/b]</ept>");
}

TEST(Xliff, EachCaseOfAPluralIsATextOfItsOwn) {
  const auto file = opened("a.xlf", xliff_unit("{N, plural, =0 {no &amp; dogs} other {<x id=\"A\"/> dogs}}"));
  ASSERT_THAT(file->texts(), ElementsAre("no & dogs", "{xliff.tag.0} dogs"));
  EXPECT_EQ(target_in(file->with({"kein & Hund", "{xliff.tag.0} Hunde"})),
            "{N, plural, =0 {kein &amp; Hund} other {<x id=\"A\"/> Hunde}}");
  const auto kept = opened("a.xlf", xliff_unit("{N, plural, one {a <ph id=\"1\">%d files</ph> dog} other {dogs}}"));
  EXPECT_THAT(kept->texts(), ElementsAre("a {xliff.tag.0} dog", "dogs"));
  // Tags that a translation could put in another order, and words that look like a placeholder.
  for (const char* source :
       {"{N, plural, one {a <g id=\"1\">red</g> dog} other {dogs}}", "{N, plural, one {a {xliff.tag.0}} other {dogs}}"})
    EXPECT_THAT(opened("a.xlf", xliff_unit(source))->texts(), IsEmpty());
  const std::string unclear = xliff_unit("Item #1: {n, plural,\n one {dog}\n other {dogs}\n}");
  EXPECT_EQ(opened("a.xlf", unclear)->with({}), unclear);
}

TEST(Xliff, SourcesThatAreNoLanguageStay) {
  const std::string file =
      "<xliff version=\"1.2\"><file><body><trans-unit><source>stats.durationToday</source></trans-unit>"
      "<trans-unit><source><g id=\"1\">All</g></source></trans-unit></body></file></xliff>";
  EXPECT_THAT(opened("a.xlf", file)->texts(), ElementsAre("<x0>All</x0>"));
}

TEST(Xliff, WordsInAngleBracketsAreTexts) {
  const auto file = opened("a.xlf", xliff_unit("&lt;All files&gt;"));
  ASSERT_THAT(file->texts(), ElementsAre("All files"));
  EXPECT_EQ(target_in(file->with({"Alle"})), "&lt;Alle&gt;");
  EXPECT_THAT(opened("a.xlf", xliff_unit("&lt;All <g id=\"1\">files</g>&gt;"))->texts(),
              ElementsAre("<All <x0>files</x0>>"));
}

TEST(Xliff, ApostrophesThatAreDoubledStaySo) {
  const auto file = opened("a.xlf", xliff_unit("Add ''{name}'' <g id=\"1\">''now''</g>"));
  ASSERT_THAT(file->texts(), ElementsAre("Add '{name}' <x0>'now'</x0>"));
  EXPECT_EQ(target_in(file->with({"L'area '{name}' <x0>ora</x0>"})), "L''area ''{name}'' <g id=\"1\">ora</g>");
  EXPECT_THAT(opened("a.xlf", xliff_unit("Add '<x id=\"1\"/>' {name}"))->texts(),
              ElementsAre("Add '<var-x0/>' {name}"));
}

TEST(Catalogs, AnotherEncodingThanUtf8BecomesIt) {
  const auto file = opened("strings.xml",
                           "<?xml version=\"1.0\" encoding='us-ascii'?>\n<resources><string name=\"a\">One"
                           "</string></resources>");
  EXPECT_EQ(file->with({"Één"}),
            "<?xml version=\"1.0\" encoding='utf-8'?>\n<resources><string name=\"a\">Één</string></resources>");
}

TEST(HtmlFile, AnotherEncodingThanUtf8BecomesIt) {
  for (const std::string meta : {"<meta charset=\"UTF-8\">", "<meta name=\"charset=a\"><meta charset = utf-8>",
                                 "<!-- <meta charset=a> --><meta content='charset=b'><meta charset='utf-8'>",
                                 "<META http-equiv='Content-Type' content='text/html; charset=utf-8'>"}) {
    std::string page = "<head>" + meta + "</head><p>Déjà</p>", old = page;
    EXPECT_EQ(opened("a.html", page)->texts().front(), page);
    const size_t encoding = std::min(page.find("UTF-8"), page.find("utf-8"));
    old.replace(encoding, 5, "ISO-8859-1"), page.replace(encoding, 5, "utf-8");
    EXPECT_EQ(opened("a.html", old)->texts().front(), page);
  }
  const auto page_in = [](const std::string& encoding, const std::string& text) {
    return "<meta charset=" + encoding + ">" + text;
  };
  for (const auto& [encoding, text, utf8] :
       std::vector<std::array<std::string, 3>>{{"ISO-8859-1", "D\xE9j\xE0 \x93x\x94", "Déjà “x”"},
                                               {"ISO-8859-9", "\xFD \x93x\x94", "ı “x”"},
                                               {"koi8-r", "\xC4\xC1", "да"},
                                               {"gb2312", "\xC4\xE3\xE9\x46", "你镕"},
                                               {"Shift_JIS", "\x82\xA0\\", "あ\\"},
                                               {"euc-kr", "\xB0\xA1", "가"}})
    EXPECT_EQ(opened("a.html", page_in(encoding, text))->texts().front(), page_in("utf-8", utf8)) << encoding;
  EXPECT_EQ(opened("strings.xml",
                   "<?xml version='1.0' encoding='latin1'?><resources><string name='a'>\xE9 a</string>"
                   "</resources>")
                ->with({"B"}),
            "<?xml version='1.0' encoding='utf-8'?><resources><string name='a'>B</string></resources>");
  const std::string of_php = "<meta charset='<?php a() ?>'><p>a</p>";
  EXPECT_EQ(opened("a.html", of_php)->texts().front(), of_php);
  for (const char* encoding : {"utf-7", "utf-8", "utf-16", "cp037", "nosuch", "shift_jis"})
    EXPECT_THAT(refusal("a.html", page_in(encoding, "\xFC")), HasSubstr("not valid UTF-8")) << encoding;
}

TEST(TextFile, TakesLinearTime) {
  struct Case {
    const char *name, *begin, *piece;
    int pieces;
    const char* end;
  };
  const std::string srt = "1\n00:00:01,000 --> 00:00:02,000\na";
  for (const auto& [name, begin, piece, pieces, end] :
       {Case{"a.xlf", "<xliff version=\"1.2\"><file><body>", "<trans-unit id=\"1\"><source>a dog</source></trans-unit>",
             40'000, "</body></file></xliff>"},
        Case{"a.po", "", "msgid \"\"\nmsgstr \"\"\n\n", 200'000, "msgid \"a\"\nmsgstr \"\"\n"},
        Case{"a.json", "[\"a", "$t(", 700'000, "\"]"}, Case{"a.yaml", "", "- |\n\n", 30'000, "- a"},
        Case{"a.yaml", "a:\n", "  - |\n\n", 30'000, "  - a"}, Case{"a.yaml", "[", "!,", 50'000, "a]"},
        Case{"a.srt", srt.c_str(), "{\\", 200'000, "\n"}, Case{"a.srt", srt.c_str(), "<i></b>", 40'000, "\n"},
        Case{"a.md", "[a]: /u\n\n", "[a][", 100'000, "\n"}, Case{"a.md", "", "![`[`](u)\n\n", 40'000, "a\n"},
        Case{"a.md", "[a]: /u\n\n", "[a](b (\n\n", 40'000, "\n"}, Case{"a.md", "a", "<i></b>", 40'000, "\n"},
        Case{"a.md", "*a*", "!\n", 200'000, "\n"}, Case{"a.md", "", "\\begin{a}\n", 40'000, "\na\n"},
        Case{"a.md", "", "\\[\n\n", 40'000, "\na\n"}, Case{"a.md", "", "{% code %}\n{%", 40'000, "\na\n"},
        Case{"a.md", "a ", "][", 160'000, "\n"}, Case{"a.md", "a ", "[]()", 80'000, "\n"},
        Case{"a.md", "[a](", "{{", 100'000, "\n"}}) {
    std::string content = begin;
    for (int i = 0; i < pieces; ++i) content += piece;
    const auto start = CpuClock::now();
    const auto file = opened(name, content + end);
    std::vector<std::string> texts = file->texts();
    ASSERT_FALSE(texts.empty()) << piece;
    for (std::string& text : texts) text += " b";
    file->with(texts);
    EXPECT_LT(CpuClock::now() - start, std::chrono::seconds(5)) << name << ' ' << piece;
  }
}

TEST(TextFile, ThatIsNotUtf8SaysWhere) {
  using namespace std::string_literals;
  EXPECT_THAT(refusal("a.md", "one\ntw\0o\n"s), AllOf(HasSubstr("a.md:2: has a zero byte (byte 3 of the line)"),
                                                      HasSubstr("otherwise remove the zero bytes")));
  EXPECT_THAT(refusal("a.html", "<\0p\0>\0"s), HasSubstr("iconv -f utf-16le -t utf-8"));
  EXPECT_THAT(refusal("a.html", "\xFF\xFE<\0p\0>\0"s), HasSubstr("iconv -f utf-16 -t utf-8"));
  EXPECT_THAT(refusal("a.json", "{\"a\":\n \"\xFC\"}"),
              AllOf(HasSubstr("a.json:2: not valid UTF-8 (byte 3 of the line, 0xfc)"), HasSubstr("iconv")));
}

TEST(Catalogs, EntitiesAreRefused) {
  for (const char* name : {"a.resx", "strings.xml", "a.xlf"})
    EXPECT_THROW(opened(name, "<!DOCTYPE a [<!ENTITY b \"c\">]><xliff version=\"1.2\"/>"), std::runtime_error) << name;
}

}  // namespace
}  // namespace transmute::testing
