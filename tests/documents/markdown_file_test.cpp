// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/documents/file_support.h>
#include <transmute/tests/support/cpu_clock.h>

#include <algorithm>
#include <memory>
#include <string>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kPage =
    "---\ntitle: A page\n---\n# The *first* heading\n\nA `code span` and a\n[link](http://a.b/c \"title\") here\\!\n\n"
    "```sh\necho no\n```\n\n    indented code\n\n<div>\nhtml\n</div>\n\n- [x] a task\n- **bold _and_** ![an "
    "image](a.png)\n\n"
    "> A quote with\n> two lines.\n\n| Head | `x` |\n|------|-----|\n| a cell | 12 |\n\nSee [the page][ref] and "
    "[here].\n\n"
    "[ref]: http://a.b\n[here]: http://c.d\n";

using Pages = std::vector<std::pair<std::string, std::string>>;

// A page with every text in capitals; with the texts that it has, it is as it was.
std::string shouted_page(const std::string& page) {
  const auto file = opened("a.md", page);
  EXPECT_EQ(file->with(file->texts()), page);
  return shouted(*file);
}

// Each page is one line, with one text. A mark at the end of the text's translation is one at the end of the page.
void expect_texts(const Pages& pages) {
  for (const auto& [page, text] : pages) {
    const auto file = opened("a.md", page + '\n');
    ASSERT_THAT(file->texts(), ElementsAre(text));
    EXPECT_EQ(file->with({text + '!'}), page + "!\n");
  }
}

TEST(MarkdownFile, WordsAreTranslatedAndMarkupStays) {
  const auto file = opened("a.md", kPage);
  ASSERT_THAT(file->texts(), ElementsAre("The <x0>first</x0> heading", "A <var-x0/> and a <x1>link</x1> here!",
                                         "a task", "<x0>bold <x1>and</x1></x0> <x2/>", "A quote with two lines.",
                                         "Head", "a cell", "See <x0>the page</x0> and <x1>here</x1>."));
  EXPECT_EQ(file->with(file->texts()), kPage);
  const std::string shouting = shouted(*file);
  for (const char* line : {"---\ntitle: A page\n---\n# THE *FIRST* HEADING\n",
                           "\nA `code span` AND A [LINK](http://a.b/c \"title\") HERE!\n",
                           "\n- [x] A TASK\n- **BOLD _AND_** ![an image](a.png)\n", "\n> A QUOTE WITH TWO LINES.\n",
                           "\n| HEAD | `x` |\n|------|-----|\n| A CELL | 12 |\n",
                           "\nSEE [THE PAGE][ref] AND [HERE][here].\n\n[ref]: http://a.b\n[here]: http://c.d\n"})
    EXPECT_THAT(shouting, HasSubstr(line));
}

TEST(MarkdownFile, TabsAreSpaces) {
  const std::string page = "The dog\tran&#9;**home\tnow**.\n";
  const auto file = opened("a.md", page);
  ASSERT_THAT(file->texts(), ElementsAre("The dog ran <x0>home now</x0>."));
  EXPECT_EQ(file->with(file->texts()), page);
}

TEST(MarkdownFile, MarkupNextToMarkupIsTold) {
  for (const char* text :
       {"a <b\n  c='d>\ne'> f</b>\n", "> d <!-- a\n> <b> --> c\n", "***both** one*\n", "**a**[b](c)*d*\n",
        "[![image](a(b)c)](d) text\n", "[a](<b c> 'd')[e][]\n\n[e]: f\n", "~~a~~ **`b`** c\n",
        "<http://a.b> is a\\*b &amp; c\n", "a<b>b</b><br>\nc  \nd\\\ne\n", "`` a ` b `` c $x_1$ d\n",
        "> - a *b\n>   c* d\n", "A footnote[^1].\n\n[^1]: The note.\n", "# A {#id}\n", "a\r\nb *c*\r\n"}) {
    const auto file = opened("a.md", text);
    EXPECT_FALSE(file->texts().empty()) << text;
    std::vector<std::string> texts = file->texts();
    for (std::string& one : texts) one += "!";
    const auto again = opened("a.md", file->with(texts));
    ASSERT_EQ(again->texts(), texts) << text << file->with(texts);
  }
}

TEST(MarkdownFile, CommentsInParagraphsMayHaveLines) {
  const std::string page = "See [the type][a]<!--\nignore --> and the dog<!-- x -->.\n\n<!--\n<?x a ?>\nA note.\n-->\n";
  const auto file = opened("a.md", page);
  ASSERT_THAT(file->texts(), ElementsAre("See <x0>the type</x0><x1/> and the dog<x2/>."));
  EXPECT_EQ(file->with({"Der Hund<x2/> und <x0>die Art</x0><x1/>."}),
            "Der Hund<!-- x --> und [die Art][a]<!--\nignore -->." + page.substr(page.find("\n\n")));
}

