// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/document.h>
#include <transmute/tests/support/cpu_clock.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Document, KeepsLinesIndentationAndEmptyLines) {
  const Document document("  one\r\n\n\ttwo \nthree", TextFormat::text, false);
  EXPECT_THAT(document.segments(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(document.with({"ONE", "TWO", "THREE"}), "  ONE\r\n\n\tTWO \nTHREE");
}

TEST(Document, TabsEndALineOutsideOfTags) {
  for (const TextFormat format : {TextFormat::text, TextFormat::tags}) {
    const Document document("&Open\tCtrl+O", format, true);
    EXPECT_THAT(document.segments(), ElementsAre("&Open", "Ctrl+O"));
    EXPECT_EQ(document.with({"Ö&ffnen", "Strg+O"}), "Ö&ffnen\tStrg+O");
  }
  EXPECT_THAT(Document("A <b\tid=\"1\">dog</b>", TextFormat::tags, false).segments(), SizeIs(1));
}

TEST(Document, LeadersOfATableOfContentsStay) {
  const std::string contents = "1.2 The dogs . . . . . . . . . .\r\nThe cats.......... 12\nPreface ..... xii";
  for (const TextFormat format : {TextFormat::text, TextFormat::tags}) {
    const Document document(contents, format, true);
    EXPECT_THAT(document.segments(), ElementsAre("1.2 The dogs", "The cats", "Preface"));
    EXPECT_EQ(document.with({"1.2 Die Hunde", "Die Katzen", "Vorwort"}),
              "1.2 Die Hunde . . . . . . . . . .\r\nDie Katzen.......... 12\nVorwort ..... xii");
  }
  for (const std::string text :
       {"Well. . . . what is it?", "Well...... what", "Well ..... ill", "Well....", "and so on . . ."})
    EXPECT_THAT(Document(text, TextFormat::text, false).segments(), ElementsAre(text));
}

TEST(Document, ColumnsOfPlainTextAreTextsOfTheirOwn) {
  const Document document("    I. Music    1\r\nHome | About us | Jobs\n|one|two words|  \nA  b   c. on|off | x",
                          TextFormat::text, false);
  EXPECT_THAT(document.segments(),
              ElementsAre("I. Music", "1", "Home", "About us", "Jobs", "one", "two words", "A  b   c. on|off | x"));
  EXPECT_EQ(document.with({"I. Musik", "1", "Start", "Über uns", "Stellen", "eins", "zwei Wörter", "A"}),
            "    I. Musik    1\r\nStart | Über uns | Stellen\n|eins|zwei Wörter|  \nA");
}

TEST(Document, ALineWithBarsIsARowOnlyBesideOthers) {
  for (const std::string text : {"Use a | b | c here", "Use a | b | c\n-----\nor d | e", "A | b | c\n\nD | e | f"}) {
    const Document document(text, TextFormat::text, false);
    EXPECT_EQ(document.segments().front(), text.substr(0, text.find('\n')));
    EXPECT_EQ(document.with(document.segments()), text);
  }
  for (const std::string table :
       {"A | b | c\nD |  | f", "A | b | c\n--+---+--\n", "A | b | c\r\n=====\r\nD | e | f\r\n", "A | b | c\n| d | e |",
        "---|---\nA | b | c"}) {
    const Document document(table, TextFormat::text, false);
    EXPECT_EQ(document.with(document.segments()), table);
    EXPECT_THAT(document.segments(), ::testing::IsSupersetOf({"A", "b", "c"}));
  }
  EXPECT_THAT(Document("Home | About us | 2 Jobs", TextFormat::text, false).segments(),
              ElementsAre("Home", "About us", "2 Jobs"));
}

TEST(Document, BarsDivideTheTextsOfAMessage) {
  const std::string filter = "Text files (*.txt)|*.txt|All files (*.*)|*.*";
  EXPECT_THAT(Document(filter, TextFormat::tags, false).segments(),
              ElementsAre("Text files (*.txt)", "*.txt", "All files (*.*)", "*.*"));
  EXPECT_EQ(Document(filter, TextFormat::text, false).segments().size(), 1);
  EXPECT_THAT(Document("{0} No apple|[1,*] {n} apples", TextFormat::tags, false).segments(),
              ElementsAre("{0} No apple", "[1,*] {n} apples"));
  for (const std::string text :
       {"Say on|off", "one | two", "See |release|.", "The TCP|UDP port", "Use --format=PDF|Html here", "-a|Bc",
        "Are you sure (Y|N)?", "Write `a|B` here", "a || B", "|A", "A|"})
    EXPECT_THAT(Document(text, TextFormat::tags, false).segments(), ElementsAre(text));
}

TEST(Document, CommandsOfPlainTextStay) {
  const std::string text = "Run it:\n\n    $ ls | the dog    \\\n      a dog \\\n    the dog\nA dog.\n$ make it";
  const Document document(text, TextFormat::text, false);
  EXPECT_THAT(document.segments(), ElementsAre("Run it:", "A dog."));
  EXPECT_EQ(document.with({"Run it:", "A dog."}), text);
  EXPECT_THAT(Document("Example:\n  $ make a dog\n", TextFormat::tags, false).segments(), ElementsAre("Example:"));
  for (const std::string price : {"$ 5 for a dog", "A $ for a dog", "$ per dog", "$", "$ "})
    EXPECT_THAT(Document(price, TextFormat::text, false).segments(),
                ElementsAre(price.substr(0, price.find_last_not_of(' ') + 1)));
}

TEST(Document, FencedCodeOfAMessageStays) {
  const Document document("Run this:\n```sh\nls | <b>no\n\n```\nThen go.\n  ~~~\nno\n  ~~~", TextFormat::tags, false);
  EXPECT_THAT(document.segments(), ElementsAre("Run this:", "Then go."));
  EXPECT_EQ(document.with({"A", "B"}), "A\n```sh\nls | <b>no\n\n```\nB\n  ~~~\nno\n  ~~~");
  for (const std::string text : {"```sh\nA word", "So ```\nA word\n```", "```\nA word\n``` b"})
    EXPECT_THAT(Document(text, TextFormat::tags, false).segments(), ::testing::Contains("A word")) << text;
}

TEST(Document, ItemsOfAListAreTextsOfTheirOwn) {
  for (const auto& [text, items] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"folder;file manager;disk;", {"folder", "file manager", "disk"}},
           {"No;None;or", {"No", "None", "or"}},
           {"text/plain;text/html;image/png;", {}},
           {"en;de;fr;", {"en;de;fr;"}},
           {"One; two; three", {"One; two; three"}},
           {"a:bcd;e:f;", {"a:bcd;e:f;"}},
           {"if (abc;d;e) x", {"if (abc;d;e) x"}},
           {"I came;I saw", {"I came;I saw"}}}) {
    const Document document(text, TextFormat::tags, false);
    EXPECT_EQ(document.segments(), items);
    EXPECT_EQ(document.with(document.segments()), text);
  }
}

