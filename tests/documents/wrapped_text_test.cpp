// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <transmute/documents/file_formats.h>
#include <transmute/documents/wrapped_text.h>

#include <algorithm>
#include <string>

namespace transmute {
inline namespace v0 {

namespace {

// Expects that the text is written with its wrapping where its translation is that text, and where it is another one.
void expect_unwrapped(const std::string& text, const std::string& unwrapped) {
  EXPECT_EQ(without_wrapping(text, WrappedText::plain), unwrapped);
  EXPECT_EQ(wrapped_like(text, unwrapped, WrappedText::plain), text);
}

}  // namespace

TEST(WrappedText, LinesOfParagraphsQuotationsAndItemsAreJoined) {
  expect_unwrapped(
      "I have read the report that you have sent me, and\nI think that we should discuss some points in it\n"
      "before the meeting.\nPlease call me.\n",
      "I have read the report that you have sent me, and I think that we should discuss some points in it before the "
      "meeting.\nPlease call me.\n");
  expect_unwrapped("> the committee has decided to postpone this to\n> the end of the year.\n> > as in the last year",
                   "> the committee has decided to postpone this to the end of the year.\n> > as in the last year");
  expect_unwrapped("  (a) the first item is too long for one line,\n      and goes on here\n  (b) short",
                   "  (a) the first item is too long for one line, and goes on here\n  (b) short");
  expect_unwrapped(
      "1.1    In this Agreement, \"Customer\" means\n       the person who buys the goods.\n1.2    The price",
      "1.1    In this Agreement, \"Customer\" means the person who buys the goods.\n1.2    The price");
  expect_unwrapped("       the sides of a page that the printer of the of‐\n       fice has",
                   "       the sides of a page that the printer of the office has");
}

TEST(WrappedText, LinesOfCopiesFromPdfFilesAreJoined) {
  expect_unwrapped(
      "1.1 The structure\n"
      "This manual describes the policy requirements for the distribution, which includes the struc-\n"
      "ture of the archive, with the issues of the well-known operating system and those of the well-\n"
      "known programs.\n"
      "• The terms must and must not denote strong requirements, those which are required for two- or\n"
      "three-fold checks, for free packages and for others, and also for what is needed for the vor-\n"
      "oder nachher of the\n"
      "packages\n"
      "Another Title that is Here\n"
      "The packages that conform to these requirements have what the manual calls the Policy\n"
      "Advice in this manual\n"
      "the man who has lost his dog in the wood is here, and it is said\n"
      "that he is very old and that his dog ran: the dog, and not any of the other dogs that are in the wood\n"
      "the program ran with --prefix=/usr --mode=0644 to /var/log, a_b.h and other files in 12\n"
      "the program ran with --prefix=/usr --mode=0644 to /var/lib, a_b.h and other files in 12 min",
      "1.1 The structure\n"
      "This manual describes the policy requirements for the distribution, which includes the structure of the "
      "archive, with the issues of the well-known operating system and those of the well-known programs.\n"
      "• The terms must and must not denote strong requirements, those which are required for two- or three-fold "
      "checks, for free packages and for others, and also for what is needed for the vor- oder nachher of the\n"
      "packages\n"
      "Another Title that is Here\n"
      "The packages that conform to these requirements have what the manual calls the Policy\n"
      "Advice in this manual\n"
      "the man who has lost his dog in the wood is here, and it is said\n"
      "that he is very old and that his dog ran: the dog, and not any of the other dogs that are in the wood\n"
      "the program ran with --prefix=/usr --mode=0644 to /var/log, a_b.h and other files in 12\n"
      "the program ran with --prefix=/usr --mode=0644 to /var/lib, a_b.h and other files in 12 min");
}

TEST(WrappedText, LinesOfCopiesFromPdfFilesMayBeNextToALongerOne) {
  // pdftotext writes a line whose last word it has made whole with the next line.
  const std::string whole =
      "Each command of a list that has several of them is run by the shell in its own process (see the Command "
      "Execution "
      "Environment), and the last one may be run by the shell\n";
  expect_unwrapped(whole +
                       "when no job is under control. The exit status of the list is that of its last command, unless\n"
                       "the option that is named below is set (see the chapter on options and their values)\n"
                       "and the reserved word precedes it.\nThe End",
                   whole.substr(0, whole.size() - 1) +
                       " when no job is under control. The exit status of the list is that of its last command, unless "
                       "the option that is named below is set (see the chapter on options and their values) and the "
                       "reserved word precedes it.\nThe End");
}

TEST(WrappedText, JustifiedLinesAreJoined) {
  expect_unwrapped(
      "NAME\n"
      "       Lists  information  about  the  files  in   the   current\n"
      "       directory,  by  their  names  unless  an  option asks for\n"
      "       another order.\n"
      "\n"
      "       -b, --block=SIZE\n"
      "              with the option for long names,  scales  sizes  by\n"
      "              the size when printing them; see below\n"
      "\n"
      "       The dogs of the city ran to the new houses of the  people\n"
      "       and slept there.\n"
      "\n"
      "       one    two    three    four five\n"
      "       six    seven    eight    nine",
      "NAME\n"
      "       Lists information about the files in the current directory, by their names unless an option asks for "
      "another order.\n"
      "\n"
      "       -b, --block=SIZE\n"
      "              with the option for long names, scales sizes by the size when printing them; see below\n"
      "\n"
      "       The dogs of the city ran to the new houses of the people and slept there.\n"
      "\n"
      "       one    two    three    four five\n"
      "       six    seven    eight    nine");
  // Lines that begin with capitals, too.
  const std::string terms =
      "The software  is provided  BY THE AUTHORS\nAS IS.  IN  NO EVENT SHALL  THE  AUTHORS,\n"
      "The OWNERS or others be  LIABLE  FOR  ANY\nDamages.";
  expect_unwrapped(terms,
                   "The software is provided BY THE AUTHORS AS IS. IN NO EVENT SHALL THE AUTHORS, The OWNERS or others "
                   "be LIABLE FOR ANY Damages.");
  // A sentence that ends with a line ends no paragraph.
  expect_unwrapped(
      "The  dogs  of the city ran to a new house.\nAll the other  animals  went  to  sleep at\n"
      "night. They  were  at home then, not away,\nof course.",
      "The dogs of the city ran to a new house. All the other animals went to sleep at night. They were at "
      "home then, not away, of course.");
  // Two lines that are equally long by chance are rows.
  const std::string rows = "the  dog  of the man is at home today\nand  the  dog of the woman has gone to\nsleep";
  expect_unwrapped(rows, rows);
  const std::string columns =
      "northern    southern    eastern    westerly\nspeaking    thinking    walking    sleeping\n"
      "mountain    elephant    parents    children";
  expect_unwrapped(columns, columns);
}

TEST(WrappedText, LinesInCapitalsAreJoined) {
  const std::string disclaimer =
      "IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES\n"
      "OR OTHER LIABILITY, ARISING FROM OR IN CONNECTION WITH THE USE\nOF THE SOFTWARE.";
  expect_unwrapped(disclaimer,
                   "IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, ARISING FROM OR "
                   "IN CONNECTION WITH THE USE OF THE SOFTWARE.");
}

TEST(WrappedText, LinesThatPeopleHaveWrappedAreJoined) {
  const std::string book =
      "When he grew up he retained his love of vocal music, and showed\n"
      "a strong predilection for national airs and old songs, for the\n"
      "_Irish Melodies_ had also a special attraction for him in\n"
      "the early days, and at the end of his readings his voice\nused to fail him.";
  std::string joined = book;
  std::replace(joined.begin(), joined.end(), '\n', ' ');
  EXPECT_EQ(without_wrapping(book, WrappedText::plain), joined);
}

TEST(WrappedText, ColumnsStayApart) {
  EXPECT_EQ(wrapped_like("   I. The musician         1\n> Close order    167-198\nA    b     c",
                         "   I. Der Musiker         1\n> Geschlossene Ordnung    167-198\nLang    b     c",
                         WrappedText::plain),
            "   I. Der Musiker          1\n> Geschlossene Ordnung  167-198\nLang  b    c");
  EXPECT_EQ(wrapped_like("| you   | can |\n|one|two|\n| a | b |", "| du   | kannst |\n|eins|zwei|\n| a | b | c |",
                         WrappedText::plain),
            "| du    | kannst |\n|eins|zwei|\n| a | b | c |");
  EXPECT_EQ(wrapped_like("Use ab | b | c\n\nab | b | c\nd | e | f", "Mit a | b | c\n\na | b | c\nd | e | f",
                         WrappedText::plain),
            "Mit a | b | c\n\na  | b | c\nd | e | f");
}

TEST(WrappedText, ManyColumnsTakeLinearTime) {
  std::string text = "a", translation = "b", expected = "b";
  for (int i = 0; i < 50000; ++i)
    text += "    one", translation += "    zwei", expected += i == 0 ? "    zwei" : "   zwei";
  EXPECT_TRUE(wrapped_like(text, translation, WrappedText::plain) == expected);
}

TEST(WrappedText, TranslationsAreWrappedWithTheSameIndentation) {
  EXPECT_EQ(wrapped_like("- the first item is too long for one line,\n  and goes on here",
                         "- der erste Punkt ist zu lang für eine Zeile und geht hier weiter", WrappedText::plain),
            "- der erste Punkt ist zu lang für eine\n  Zeile und geht hier weiter");
}

TEST(WrappedText, PoemsAddressesAndTablesKeepTheirLines) {
  for (const char* const text :
       {"But I have promises to keep until the end,\nAnd miles to go before I sleep tonight,\nAnd miles to go",
        "the woods are lovely, dark and deep, my friend,\nbut I have promises to keep\n"
        "and many miles to go before I sleep tonight\nand then",
        "Acme Incorporated of London and New York City\nBaker Street", "Acme Incorporated of New York City\n221B Baker",
        "anna smith     london   23 years and no month\npeter pan      paris    12 years",
        "a line that has more than forty columns, and\ta cell\nand another",
        "Bash and zsh tab completion for all of the programs\n===================================================",
        "$ command of the program --with an option --and another --option\nand the text that comes after it, which is "
        "longer",
        "a line of a command that has an option and that goes on \\\nwith another line that has more than the first "
        "one",
        "// the cache keeps the last hundred results, so that\n// the same question is answered without a search",
        "| the name of the dog | the age of the dog in years |\n| the name of the cat | the age of the cat in years |",
        "the history of the city and its people...........1\nthe first settlers and their way of life.........7",
        "https://www.example.com/a/very/long/address/of/a/page\nhttps://www.example.com/a/very/long/address/of/a/home",
        "a library for sound, with the files that its programs have in common\nfiles that the development of programs "
        "with the library needs, and their manual\nplugins with which the library plays the sounds of other systems",
        "the message is from the members of the committee <committee@example.org>\nSubject: the report\nand more",
        "Fixed what was wrong with the names of groups (ITS#97)\nFixed the filter of the groups that have more members "
        "than one (ITS#9779)\nslapo keeps the order of values"})
    expect_unwrapped(text, text);
}

TEST(WrappedText, SentencesThatTheEndsOfPagesCutAreJoined) {
  const std::string between = "\n\n12\n\nChapter 2. The archive\n\n\fThe Policy, Release 4.6\n\n";
  expect_unwrapped(
      "The policy says what the packages of the system must have, and that the\n"
      "maintainers who have written them are to follow it, unless they" +
          between + "have agreed upon something else with the com-\nmittee.\n\nThe committee has ten members.\n",
      "The policy says what the packages of the system must have, and that the maintainers who have written them are "
      "to follow it, unless they have agreed upon something else with the committee." +
          between + "\nThe committee has ten members.\n");
  const std::string b(30, 'b'), d(30, 'd');
  EXPECT_EQ(wrapped_like("she went to the house in the old dark wood\nwhere nobody had lived for many years, and\n"
                         "\fwas at home.",
                         "a " + b + " c " + d + " e " + b + " g", WrappedText::plain),
            "a " + b + " c\n" + d + " e\n\f" + b + " g");
  for (const std::string page :
       {"the first page ends with the end of a sentence.\n\n\fit is long",
        "The first page ends within a sentence that is\n\n\fAnother one begins",
        "the first page ends within a sentence, which\n\n1 First of all, this is a long note below the text of the "
        "first page.\n\n\fis long",
        "the first page of this ends within a table\n\na\n\nb\n\nc\n\nd\n\ne\n\n\fof long lines",
        "a heading\n\n\fan item"})
    expect_unwrapped(page, page);
}

TEST(WrappedText, AWordThatIsTooLongForItsLineStaysWhole) {
  EXPECT_EQ(wrapped_like("> the committee has decided to postpone this to\n> the end of the year.",
                         "> a " + std::string(60, 'x') + " b", WrappedText::plain),
            "> a\n> " + std::string(60, 'x') + "\n> b");
}

TEST(WrappedText, CarriageReturnsStay) {
  const auto file = open_text("", "the first line of this text, which is long,\r\nand the second\r\n\r\nEnd\r\n", {});
  EXPECT_THAT(file->texts(),
              testing::ElementsAre("the first line of this text, which is long, and the second\n\nEnd\n"));
  EXPECT_EQ(file->with({"eins\n\nzwei\n"}), "eins\r\n\r\nzwei\r\n");
  const std::string mixed = "the first line of this text, which is long,\r\nand the second\n";
  EXPECT_EQ(open_text("", mixed, {})->texts(), std::vector<std::string>{mixed});
  EXPECT_EQ(open_text("", "a\r\nb\n", {})->texts(), std::vector<std::string>{"a\r\nb\n"});
}

TEST(HtmlPage, CarriageReturnsStayAndAreNoSpaces) {
  const std::string page = "<p>A red\r\nhouse.\r\nA dog.</p>\r\n<pre>a\r\nb</pre>\r\n";
  const auto file = open_html("a.html", page, {});
  EXPECT_THAT(file->texts(), testing::ElementsAre("<p>A red\nhouse.\nA dog.</p>\n<pre>a\nb</pre>\n"));
  EXPECT_EQ(file->with(file->texts()), page);
  EXPECT_EQ(open_html("a.html", "<p>a\r\nb\n</p>", {})->texts(), std::vector<std::string>{"<p>a\r\nb\n</p>"});
}

TEST(WrappedText, ALineOfAMessageMayBeginWithACapitalOrBeShorter) {
  const std::string text =
      "CAUTION: the program assumes that the file system and\nhardware overwrite data in place, which is common, but\n"
      "Linux has systems that do not do this, so that\nthe old data may still be found there.";
  EXPECT_EQ(without_wrapping(text, WrappedText::plain), text);
  EXPECT_EQ(without_wrapping(text, WrappedText::message),
            "CAUTION: the program assumes that the file system and hardware overwrite data in place, which is common, "
            "but Linux has systems that do not do this, so that\nthe old data may still be found there.");
}

}  // namespace v0
}  // namespace transmute