TEST(MarkdownFile, MarksAroundNothingVanish) {
  const auto file = opened("a.md", "We got lines with ***To* you**, [b](c) and `d``d`.\n");
  ASSERT_THAT(file->texts(), ElementsAre("We got lines with <x0><x1>To</x1> you</x0>, <x2>b</x2> and <var-x3/>."));
  EXPECT_EQ(file->with({"Wir haben <x0><x1></x1></x0>, <x2></x2><var-x3/>."}), "Wir haben , [](c)`d``d`.\n");
}

TEST(MarkdownFile, MarkupOfATranslationIsEscaped) {
  const auto file = opened("a.md", "A word.\n\n| a |\n|---|\n| b |\n");
  for (const char* words :
       {"1. eins",    "- eins",   "# eins", "*eins* _zwei_", "<b>eins</b>", "[eins](zwei)", "`eins`",
        "&amp; eins", "a\\*b",    "> eins", ">eins",         "eins|zwei",   "~~eins~~",     "snake_case 3 * 4 < 5",
        "--- eins",   "1)\teins", "+ eins", "* eins",        "-\teins",     "1.5 mal",      "-5 Grad",
        "#1 eins"}) {
    const auto again = opened("a.md", file->with({words, "H", words}));
    EXPECT_EQ(again->with(again->texts()), file->with({words, "H", words}));
    ASSERT_FALSE(again->texts().empty()) << words;
    std::string seen = words;
    std::replace(seen.begin(), seen.end(), '\t', ' ');
    EXPECT_EQ(again->texts().front(), seen) << file->with({words, "H", words});
  }
}

TEST(MarkdownFile, NumbersAndSignsThatAreNoMarkupHaveNoBackslash) {
  const auto file = opened("a.md", "A word.\n\n| a |\n|---|\n| b |\n");
  for (const std::string words :
       {"41.61 (zwei)", "1.5 mal", "1990er", "-5 Grad", "+49 30", "#1 eins", "--eins", "1)eins"})
    EXPECT_EQ(file->with({words, "H", words}), words + "\n\n| H |\n|---|\n| " + words + " |\n");
}