TEST(Document, ColumnsOfAProgramsHelpStay) {
  const std::string help = "  -o, --output FILE    write to FILE\n      --all   list all\n--old is bad.  Use --new.";
  const Document document(help, TextFormat::tags, false);
  EXPECT_THAT(document.segments(), ElementsAre("write to FILE", "list all", "--old is bad.  Use --new."));
  EXPECT_EQ(document.with(document.segments()), help);
  for (const std::string text : {"- a dog  and a cat", "--Note:  it is dark", "-Dark mode  "}) {
    const Document line(text, TextFormat::tags, false);
    EXPECT_THAT(line.segments(), ElementsAre(text.substr(0, text.find_last_not_of(' ') + 1)));
    EXPECT_EQ(line.with(line.segments()), text);
  }
  const std::string text = "-o  \u00A0";
  const Document option(text, TextFormat::tags, false);
  EXPECT_THAT(option.segments(), ElementsAre("-o"));
  EXPECT_EQ(option.with(option.segments()), text);
}

TEST(Document, SplitsSentencesWhereAsked) {
  EXPECT_THAT(Document("A dog. A cat.", TextFormat::text, true).segments(), ElementsAre("A dog.", "A cat."));
  EXPECT_THAT(Document("A dog. A cat.", TextFormat::text, false).segments(), ElementsAre("A dog. A cat."));
  EXPECT_THAT(Document("A dog. A cat.", TextFormat::tags, false).segments(), ElementsAre("A dog. A cat."));
  const std::string html = "<p>A <b>dog</b>. <i>A cat.</i> Two<br>mice. <u>No. Yes.</u></p>";
  const Document document(html, TextFormat::html, true);
  EXPECT_THAT(document.segments(), ElementsAre("A <b>dog</b>.", "<i>A cat.</i>", "Two", "mice.", "<u>No. Yes.</u>"));
  EXPECT_EQ(document.with(document.segments()), html);
  EXPECT_EQ(Document(html, TextFormat::html, false).segments().size(), 2U) << "a line break ends a segment";
  EXPECT_THAT(Document("{a}. B <b>c</b>.", TextFormat::tags, true).segments(), ElementsAre("{a}.", "B <b>c</b>."));
  EXPECT_THAT(Document("A {dog}. A <b>cat.</b>", TextFormat::tags, true).segments(),
              ElementsAre("A {dog}.", "A <b>cat.</b>"));
  EXPECT_THAT(Document("A {{ dog. Or }}. A ${cat.name}.", TextFormat::tags, true).segments(),
              ElementsAre("A {{ dog. Or }}.", "A ${cat.name}."));
}