TEST(MarkdownFile, SignsThatBeginNoBlockHaveNoBackslash) {
  const Pages pages{{"### 1. A\n\n## - b\n", "### 1. A\n\n## - B\n"},
                    {"**1. A** b [2. c](d)\n", "**1. A** B [2. C](d)\n"},
                    {"| 1. A | - b |\n|---|---|\n| # C | > d |\n", "| 1. A | - B |\n|---|---|\n| # C | > D |\n"},
                    {"1\\. A\n\n> \\- b\n\n- \\# c\n", "1\\. A\n\n> \\- B\n\n- \\# C\n"},
                    {"1\\. A\n===\n\n\\- b | c\n---|---\n", "1\\. A\n===\n\n\\- B | C\n---|---\n"},
                    {"*a  \n1\\. b*\n", "*A  \n1\\. B*\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, NamesHaveNoBackslashWhereTheyAreNoEmphasis) {
  expect_texts({{"The (*.txt) files and foo_", "The (*.txt) files and foo_"},
                {"**The** *.o files, not [*.a](b)", "<x0>The</x0> *.o files, not <x1>*.a</x1>"},
                {"See libc.* or _start", "See libc.* or _start"}});
  const auto file = opened("a.md", "See libc.* and *.md, or \\*.o here\n");
  ASSERT_THAT(file->texts(), ElementsAre("See libc.* and *.md, or *.o here"));
  EXPECT_EQ(file->with({"*.md, libc.*"}), "\\*.md, libc.\\*\n");
  EXPECT_EQ(file->with({"*.o, *.c"}), "\\*.o, \\*.c\n");
}

TEST(MarkdownFile, SignsKeepTheBackslashOfTheSource) {
  const Pages pages{{"A\\_b c\n", "A\\_B C\n"},
                    {"5 \\* 6 is a\n", "5 \\* 6 IS A\n"},
                    {"A \\#1 b\n", "A \\#1 B\n"},
                    {"# 1\\. a\n\n* [ ] 2\\. b\n", "# 1\\. A\n\n* [ ] 2\\. B\n"},
                    {"A b \\<5\n", "A B \\<5\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, AddressesHaveNoBackslash) {
  for (const std::string address :
       {"https://en.wikipedia.org/wiki/Mercury_(planet)", "https://a.b/static/*.js", "src/_index.md", "/usr/_lib.so",
        "{{ page._title }}", "%(_name)s", "https://a.b/c_", "__a@b.org"}) {
    const auto file = opened("a.md", "See " + address + " for more.\n");
    ASSERT_THAT(file->texts(), ElementsAre("See " + address + " for more."));
    EXPECT_EQ(file->with({"Mehr: " + address + " _hier_"}), "Mehr: " + address + " \\_hier\\_\n");
  }
  // An address that the source has with backslashes keeps them.
  const auto file = opened("a.md", "See https://a.b/\\_c\\_ there.\n");
  ASSERT_THAT(file->texts(), ElementsAre("See https://a.b/_c_ there."));
  EXPECT_EQ(file->with({"Dort: https://a.b/_c_"}), "Dort: https://a.b/\\_c\\_\n");
}

TEST(MarkdownFile, DollarSignsOfPricesBeginNoFormula) {
  for (const std::string text :
       {"It costs $20 for adults and $10 for children.", "Pay $5-$10 here.", "Pay US$ 5 or 6 $ there.",
        "Echo $HOME and $PATH, or $$ alone.", "From 5$ to 10$.", "R$20 e R$30"})
    expect_texts({{text, text}});
  EXPECT_THAT(
      opened("a.md", "It is $5, and $x_1 * y$ and $$z = 2$$ cost $6.\n\nA $\n\nb$ $*c*\n\n**$5** for $*d*\n")->texts(),
      ElementsAre("It is $5, and <var-x0/> and <var-x1/> cost $6.", "A $", "b$ $<x0>c</x0>",
                  "<x0>$5</x0> for $<x1>d</x1>"));
  EXPECT_THAT(opened("a.md", "| $5 | $6 |\n|----|----|\n| $x$ and $7 | 8$ |\n")->texts(),
              ElementsAre("<var-x0/> and $7"));
  const auto escaped = opened("a.md", "From \\$5 to $6\n");
  ASSERT_THAT(escaped->texts(), ElementsAre("From $5 to $6"));
  EXPECT_EQ(escaped->with({"Von $5 bis $6"}), "Von \\$5 bis \\$6\n");
}

TEST(MarkdownFile, FrontMatterStays) {
  for (const std::string matter : {"---\ntitle: a\n---\n", "--- \ntitle: a\n...\n", "+++\r\ntitle = 'a'\r\n+++ \r\n"})
    EXPECT_EQ(shouted(*opened("a.md", matter + "b\n\n---\n")), matter + "B\n\n---\n");
}

TEST(MarkdownFile, FrontMatterEndsAtALineOfMarksAlone) {
  for (const std::string matter :
       {"---\ntitle: a\n... \n", "---\na: |\n  b\n---not: c\n----\n---\t\n", "---\r\na: b\r\n...\t\r\n",
        "+++\na = \"\"\"\n...\n+++x\n\"\"\"\n+++\n", "---\n---\n"})
    EXPECT_EQ(shouted(*opened("a.md", matter + "b\n")), matter + "B\n");
  for (const std::string page : {"---\ntitle: a\n...", "---\ntitle: a\n--- ", "\xEF\xBB\xBF---\na: b\n... "})
    EXPECT_TRUE(opened("a.md", page)->texts().empty()) << page;
  EXPECT_EQ(shouted(*opened("a.md", "---\n\nA word\n\n---more\n")), "---\n\nA WORD\n\n---MORE\n");
}

TEST(MarkdownFile, WhatOtherProgramsReadStays) {
  EXPECT_THAT(
      opened("a.md", "A note[^1] {% raw %}\n\n[^1]: Two words\n\nThe <kbd>Ctrl</kbd> key {{< a \"b\" >}}, {{% c %}}\n")
          ->texts(),
      ElementsAre("A note<x0/> <x1/>", "<x0/> Two words", "The <var-x0/> key <x1/>, <x2/>"));
}

TEST(MarkdownFile, LinksWithTagsOfSiteGeneratorsStay) {
  for (const std::string address :
       {"{{< ref \"/docs/first-page\" >}}", "{{ site.baseurl }}/the/fourth/page.html", "{% link _posts/x.md %}",
        "https://{{< host >}}/docs/a.html", "{{% ref \"a(b\" %}}#c", "a/{{ b }}/{{ c }} \"A title\""}) {
    const std::string page = "Read [the *page*](" + address + ") of ![it](" + address + ") (all).\n";
    const auto file = opened("a.md", page);
    ASSERT_THAT(file->texts(), ElementsAre("Read <x0>the <x1>page</x1></x0> of <x2/> (all).")) << page;
    EXPECT_EQ(shouted(*file), "READ [THE *PAGE*](" + address + ") OF ![it](" + address + ") (ALL).\n");
  }
  const std::string page =
      "See [it] and `[a]({{` or `b }}` here.\n\n[it]: {{< ref \"a b\" >}}\n[is]:{{ no\n\n[tag]( {{ a }} b )\n";
  const auto file = opened("a.md", page);
  ASSERT_THAT(file->texts(),
              ElementsAre("See <x0>it</x0> and <var-x1/> or <var-x2/> here.", "[is]:{{ no", "[tag]( {{ a }} b )"));
  EXPECT_THAT(shouted(*file), HasSubstr("SEE [IT][it] AND `[a]({{` OR `b }}` HERE."));
}

TEST(MarkdownFile, LinksKeepLabelsThatOtherFilesDefine) {
  const Pages pages{
      {"See the [important class][pkg.Foo] for `a` [more][].\n",
       "SEE THE [IMPORTANT CLASS][pkg.Foo] FOR `a` [MORE][more].\n"},
      {"See [`pkg.Class`][], [``a`b``][], [`a` or `b`][] and [the `c`][].\n",
       "SEE [`pkg.Class`][], [``a`b``][], [`a` OR `b`][`a` or `b`] AND [THE `c`][the `c`].\n"},
      {"An int[][] has rows\n", "AN INT[][] HAS ROWS\n"},
      {"As [*semantic* versions][^2] are\nused.[^1][^2]\n", "AS [*SEMANTIC* VERSIONS][^2] ARE USED.[^1][^2]\n"},
      {"[![an image][img]][link] and ![one][img] [both][Img]\n\n[img]: a.png\n",
       "[![an image][img]][link] AND ![one][img] [BOTH][Img]\n\n[img]: a.png\n"},
      {"| a[0][1] | \\[b][c\n", "| A[0][1] | [B][C\n"},
      {"A `b][c` [f][g `h`] is\n", "A `b][c` [F][G `h`] IS\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
  const auto file = opened("a.md", "[`a`][] *is [`b[0]`][]*\n");
  ASSERT_THAT(file->texts(), ElementsAre("<var-x0/> <x1>is <var-x2/></x1>"));
  EXPECT_EQ(file->with({"O <var-x0/> <x1>é o <var-x2/></x1>"}), "O [`a`][] *é o [`b[0]`][]*\n");
}

TEST(MarkdownFile, ImagesWithoutWordsBesideThemHaveTextsOfTheirOwn) {
  const std::string page =
      "![a red *house*](a.png \"no\"){width=5}\n[![the build](b.svg)](c) ![][d] ![12](e) ![of it][f]\n\n| ![a cell](g) "
      "|\n|---|\n\nThe ![icon](h) here\n\n[d]: d.png\n[f]: f.png\n";
  const auto file = opened("a.md", page);
  ASSERT_THAT(file->texts(), ElementsAre("<x0>a red <x1>house</x1></x0>", "<x0><x1>the build</x1></x0>",
                                         "<x0>of it</x0>", "<x0>a cell</x0>", "The <x0/> here"));
  EXPECT_EQ(file->with(file->texts()), page);
  EXPECT_EQ(
      shouted(*file),
      "![A RED *HOUSE*](a.png \"no\"){width=5}\n[![THE BUILD](b.svg)](c) ![][d] ![12](e) ![OF IT][f]\n\n| ![A CELL]"
      "(g) |\n|---|\n\nTHE ![icon](h) HERE\n\n[d]: d.png\n[f]: f.png\n");
}

TEST(MarkdownFile, SettingsOfSlidesAndNamesOfFilesAreNoTextsOfImages) {
  for (const std::string text : {"bg left:40%", "bg", "w:400 center", "fit", "my-image.jpg"}) {
    for (const std::string& page : {"![" + text + "](a.png)\n", "[![" + text + "](a.png)](b)\n"})
      EXPECT_TRUE(opened("a.md", page + "\nA dog\n")->texts() == std::vector<std::string>{"A dog"}) << page;
  }
  EXPECT_EQ(opened("a.md", "![a fit](a.png)\n")->texts().size(), 1U);
}

TEST(MarkdownFile, BracketsHaveABackslashOnlyWhereTheyWouldBecomeALink) {
  const auto file =
      opened("a.md", "See [1] and [all](of that).\n\nThe [*one*] dog [1] of [a](b)\n\nA \\[b\\](c) [d]\n");
  ASSERT_THAT(file->texts(),
              ElementsAre("See [1] and [all](of that).", "The [<x0>one</x0>] dog [1] of <x1>a</x1>", "A [b](c) [d]"));
  EXPECT_EQ(file->with({"Siehe [alles](von dem) und [1]", "[1] Hund [von](dem) <x1>a</x1> [x]", "Ein [b](c) [d]"}),
            "Siehe [alles](von dem) und [1]\n\n[1] Hund [von\\](dem) [a](b) [x]\n\nEin [b\\](c) [d]\n");
  EXPECT_EQ(file->with({"a", "The <x1>one] dog</x1>", "b"}), "a\n\nThe [one] dog](b)\n\nb\n");
}

TEST(MarkdownFile, AttributesStayWithWhatIsBeforeThem) {
  const Pages texts{{"Change <small>it</small> { #a_b-*c* }", "Change <x0>it</x0> <x1/>"},
                    {"[Start](a.md \"b\"){.md-button target=_blank} now", "<x0>Start</x0> now"},
                    {"[Start][a]{ .b } **now**{: #c_d_ }", "<x0>Start</x0> <x1>now</x1>"},
                    {"Some [other *words*]{lang=en title=\"Good words &amp; [a](b)\"} here",
                     "Some <x0>other <x1>words</x1></x0> here"},
                    {"Exporting {/*exporting-components*/}", "Exporting <x0/>"},
                    {"A ![b](c.png){ width=300 } and `d`{.sh}", "A <x0/> and <var-x1/>"},
                    {":material-close:{ style=\"color: #EF5350\" } __Useless__", "<x0/> <x1>Useless</x1>"}};
  for (const auto& [page, text] : texts) expect_texts({{"# " + page, text}});
  EXPECT_EQ(shouted(*opened("a.md", "A [dog]{ data-preview } and [Cat]{.b}\n\n[Dog]: c\n")),
            "A [DOG][dog]{ data-preview } AND [CAT]{.b}\n\n[Dog]: c\n");
  EXPECT_THAT(opened("a.md", "A {data-driven approach} is good.\n\nA {data-a=1 .b} dog\n")->texts(),
              ElementsAre("A {data-driven approach} is good.", "A <x0/> dog"));
  for (const std::string text : {"{very} good", "${a=b} {name} {==one==} {{ a=b }}", "{ a, b } {...props} { # no }"})
    EXPECT_THAT(opened("a.md", text + '\n')->texts(), ElementsAre(::testing::HasSubstr(text.substr(0, 5)))) << text;
}

TEST(MarkdownFile, RolesAreOneWithTheirCode) {
  expect_texts({{"Methods :cite:`Mnih.2014`, :cite:`A`{.b} are good", "Methods <var-x0/>, <var-x1/> are good"},
                {":numref:`fig_one` is {cite:p}`one`", "<var-x0/> is <var-x1/>"},
                {"It is: `a`, 10:30:`b` {}`c` d :`e`", "It is: <var-x0/>, 10:30:<var-x1/> {}<var-x2/> d :<var-x3/>"}});
  EXPECT_THAT(opened("a.md", ":&nGt;:`a` b\n")->texts(), ElementsAre(":≫⃒:<var-x0/> b")) << "shorter than its role";
}

TEST(MarkdownFile, HighlightedWordsAreASpan) {
  expect_texts({{"Some ==very *important* words== are", "Some <x0>very <x1>important</x1> words</x0> are"},
                {"==A== (==b==), ~~c ==d== e~~ `==` {==f==} ==g ~~h~~ i==",
                 "<x0>A</x0> (<x1>b</x1>), <x2>c ==d== e</x2> <var-x3/> {<x4>f</x4>} ==g <x5>h</x5> i=="},
                {"这是==重点==内容", "这是<x0>重点</x0>内容"},
                {"If a==b or c == d, ==e ==f, g==, ~~h== i~~ ===j===",
                 "If a==b or c == d, ==e <x0>f, g</x0>, <x1>h== i</x1> ===j==="}});
  EXPECT_THAT(opened("a.md", "A ==title\n==\n\n==a\n\nb== c\n\n| ==d | e== |\n|---|---|\n")->texts(),
              ElementsAre("A ==title", "==a", "b== c", "==d", "e=="));
}

TEST(MarkdownFile, LinesThatOthersSeeAreTextsOfTheirOwn) {
  const Pages pages{
      {"One line. \nand  \nTwo\\\nthree\n", "ONE LINE. AND  \nTWO\\\nTHREE\n"},
      {"- a<br> b <br/>\n  c\n- d\n", "- A<br> B <br/>\n  C\n- D\n"},
      {"**bold  \nline**  \nc\n", "**BOLD  \nLINE**  \nC\n"},
      {"| a |\n|---|\n| b<br>c |\n", "| A |\n|---|\n| B<br>C |\n"},
      {"> [!NOTE] a title\n> A note\n> goes on.\n", "> [!NOTE] A TITLE\n> A NOTE GOES ON.\n"},
      {"[^1]: The one.\n[^2]: The\nother.\n", "[^1]: THE ONE.\n[^2]: THE OTHER.\n"},
      {"[^1]: The one.\n\n    The\n    *second*.\n\n\t- third\n\n        code\n\nWords.\n\n    code\n",
       "[^1]: THE ONE.\n\n    THE *SECOND*.\n\n\t- THIRD\n\n        code\n\nWORDS.\n\n    code\n"},
      {"[^1]: The one,\n    hanging\n\n    ```\n    code\n    ```\n",
       "[^1]: THE ONE, HANGING\n\n    ```\n    code\n    ```\n"},
      {"Term\n: Meaning\n\n    More of it\n\nTerm\n\n    code\n",
       "TERM\n: MEANING\n\n    MORE OF IT\n\nTERM\n\n    code\n"},
      {"(@) One\n(@) Two\n", "(@) ONE\n(@) TWO\n"},
      {"#. One\n#. Two\n", "#. ONE\n#. TWO\n"},
      {"a) One\nb) Two\nand more\n", "A) ONE\nB) TWO AND MORE\n"},
      {"(1) One\n(2) Two (in\n3d) words\n", "(1) ONE\n(2) TWO (IN 3D) WORDS\n"},
      {"A word.\n{: .note }\n", "A WORD.\n{: .note }\n"},
      {"{: .note }\nA word.\n{ .annotate }\nor\ntwo\n{ .a\n", "{: .note }\nA WORD.\n{ .annotate }\nOR TWO { .A\n"},
      {"Term\n: What\nit is\n: *Or* that\n", "TERM\n: WHAT IT IS\n: *OR* THAT\n"},
      {"| a | b |\n| c | d |\n", "| A | B |\n| C | D |\n"},
      {"**a  \nb** \\<br x1/> c\n", "**A  \nB** \\<br x1/> C\n"},
      {"a | b\n-|:-\nc |  *d*\n| e\nf\n", "A | B\n-|:-\nC |  *D*\n| E\nF\n"},
      {"Words\n| a | *b* \\| c |\n|---|:-:|\n| `d` ||\n|e\n", "WORDS\n| A | *B* \\| C |\n|---|:-:|\n| `d` ||\n|E\n"},
      {"[![a](b.png)](c)\n[![d](e.png)](f) two\nlines\n", "[![a](b.png)](c) [![d](e.png)](f) TWO LINES\n"}};
  for (const auto& [page, translated] : pages) {
    EXPECT_EQ(shouted_page(page), translated);
    const auto file = opened("a.md", page);
    for (const std::string& text : file->texts()) EXPECT_NE(text.find_first_of(":|["), 0U) << text;
  }
}

TEST(MarkdownFile, BlocksOfSiteGeneratorsKeepTheirLines) {
  const Pages pages{
      {"{% hint style=\"info\" %}\nA word\nor two.\n{% endhint %}\n",
       "{% hint style=\"info\" %}\nA WORD OR TWO.\n{% endhint %}\n"},
      {"import A from '@a/b';\nimport {c} from \"d\"\nexport const x = 5;\nA word\nimport it from there\n",
       "import A from '@a/b';\nimport {c} from \"d\"\nexport const x = 5;\nA WORD IMPORT IT FROM THERE\n"},
      {"{* ../a/b.py hl[1:2] *}\nA word {*args}\n", "{* ../a/b.py hl[1:2] *}\nA WORD {\\*ARGS}\n"},
      {"{% raw %}\r\nA word\r\n{% endraw %}\r\n", "{% raw %}\r\nA WORD\r\n{% endraw %}\r\n"},
      {"A {% if a %}dog{% endif %}\n{% if b %}or{% endif %}\nmore\n",
       "A {% if a %}DOG{% endif %} {% if b %}OR{% endif %} MORE\n"},
      {"{{< tabs >}}\nA word\n{{% tab \"a\" %}}\nor two\n{{#include b.md}}\n",
       "{{< tabs >}}\nA WORD\n{{% tab \"a\" %}}\nOR TWO\n{{#include b.md}}\n"},
      {"A word\n{%- highlight ruby -%}\ndef a\n\n# {% b %}\n{%- endhighlight -%}\nor two\n",
       "A WORD\n{%- highlight ruby -%}\ndef a\n\n# {% b %}\n{%- endhighlight -%}\nOR TWO\n"},
      {"> {{< highlight go >}}\n> a b\n> {{< /highlight >}}\n\nA word\n",
       "> {{< highlight go >}}\n> a b\n> {{< /highlight >}}\n\nA WORD\n"},
      {"1. ```\n   {% highlight a %}\n   ```\n\nA word\n\n{% endhighlight %}\n",
       "1. ```\n   {% highlight a %}\n   ```\n\nA WORD\n\n{% endhighlight %}\n"},
      {"{% highlight a %}\n\n\\begin{\n\nA word\n", "{% highlight a %}\n\n\\BEGIN{\n\nA WORD\n"},
      {"A word\n\\begin{align*}\nx = \\text{no word}\n\\end{align*}.\nor two\n",
       "A WORD\n\\begin{align*}\nx = \\text{no word}\n\\end{align*}.\nOR TWO\n"},
      {"$$\nx\n- y\n$$\nA word\n\n\\\\[\nz\n\\\\]\n", "$$\nx\n- y\n$$\nA WORD\n\n\\\\[\nz\n\\\\]\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, AdmonitionsAndTabsKeepTheirKindAndTheirLines) {
  const Pages pages{
      {"??? warning \"Be careful\"\n    A word\n    or *two*.\n\n    More\n\nEnd\n",
       "??? warning \"BE CAREFUL\"\n    A WORD OR *TWO*.\n\n    MORE\n\nEND\n"},
      {"A word\n!!! note inline end\n\n    Text\n\n        code\n",
       "A WORD\n!!! note inline end\n\n    TEXT\n\n        code\n"},
      {"???+ tip \"A *b* `c`\"  \r\n    Text\r\n", "???+ tip \"A *B* `c`\"  \r\n    TEXT\r\n"},
      {"!!! note \"\"\nText\n", "!!! note \"\"\nTEXT\n"},
      {"=== \"The tab\"\n\n    ```sh\n    no\n    ```\n\n    !!! note\n        Text\n\n=== \"Other\"\n    B\n",
       "=== \"THE TAB\"\n\n    ```sh\n    no\n    ```\n\n    !!! note\n        TEXT\n\n=== \"OTHER\"\n    B\n"},
      {"> !!! note \"A\"\n>     b\n", "> !!! note \"A\"\n>     B\n"},
      {"!!! What a great day it is\nhere\n", "!!! WHAT A GREAT DAY IT IS HERE\n"},
      {"??? Really?\nYes\n\nTitle\n===\n", "??? REALLY? YES\n\nTITLE\n===\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, ContainersHaveTheirTitlesAndTextsTranslated) {
  const Pages pages{
      {"A word\n:::note\nA word.\n:::\n", "A WORD\n:::note\nA WORD.\n:::\n"},
      {"::: details Click *me*\nA word.\n:::\n", "::: details CLICK *ME*\nA WORD.\n:::\n"},
      {"1. a\n\n   :::tip[The *dog* [one]]{#id}  \n   b\n   :::\n",
       "1. A\n\n   :::tip[THE *DOG* [ONE]]{#id}  \n   B\n   :::\n"},
      {"::: code-group a\n::: {.note title=\"a b\"}\nA\n::::: Warning ::::::\n",
       "::: code-group a\n::: {.note title=\"a b\"}\nA\n::::: Warning ::::::\n"},
      {"::: a_package.a\n    options:\n      show: true\n\nA word\n",
       "::: a_package.a\n    options:\n      show: true\n\nA WORD\n"},
      {":::{card} Title\n:link: a-page\n:link-type: ref\nText\n+++\n[more](a-page)\n:::\n:note: b\n",
       ":::{card} TITLE\n:link: a-page\n:link-type: ref\nTEXT\n+++\n[MORE](a-page)\n:::\n:NOTE: B\n"},
      {":::tip\n:rocket: fast\n:::\n", ":::tip\n:ROCKET: FAST\n:::\n"},
      {"```{figure} a.png\n---\nname: a-name\nalt: a dog\n---\nA word\n```\n",
       "```{figure} a.png\n---\nname: a-name\nalt: a dog\n---\nA WORD\n```\n"},
      {"1. :::note\n   A word\n   :::\n\n| a | :::image type=\"icon\":::|\n|---|---|\n",
       "1. :::note\n   A WORD\n   :::\n\n| A | :::image type=\"icon\":::|\n|---|---|\n"},
      {"(a-page)=\nA\n\n:::{figure} a/b\nA word\n:::\n", "(a-page)=\nA\n\n:::{figure} a/b\nA WORD\n:::\n"},
      {"````{admonition} A title\n:class: tip\nA word\n```{note}\nb\n```\n```py\nc\n```\nd\n````\n```\ne\n```\n",
       "````{admonition} A TITLE\n:class: tip\nA WORD\n```{note}\nB\n```\n```py\nc\n```\nD\n````\n```\ne\n```\n"},
      {"```{r}\n```{note}\n```\n\n~~~{figure} a.png\n:alt: b\n\nA word\n~~~\nb\n",
       "```{r}\n```{note}\n```\n\n~~~{figure} a.png\n:alt: b\n\nA WORD\n~~~\nB\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, BlocksWithSlashesAndAbbreviationsKeepTheirLines) {
  const Pages pages{
      {"/// note | Technical *Details*\nYou could\nalso.\n///\nMore\n",
       "/// note | TECHNICAL *DETAILS*\nYOU COULD ALSO.\n///\nMORE\n"},
      {"A word\n//// tab|Python `3.10`\r\n    new: true\n\nText\n/// tip\n    type: warning\n///\n////\n",
       "A WORD\n//// tab|PYTHON `3.10`\r\n    new: true\n\nTEXT\n/// tip\n    type: warning\n///\n////\n"},
      {"- A\n\n    /// html | div.one\n    B\n    ///\n/// figure-caption | ^2\nC\n///\n",
       "- A\n\n    /// html | div.one\n    B\n    ///\n/// figure-caption | ^2\nC\n///\n"},
      {"/// is a comment\n// tip\n/// | one\n", "/// IS A COMMENT // TIP /// | ONE\n"},
      {"> /// note\n> a\n> ///\n", "> /// note\n> A\n> ///\n"},
      {":begin_tab:`mxnet`\nA word\n:end_tab:\n", ":begin_tab:`mxnet`\nA WORD\n:end_tab:\n"},
      {"The HTML by W3C\n*[HTML]: Hyper Text\n*[W3C]: World Wide\n",
       "THE HTML BY W3C\n*[HTML]: HYPER TEXT\n*[W3C]: WORLD WIDE\n"},
      {"*[one]: a* b\n*[a](b) c* d\n*[]: e\n", "*[one]: A\\* B\n*[A](b) C* D \\*[]: E\n"}};
  for (const auto& [page, translated] : pages) EXPECT_EQ(shouted_page(page), translated);
}

TEST(MarkdownFile, LinesWithOneSentenceEachStayLines) {
  const std::string page =
      "> It runs a program.\n> It shows the **output.**\n> More: <http://a.b>.\n\n"
      "- The dog ran.\r\n  (The cat slept.)\r\n  Nobody knows!";
  const auto file = opened("a.md", page);
  EXPECT_THAT(file->texts(), ElementsAre("It runs a program.", "It shows the <x0>output.</x0>", "More: <x0/>.",
                                         "The dog ran.", "(The cat slept.)", "Nobody knows!"));
  EXPECT_EQ(shouted_page(page),
            "> IT RUNS A PROGRAM.\n> IT SHOWS THE **OUTPUT.**\n> MORE: <http://a.b>.\n\n"
            "- THE DOG RAN.\r\n  (THE CAT SLEPT.)\r\n  NOBODY KNOWS!");
  for (const char* wrapped :
       {"Ask Mr.\nSmith. He knows.\n", "It ran.\nIt was\ntired.\n", "It ran.\nWhere to\n", "*It ran.\nIt slept.*\n"})
    EXPECT_EQ(opened("a.md", wrapped)->texts().size(), 1U) << wrapped;
}

TEST(MarkdownFile, LinesOfScriptsWithoutSpacesAreJoinedWithoutOne) {
  EXPECT_THAT(opened("a.md", "彼は家で働\nく。\n\n彼はNHK\nで働く\n")->texts(),
              ElementsAre("彼は家で働く。", "彼はNHK で働く"));
}

// Each bracket looked at all lines of its paragraph before it: 17 s for a server's largest request of them.
TEST(MarkdownFile, ManyLinesOfBracketsAreReadAtOnce) {
  std::string page;
  for (int i = 0; i < 200'000; ++i) page += "[a]\n";
  std::unique_ptr<OpenedFile> file;
  EXPECT_LT(cpu_seconds_of([&] { file = opened("a.md", page); }), 3);
  EXPECT_TRUE(file->with(file->texts()) == page);
}

TEST(MarkdownFile, LongListsAndTablesKeepTheirLinks) {
  std::string list, table = "| a | b |\n|---|---|\n";
  for (int i = 0; i < 11'000; ++i) {
    list += "- See [a](b)\n";
    table += "| See | [a](b) |\n";
  }
  EXPECT_EQ(opened("a.md", list)->texts().back(), "See <x0>a</x0>");
  EXPECT_EQ(opened("a.md", table)->texts().back(), "<x0>a</x0>");
}

TEST(MarkdownFile, AByteOrderMarkIsNoText) {
  EXPECT_EQ(shouted(*opened("a.md", "\xEF\xBB\xBF# One\n")), "\xEF\xBB\xBF# ONE\n");
  EXPECT_EQ(shouted(*opened("a.md", "\xEF\xBB\xBF---\na: b\n---\nOne\n")), "\xEF\xBB\xBF---\na: b\n---\nONE\n");
}

}  // namespace
}  // namespace transmute::testing