TEST(Document, WordsThatStayCutNoSentence) {
  const Document office("<var-0/> is on <b 1>page <var-2/></b> of the book.", TextFormat::html, true);
  ASSERT_THAT(office.segments(), SizeIs(1));
  EXPECT_EQ(office.with(office.segments()), "<var-0/> is on <b 1>page <var-2/></b> of the book.");
  const Document page("<p>Use <code>a</code> twice.</p>", TextFormat::html, true);
  ASSERT_THAT(page.segments(), SizeIs(1));
  EXPECT_EQ(page.with(page.segments()), "<p>Use <code>a</code> twice.</p>");
}

TEST(Document, OfNothingHasNoSegments) {
  for (const TextFormat format : {TextFormat::text, TextFormat::tags, TextFormat::html})
    for (const char* text : {"", " \n\t\n", "\n", "\u00A0", " \u3000\n"}) {
      const Document document(text, format, true);
      EXPECT_THAT(document.segments(), IsEmpty());
      EXPECT_EQ(document.with({}), text);
    }
  for (const char* html : {"<p>&nbsp;</p>", "<td>\u3000</td>", "<p><b>&#160;</b> &emsp;</p>"}) {
    const Document document(html, TextFormat::html, true);
    EXPECT_THAT(document.segments(), IsEmpty()) << html;
    EXPECT_EQ(document.with({}), html);
  }
}

TEST(Document, LeavesTextWithoutVisibleCharactersAsItIs) {
  for (const TextFormat format : {TextFormat::text, TextFormat::tags, TextFormat::html})
    for (const char* text : {"\u200B", "\u00AD", " \uFEFF \u2060\n"}) {
      const Document document(text, format, true);
      ASSERT_THAT(document.segments(), IsEmpty());
      EXPECT_EQ(document.with({}), text);
    }
  for (const char* html : {"<p>&#8203;</p>", "&shy;", "<p><b>&zwnj;</b>&nbsp;</p>"}) {
    const Document document(html, TextFormat::html, true);
    ASSERT_THAT(document.segments(), IsEmpty()) << html;
    EXPECT_EQ(document.with({}), html);
  }
  const Document preview("<p>\u200BNews \u2764\uFE0F &#847;&zwnj;&nbsp;&shy;</p>", TextFormat::html, true);
  EXPECT_THAT(preview.segments(), ElementsAre("News \u2764\uFE0F"));
  EXPECT_EQ(preview.with({"A"}), "<p>\u200BA &#847;&zwnj;&nbsp;&shy;</p>");
  const std::string from_right = "\u202Bdog\u202C";  // such marks come in pairs
  EXPECT_THAT(Document(from_right, TextFormat::tags, true).segments(), ElementsAre(from_right));
}

TEST(Document, KeepsWhiteSpaceOfAnyWidthAroundText) {
  for (const bool split : {false, true}) {
    for (const TextFormat format : {TextFormat::text, TextFormat::tags, TextFormat::html})
      for (const char* text : {"\u3000Monday", "\u00A0\u00A0Monday\u00A0", " \u2003Monday\u3000 "}) {
        const Document document(text, format, split);
        ASSERT_THAT(document.segments(), ElementsAre("Monday"));
        EXPECT_EQ(document.with(document.segments()), text);
      }
    const Document tags("\u00A0{n}\u00A0", TextFormat::tags, split);
    ASSERT_THAT(tags.segments(), ElementsAre("{n}"));
    EXPECT_EQ(tags.with({"{n}"}), "\u00A0{n}\u00A0");
    for (const char* html :
         {"<p>&nbsp;Monday&nbsp;</p>", "<p>&emsp; Monday</p>", "<td>&#160;&#xA0;Monday\n&#12288;</td>"}) {
      const Document document(html, TextFormat::html, split);
      ASSERT_THAT(document.segments(), ElementsAre("Monday")) << html;
      EXPECT_EQ(document.with(document.segments()), html);
    }
  }
  const Document around("&nbsp;<b>Monday</b>&nbsp;", TextFormat::html, true);
  ASSERT_THAT(around.segments(), ElementsAre("<b>Monday</b>"));
  EXPECT_EQ(around.with({"<b>Montag</b>"}), "&nbsp;<b>Montag</b>&nbsp;");
  EXPECT_EQ(Document("&#160Day 3", TextFormat::html, false).with({"3. Tag"}), "3. Tag");
}

TEST(Document, EndsLinesAtEverySeparatorOfUnicode) {
  for (const TextFormat format : {TextFormat::text, TextFormat::tags})
    for (const std::string end : {"\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"})
      for (const bool split : {false, true}) {
        const std::string text = "One." + end + end + " two" + end;
        const Document document(text, format, split);
        ASSERT_THAT(document.segments(), ElementsAre("One.", "two"));
        EXPECT_EQ(document.with(document.segments()), text);
        EXPECT_EQ(document.beginning({"Eins.", "z"}, 1), "Eins." + end + end + " z");
      }
}

TEST(Document, EndsNoLineWithinATag) {
  for (const bool split : {false, true})
    for (const std::string end : {"\n", "\r\n", "\u2028"}) {
      const std::string link = "On <a" + end + "  href='x. Y'>Monday</a>",
                        number = "{{ count," + end + " number }} days";
      const Document document(link + end + number, TextFormat::tags, split);
      ASSERT_THAT(document.segments(), ElementsAre(link, number));
      EXPECT_EQ(document.with({"Am " + link, number}), "Am " + link + end + number);
    }
  EXPECT_THAT(Document("a <b\nc", TextFormat::tags, false).segments(), ElementsAre("a <b", "c"));
  EXPECT_THAT(Document("{a\nb}", TextFormat::tags, false).segments(), ElementsAre("{a", "b}"));
}

TEST(Document, KeepsLongTagsOfTextWithTags) {
  const std::string image = "<img alt='a > b. C' src=\"data:image/png;base64,\n" + std::string(20'000, 'A') + "\"/>";
  const std::string link = "<A href=\"" + std::string(5000, '<') + "\">";
  const Document document("See " + image + " and " + link + "this</A>.\n3 < 4 <br>", TextFormat::tags, true);
  ASSERT_THAT(document.segments(), ElementsAre("See " + image + " and " + link + "this</A>.", "3 < 4"));
  EXPECT_EQ(document.with({link + "Das</A>: " + image + ".", "3 < 4"}), link + "Das</A>: " + image + ".\n3 < 4 <br>");
}

TEST(Document, TakesTheLineEndsOfAnySystemForSpaces) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string html = "<p>A red" + end + "house. A <b id=1" + end + "x=y>blue</b>" + end + "river.</p>" + end;
    const Document document(html, TextFormat::html, true);
    std::vector<std::string> segments = document.segments();
    for (std::string& segment : segments)
      for (size_t at; (at = segment.find("  ")) != std::string::npos;) segment.erase(at, 1);
    EXPECT_THAT(segments, ElementsAre("A red house.", "A <b x000>blue</b> river."));
    EXPECT_EQ(document.with(segments), "<p>A red house. A <b id=1" + end + "x=y>blue</b> river.</p>" + end);
  }
}

TEST(Document, EndsNoSentenceWithinATermOfTheGlossary) {
  const Glossary glossary(std::vector<GlossaryEntry>{{"Dr. Smith", "Dr. Schmidt"}});
  EXPECT_THAT(Document("A man. I met Dr. Smith.", TextFormat::text, true, glossary).segments(),
              ElementsAre("A man.", "I met Dr. Smith."));
  const std::string html = "<p>I met <i>Dr.</i>\nSmith. He left.</p>";
  EXPECT_THAT(Document(html, TextFormat::html, true, glossary).segments(),
              ElementsAre("I met <i>Dr.</i> Smith.", "He left."));
}

TEST(Document, JoinsSentencesAsTheirLanguageDoes) {
  const Document text("One. Two.\nThree. Four.", TextFormat::text, true);
  ASSERT_THAT(text.segments(), SizeIs(4));
  EXPECT_EQ(text.with({"一。", "二。", "三。", "四。"}), "一。二。\n三。四。");
  EXPECT_EQ(text.with({"A.", "", "B.", "C."}), "A.\nB. C.");
  EXPECT_EQ(text.beginning({"A.", "", "", ""}, 1), "A.");
  EXPECT_EQ(text.beginning({"A.", "B", "", ""}, 1), "A. B");
  const Document html("<p><i>One.</i> Two. Three.</p>", TextFormat::html, true);
  EXPECT_EQ(html.with({"<i>一。</i>", "二吗?", "三。"}), "<p><i>一。</i>二吗?三。</p>");
  EXPECT_EQ(Document("一。二。", TextFormat::text, true).with({"One.", "Two."}), "One. Two.");
}

// Without what a document may change: it puts each segment on one line and writes text with references.
std::string bare(std::string html) {
  // "&amp;" comes last: "&amp;lt;" stands for "&lt;".
  const std::vector<std::pair<std::string, std::string>> written{{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}};
  for (const auto& [reference, character] : written)
    for (size_t at = html.find(reference); at != std::string::npos; at = html.find(reference, at + 1))
      html.replace(at, reference.size(), character);
  std::replace(html.begin(), html.end(), '\n', ' ');
  std::replace(html.begin(), html.end(), '\r', ' ');
  return html;
}

TEST(Document, ReadsAnyBytesInLinearTimeAndLosesNone) {
  std::mt19937 random(1);
  std::vector<std::string> pieces{"<",
                                  ">",
                                  "</",
                                  "<b>",
                                  "</b>",
                                  "<p",
                                  "&",
                                  "&amp;",
                                  ";",
                                  "\"",
                                  "'",
                                  " ",
                                  "\n",
                                  "\r",
                                  "<!--",
                                  "-->",
                                  "<script>",
                                  "a",
                                  "word",
                                  "=",
                                  "/",
                                  "</ul>",
                                  "<ul>",
                                  "<li translate=no>",
                                  "<td translate=no>"};
  pieces.emplace_back(1, '\0');
  for (int round = 0; round < 2000; ++round) {
    std::string html;
    for (int i = 0; i < 30; ++i) html += pieces[random() % pieces.size()];
    const Document document(html, TextFormat::html, true);
    EXPECT_EQ(bare(document.with(document.segments())), bare(html)) << html;
    for (const TextFormat format : {TextFormat::text, TextFormat::tags}) {
      const Document whole(html, format, false);
      EXPECT_EQ(whole.with(whole.segments()), html);
    }
  }
  for (const char* piece :
       {"<", "<p", "<!--", "&", "</script", "<script>", "<b \"", "<p>", "<p translate=no><b><i></u>", "&amp",
        "<li translate=no><ul><a></b>", "<td translate=no><table>"}) {
    std::string html;
    while (html.size() < 1'000'000) html += piece;
    EXPECT_LT(cpu_seconds_of([&] {
                const Document document(html, TextFormat::html, true);
                document.with(document.segments());
              }),
              10)
        << piece;
  }
  for (const char* piece : {"<", "<a ", "{", "{{", "{{ a\n", "${", "<a x=\"", "<a '=\"<a \"='", "<1'=\"<1\"='",
                            "\u2028", "<a title='\n'>"}) {
    std::string text;
    while (text.size() < 200'000) text += piece;
    for (const std::string end : {"", ">", "\">", "'>"}) {
      EXPECT_LT(cpu_seconds_of([&] {
                  const Document document(text + end, TextFormat::tags, true);
                  EXPECT_EQ(document.with(document.segments()), text + end);
                }),
                10)
          << piece;
    }
  }
}

}  // namespace
}  // namespace transmute::testing
