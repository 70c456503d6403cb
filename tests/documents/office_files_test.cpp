// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/packed_file.h>
#include <transmute/documents/xml_tokens.h>
#include <transmute/tests/documents/file_support.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/tests/support/zip_files.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Texts = std::vector<std::string>;

std::string word_file(const std::string& body) {
  return zip_of({{"[Content_Types].xml", "<Types/>"},
                 {"word/document.xml", "<w:document><w:body>" + body + "</w:body></w:document>"}});
}

Texts word_texts(const std::string& body) {
  return opened("a.docx", word_file(body))->texts();
}

Texts writer_texts(const std::string& content) {
  return opened("a.odt", zip_of({{"content.xml", content}}))->texts();
}

// The body of a Word file after its texts were written in capitals.
std::string shouted_body(const std::string& body) {
  const std::string xml = member_of(shouted(*opened("a.docx", word_file(body))), "word/document.xml");
  return xml.substr(20, xml.size() - 42);
}

std::string run(const std::string& text, const std::string& properties = "") {
  return "<w:r>" + properties + "<w:t xml:space=\"preserve\">" + text + "</w:t></w:r>";
}

TEST(WordFile, RunsThatLookTheSameAreOne) {
  const std::string body =
      "<w:p><w:pPr><w:jc/></w:pPr><w:r w:rsidR=\"1\"><w:t xml:space=\"preserve\">One </w:t></w:r><w:proofErr/>"
      "<w:r w:rsidR=\"2\"><w:rPr><w:lang w:val=\"en\"/></w:rPr><w:t>sentence.</w:t></w:r></w:p>";
  const auto file = opened("a.docx", word_file(body));
  EXPECT_THAT(file->texts(), ElementsAre("One sentence."));
  EXPECT_EQ(file->with(file->texts()), word_file(body));
  EXPECT_EQ(
      shouted_body(body),
      "<w:p><w:pPr><w:jc/></w:pPr><w:r w:rsidR=\"1\"><w:t xml:space=\"preserve\">ONE SENTENCE.</w:t></w:r></w:p>");
}

TEST(WordFile, SmartTagsAreDroppedAroundTheirWords) {
  const std::string tag = "<w:smartTag w:element=\"place\"><w:smartTagPr/>";
  const std::string body = "<w:p>" + run("in ") + tag + tag + run("New York") + "</w:smartTag>" + run(" ") + tag +
                           run("City") + "</w:smartTag></w:smartTag>" + run(" now") + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("in New York City now"));
  EXPECT_EQ(shouted_body(body), "<w:p>" + run("IN NEW YORK CITY NOW") + "</w:p>");
}

TEST(WordFile, SpacesBetweenColumnsStay) {
  EXPECT_EQ(shouted_body("<w:p>" + run("    Name:      the   date     ") + "</w:p>"),
            "<w:p>" + run("    ") + run("NAME:") + run("      ") + run("THE   DATE") + run("     ") + "</w:p>");
  const std::string content = "<text:p>Name: <text:s text:c=\"12\"/>the <text:s text:c=\"2\"/>date</text:p>";
  EXPECT_THAT(writer_texts(content), ElementsAre("Name: ", "the <img 0>date"));
}

TEST(WordFile, UnderlinedSpacesAreAWordToFillIn) {
  const std::string line = run("     ", "<w:rPr><w:u w:val=\"single\"/></w:rPr>");
  const std::string body = "<w:p>" + run("Name: ") + line + run(" Date: ") + line + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("Name: <var-0/> Date: <var-1/>"));
  EXPECT_EQ(shouted_body(body), "<w:p>" + run("NAME: ") + line + run(" DATE: ") + line + "</w:p>");
  const std::string gap = run("     ", "<w:rPr><w:u w:val=\"none\"/></w:rPr>");
  EXPECT_THAT(word_texts("<w:p>" + run("Name:") + gap + run("Date:") + "</w:p>"), ElementsAre("Name:", "Date:"));
  const std::string slide =
      "<a:p><a:r><a:t>Name: </a:t></a:r><a:r><a:rPr u=\"dbl\"/><a:t>     </a:t></a:r><a:r><a:t> "
      "Date:</a:t></a:r></a:p>";
  EXPECT_THAT(
      opened("a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"}, {"ppt/slides/slide1.xml", slide}}))->texts(),
      ElementsAre("Name: <var-0/> Date:"));
}

TEST(WordFile, FormattingMovesWithItsWords) {
  const std::string bold = "<w:rPr><w:b/></w:rPr>";
  const auto file = opened("a.docx", word_file("<w:p>" + run("A ") + run("red", bold) + run(" car here") + "</w:p>"));
  ASSERT_THAT(file->texts(), ElementsAre("A <b 0>red</b> car here"));
  EXPECT_THAT(member_of(file->with({"Une voiture <b 0>rouge</b> ici"}), "word/document.xml"),
              HasSubstr("<w:p>" + run("Une voiture ") + run("rouge", bold) + run(" ici") + "</w:p>"));
}

TEST(WordFile, LinksNotesAndFieldsStay) {
  const std::string page_number =
      "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>"
      "<w:r><w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>seven</w:t></w:r>"
      "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>";
  const std::string note = "<w:r><w:footnoteReference w:id=\"1\"/></w:r>";
  const std::string body = "<w:p>" + run("See ") + "<w:hyperlink r:id=\"x\">" + run("the site") + "</w:hyperlink>" +
                           note + run(" on page ") + page_number + run(" now.") + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("See <b 0>the site</b><img 1> on page <var-2/> now."));
  EXPECT_EQ(shouted_body(body), "<w:p>" + run("SEE ") + "<w:hyperlink r:id=\"x\">" + run("THE SITE") +
                                    "</w:hyperlink>" + note + run(" ON PAGE ") + page_number + run(" NOW.") + "</w:p>");
}

TEST(WordFile, FieldsAndFormulasAreWords) {
  const std::string table = "<w:fldSimple w:instr=\"REF a\">" + run("Table 3") + "</w:fldSimple>",
                    sum = "<m:oMath><m:r><m:t>x+y</m:t></m:r></m:oMath>",
                    guide = "<w:r><w:ruby><w:rt>" + run("a") + "</w:rt><w:rubyBase>" + run("b") +
                            "</w:rubyBase></w:ruby></w:r>",
                    note = "<w:r><w:footnoteReference w:id=\"1\"/></w:r>";
  const std::string body = "<w:p>" + table + run(" shows that ") + sum + run(" is near ") + guide + note + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("<var-0/> shows that <var-1/> is near <var-2/>"));
  EXPECT_EQ(shouted_body(body),
            "<w:p>" + table + run(" SHOWS THAT ") + sum + run(" IS NEAR ") + guide + note + "</w:p>");
  EXPECT_EQ(shouted_body("<w:p>" + sum + table + "</w:p>"), "<w:p>" + sum + table + "</w:p>");
}

TEST(WordFile, ResultsOfFormsReferencesAndTablesOfContentsAreText) {
  const auto part = [](const std::string& content) { return "<w:r>" + content + "</w:r>"; };
  const auto field = [&](const std::string& instruction, const std::string& result) {
    return part("<w:fldChar w:fldCharType=\"begin\"/>") + part("<w:instrText>" + instruction + "</w:instrText>") +
           part("<w:fldChar w:fldCharType=\"separate\"/>") + result + part("<w:fldChar w:fldCharType=\"end\"/>");
  };
  const std::string entry = field("HYPERLINK x", run("Chapter") + part("<w:tab/>") + field("PAGEREF a", run("one")));
  EXPECT_THAT(word_texts("<w:p>" + run("Name: ") + field("FORMTEXT", run("your name")) + run(" or ") +
                         field("FORMTEXT", run("&#x2002;")) + run(" of ") + field("REF a", run("(a)")) + run(" in ") +
                         field(" REF b", run("Figure 2")) + "</w:p><w:p>" + field("TOC", entry) + "</w:p>"),
              ElementsAre("Name: <b 0>your name</b> or <var-1/> of <var-2/> in <b 3>Figure 2</b>", "Chapter"));
}

TEST(WordFile, EntriesOfIndexesAndPicturesAreNoWords) {
  const auto field = [](const std::string& instruction) {
    return "<w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText> </w:instrText></w:r><w:r><w:instrText>" +
           instruction + "</w:instrText></w:r><w:r><w:fldChar w:fldCharType=\"end\"/></w:r>";
  };
  EXPECT_THAT(word_texts("<w:p>" + field(" FORMCHECKBOX ") + run("A dog") + field("XE \"dog\"") + run(" on page ") +
                         field("page") + field(" includepicture x") + "</w:p>"),
              ElementsAre("A dog<img 0> on page <var-1/>"));
}

TEST(WordFile, AHyphenInARunOfItsOwnIsText) {
  EXPECT_EQ(shouted_body("<w:p>" + run("well") + "<w:r><w:noBreakHyphen/></w:r>" + run("known") + "</w:p>"),
            "<w:p>" + run("WELL-KNOWN") + "</w:p>");
}

TEST(WordFile, ARunMayHoldTextAndFields) {
  const std::string begin = "<w:fldChar w:fldCharType=\"begin\"/>", end = "<w:fldChar w:fldCharType=\"end\"/>",
                    separate = "<w:fldChar w:fldCharType=\"separate\"/>";
  const auto text = [](const std::string& words) { return "<w:t xml:space=\"preserve\">" + words + "</w:t>"; };
  const std::string page = begin + "<w:instrText>PAGE</w:instrText>" + separate + text("seven") + end,
                    pages = begin + "</w:r><w:r><w:instrText>NUMPAGES</w:instrText></w:r><w:r>" + end,
                    site = begin + "<w:instrText>HYPERLINK \"x\"</w:instrText>" + separate;
  const std::string body = "<w:p><w:r>" + text("page ") + page + text(" of ") + pages + text(" in ") + site +
                           text("the book") + end + text(" here") + "</w:r></w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("page <var-0/> of <var-1/> in <b 2>the book</b> here"));
  EXPECT_EQ(shouted_body(body), "<w:p>" + run("PAGE ") + "<w:r>" + page + "</w:r>" + run(" OF ") + "<w:r>" + pages +
                                    "</w:r>" + run(" IN ") + "<w:r>" + site + "</w:r>" + run("THE BOOK") + "<w:r>" +
                                    end + "</w:r>" + run(" HERE") + "</w:p>");
  // One mark of a field whose others are in another paragraph.
  EXPECT_EQ(shouted_body("<w:p><w:r>" + end + text("one") + begin + "</w:r></w:p>"),
            "<w:p><w:r>" + end + "</w:r>" + run("ONE") + "<w:r>" + begin + "</w:r></w:p>");
}

TEST(WordFile, FieldsTakeLinearTime) {
  std::string begins, ends;
  for (int i = 0; i < 30'000; ++i) {
    begins +=
        "<w:r><w:fldChar w:fldCharType=\"begin\"/><w:instrText>HYPERLINK</w:instrText>"
        "<w:fldChar w:fldCharType=\"separate\"/></w:r>";
    ends += "<w:r><w:fldChar w:fldCharType=\"end\"/></w:r>";
  }
  for (const std::string& end : {std::string(), ends}) {
    const std::string file = word_file("<w:p>" + begins + run("one") + end + "</w:p>");
    EXPECT_LT(cpu_seconds_of([&] { EXPECT_THAT(opened("a.docx", file)->texts(), ElementsAre("one")); }), 10);
  }
}

TEST(WordFile, TheEndsOfARangeAreAPair) {
  const std::string begin = "<w:commentRangeStart w:id=\"3\"/>", end = "<w:commentRangeEnd w:id=\"3\"/>";
  const std::string empty = "<w:bookmarkStart w:id=\"1\" w:name=\"a\"/><w:bookmarkEnd w:id=\"1\"/>";
  const auto file =
      opened("a.docx", word_file("<w:p>" + empty + run("A ") + begin + run("red") + end + run(" car") + "</w:p>"));
  ASSERT_THAT(file->texts(), ElementsAre("A <b 0>red</b> car"));
  EXPECT_THAT(member_of(file->with({"Une voiture <b 0>rouge</b>"}), "word/document.xml"),
              HasSubstr("<w:p>" + empty + run("Une voiture ") + begin + run("rouge") + end + "</w:p>"));
  // A range that does not nest with a link, or that reaches beyond a line, has two tags.
  EXPECT_THAT(word_texts("<w:p>" + run("a ") + begin + run("b") + "<w:hyperlink>" + run("c") + end + run("d") +
                         "</w:hyperlink></w:p><w:p>" + run("e ") + begin + run("f") + "<w:r><w:br/></w:r>" + run("g ") +
                         end + run("h") + "</w:p>"),
              ElementsAre("a <img 0>b<b 1>c<img 2>d</b>", "e <img 0>f", "g <img 0>h"));
  // Sentences are not cut within tags.
  EXPECT_THAT(word_texts("<w:p>" + run("One. ") + begin + run("Two. Three.") + end + run(" Four.") + "</w:p><w:p>" +
                         run("One. ") + begin + run("Two.") + end + "</w:p>"),
              ElementsAre("One. <img 0>Two. Three.<img 1> Four.", "One. <b 0>Two.</b>"));
}

TEST(WordFile, LineBreaksAndTabsEndATextAndLinksAroundThemStay) {
  const std::string body = "<w:p><w:hyperlink>" + run("one") + "<w:r><w:tab/></w:r>" + run("two") +
                           "</w:hyperlink><w:r><w:t xml:space=\"preserve\">a</w:t><w:br/><w:t xml:space=\"preserve\">b"
                           "</w:t></w:r></w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("one", "two", "a", "b"));
  EXPECT_EQ(shouted_body(body), "<w:p><w:hyperlink>" + run("ONE") + "<w:r><w:tab/></w:r>" + run("TWO") +
                                    "</w:hyperlink>" + run("A") + "<w:r><w:br/></w:r>" + run("B") + "</w:p>");
}

TEST(WordFile, TextBoxesWithinAParagraphAreTranslatedByThemselves) {
  const std::string box =
      "<w:r><w:drawing><w:txbxContent><w:p>" + run("in the box") + "</w:p></w:txbxContent></w:drawing></w:r>";
  const std::string body = "<w:p>" + run("before ") + box + run("after") + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("before <img 0>after", "in the box"));
  EXPECT_EQ(shouted_body(body), "<w:p>" + run("BEFORE ") + "<w:r><w:drawing><w:txbxContent><w:p>" + run("IN THE BOX") +
                                    "</w:p></w:txbxContent></w:drawing></w:r>" + run("AFTER") + "</w:p>");
}

TEST(WordFile, DeletedTextCodeAndNumbersStay) {
  const std::string body = "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins>" + run("new text") +
                           "</w:ins></w:p>" + "<w:p><w:pPr><w:pStyle w:val=\"SourceCode\"/></w:pPr>" + run("int x") +
                           "</w:p>" + "<w:p><w:pPr><w:pStyle w:val=\"MacroText\"/></w:pPr>" + run("int y") + "</w:p>" +
                           "<w:p>" + run("Call ") + run("main()", "<w:rPr><w:rStyle w:val=\"HTMLCode\"/></w:rPr>") +
                           run(" twice.") + "</w:p><w:p>" + run("12.50") + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("new text", "Call <var-0/> twice."));
}

TEST(WordFile, CodeThatAnEditorHasDividedIsOneWord) {
  const std::string style = "<w:rPr><w:rStyle w:val=\"HTMLCode\"/></w:rPr>";
  const std::string code = run("std::", style) + "<w:proofErr/>" + run("move", style);
  const std::string body = "<w:p>" + run("Call ") + code + run(" or ") + run("f()", style) + run(" now.") + "</w:p>";
  EXPECT_THAT(word_texts(body), ElementsAre("Call <var-0/> or <var-1/> now."));
  EXPECT_EQ(shouted_body(body),
            "<w:p>" + run("CALL ") + code + run(" OR ") + run("f()", style) + run(" NOW.") + "</w:p>");
}

std::string font(const std::string& name) {
  return "<w:rPr><w:rFonts w:ascii=\"" + name + "\" w:hAnsi=\"" + name + "\"/></w:rPr>";
}

// A paragraph in a monospaced font.
std::string mono(const std::string& text) {
  return "<w:p>" + run(text, font("Courier New")) + "</w:p>";
}

std::string word_file(const std::string& body, const std::string& styles) {
  return zip_of({{"[Content_Types].xml", "<Types/>"},
                 {"word/document.xml", "<w:document><w:body>" + body + "</w:body></w:document>"},
                 {"word/styles.xml", "<w:styles>" + styles + "</w:styles>"}});
}

TEST(WordFile, CodeInAMonospacedFontStays) {
  const std::string intro = "<w:p>" + run("The program:") + "</w:p>";
  EXPECT_THAT(word_texts(intro + mono("def main(args):") + mono("    total = 0") + mono("") +
                         mono("    # Adds all of the numbers to it") +
                         mono("    total += 1 // for each one of the arguments") + mono("    print('total', 1)")),
              ElementsAre("The program:"));
  // The runs are of several colors, and lines may be in one paragraph.
  EXPECT_THAT(word_texts("<w:p>" + run("int", font("Consolas")) + run(" ") + run("main() {", font("Consolas")) +
                         "<w:r><w:br/></w:r>" + run("return first", font("Consolas")) + "</w:p>"),
              ElementsAre());
  // Without the font, or in the one of complex scripts alone, nothing tells code from text.
  for (const char* properties : {"", "<w:rPr><w:rFonts w:cs=\"Courier New\"/></w:rPr>",
                                 "<w:rPr><w:rFonts w:ascii=\"Consolas\" w:asciiTheme=\"minorHAnsi\"/></w:rPr>",
                                 "<w:rPr><w:rFonts w:ascii=\"Monotype Corsiva\"/></w:rPr>"})
    EXPECT_THAT(word_texts("<w:p>" + run("def main(args=1):", properties) + "</w:p>"),
                ElementsAre("def main(args=1):"));
}

TEST(WordFile, TextInAMonospacedFontIsTranslated) {
  // A film, a contract, a form, a letter, and a manual: a name in a sentence makes no code of it.
  for (const char* text :
       {"INT. HOUSE - NIGHT", "[laughs]", "(a) the Buyer shall pay the price of the goods;", "Name: ________",
        "[ ] Yes   [X] No", "Amount (USD): $ 500.00", "Interest (%): 5", "Dear {name},", "Menu -> Options",
        "the file(s) of the user", "Use my_var and std::move to name the values of the list.",
        "Call print('x') to show it.", "*** The End ***", "See https://example.com for all the other details",
        "======== Part ========", "= the result of both", "Bücher; [x]"})
    EXPECT_THAT(word_texts(mono(text) + mono("Hello") + mono(text)), ElementsAre(text, "Hello", text));
  // So is a sentence between lines of code.
  EXPECT_THAT(word_texts(mono("x = f(1, 2);") + mono("This line tells what the program does.") + mono("y = g(x, 3);")),
              ElementsAre("This line tells what the program does."));
}

TEST(WordFile, MonospacedWordsWithinASentenceAreCodeAmongCode) {
  const auto sentence = [](const std::string& word) {
    return "<w:p>" + run("The word ") + run(word, font("Consolas")) + run(" comes first.") + "</w:p>";
  };
  EXPECT_THAT(word_texts(sentence("my_value") + sentence("std::move(x)")),
              ElementsAre("The word <var-0/> comes first.", "The word <var-0/> comes first."));
  EXPECT_THAT(word_texts(sentence("value")), ElementsAre("The word <b 0>value</b> comes first."));
  const std::string code = mono("a = f(1, 2);") + mono("b = f(2, 3);");
  EXPECT_THAT(word_texts(code + sentence("value") + sentence("of a set of it")),
              ElementsAre("The word <var-0/> comes first.", "The word <b 0>of a set of it</b> comes first."));
}

TEST(WordFile, StylesTellTheFont) {
  const std::string styles =
      "<w:style w:type=\"paragraph\" w:default=\"1\" w:styleId=\"Normal\"/>"
      "<w:style w:type=\"paragraph\" w:styleId=\"Listing\"><w:basedOn w:val=\"Base\"/></w:style>"
      "<w:style w:type=\"paragraph\" w:styleId=\"Base\">" +
      font("Lucida Console") +
      "</w:style>"
      "<w:style w:type=\"character\" w:styleId=\"Literal\">" +
      font("Source Code Pro") +
      "</w:style>"
      "<w:style w:type=\"character\" w:styleId=\"Plain\">" +
      font("Arial") + "</w:style>";
  const auto paragraph = [](const std::string& style, const std::string& properties) {
    return "<w:p><w:pPr><w:pStyle w:val=\"" + style + "\"/></w:pPr>" + run("x = f(1, 2);", properties) + "</w:p>";
  };
  const auto of_style = [](const std::string& name) { return "<w:rPr><w:rStyle w:val=\"" + name + "\"/></w:rPr>"; };
  const auto texts = [&](const std::string& body, const std::string& all) {
    return opened("a.docx", word_file(body, all))->texts();
  };
  EXPECT_THAT(texts(paragraph("Listing", ""), styles), ElementsAre());
  EXPECT_THAT(texts(paragraph("Normal", of_style("Literal")), styles), ElementsAre());
  EXPECT_THAT(texts(paragraph("Normal", ""), styles), ElementsAre("x = f(1, 2);"));
  EXPECT_THAT(texts(paragraph("Listing", of_style("Plain")), styles), ElementsAre("x = f(1, 2);"));
  EXPECT_THAT(texts(paragraph("Listing", font("Arial")), styles), ElementsAre("x = f(1, 2);"));
  // The font of the whole document tells nothing.
  const std::string defaults =
      "<w:docDefaults><w:rPrDefault>" + font("Courier New") + "</w:rPrDefault></w:docDefaults>";
  EXPECT_THAT(texts(paragraph("Listing", ""), defaults + styles), ElementsAre("x = f(1, 2);"));
  // Styles that are based on each other end.
  EXPECT_THAT(
      texts(paragraph("A", ""), "<w:style w:type=\"paragraph\" w:styleId=\"A\"><w:basedOn w:val=\"A\"/></w:style>"),
      ElementsAre("x = f(1, 2);"));
}

TEST(WordFile, MonospacedLinesTakeLinearTime) {
  for (const std::string& line : {std::string("=A("), std::string("f(x "), std::string("a_"), std::string("{ ")}) {
    std::string text, paragraphs;
    for (int i = 0; i < 100'000; ++i) text += line;
    for (int i = 0; i < 20'000; ++i) paragraphs += mono(line);
    EXPECT_LT(cpu_seconds_of([&] { opened("a.docx", word_file(mono(text) + paragraphs)); }), 10);
  }
}

TEST(ExcelFile, TranslatesTextsAndNotTableHeaders) {
  const std::string strings =
      "<sst><si><t>Name</t></si><si><t>Two\nlines &amp; more</t></si><si><r><t>plain </t></r><r><rPr><b/></rPr>"
      "<t>bold</t></r></si><si><t>12</t></si><si><t>Dog\nprice</t></si><si><t>Cat\nprice</t></si><si><t>Total</t></"
      "si></sst>";
  const auto file =
      opened("a.xlsx", zip_of({{"[Content_Types].xml", "<Types/>"},
                               {"xl/tables/table1.xml",
                                "<table><tableColumn name=\"Name\"/><tableColumn name=\"Dog_x000a_price\"/>"
                                "<tableColumn name=\"Cat&#10;price\" totalsRowLabel=\"Total\"/></table>"},
                               {"xl/sharedStrings.xml", strings}}));
  EXPECT_THAT(file->texts(), ElementsAre("Two", "lines &amp; more", "plain <b 0>bold</b>"));
  EXPECT_THAT(member_of(shouted(*file), "xl/sharedStrings.xml"),
              HasSubstr("<si><t>Name</t></si><si><t>TWO\nLINES &amp; MORE</t></si>"));
}

// A workbook with a sheet, and with cells of these contents.
std::string workbook(const std::string& sheet, const std::vector<std::string>& cells) {
  std::string strings;
  for (const std::string& cell : cells) strings += "<si><t>" + cell + "</t></si>";
  return zip_of({{"[Content_Types].xml", "<Types/>"},
                 {"xl/worksheets/Sheet1.xml", "<worksheet>" + sheet + "</worksheet>"},
                 {"xl/sharedStrings.xml", "<sst>" + strings + "</sst>"}});
}

Texts workbook_texts(const std::string& sheet, const Texts& cells) {
  return opened("a.xlsx", workbook(sheet, cells))->texts();
}

TEST(ExcelFile, CellsThatFormulasAndFiltersNameStay) {
  EXPECT_THAT(workbook_texts("<f>SUMIF(A1:A3,\"&lt;&gt;Monday\",B1:B3)</f><f t=\"shared\">'It''s \"x'!A1"
                             "&amp;&quot;say \"\"hi\"\"&quot;</f><x:formula1>\"Open,Closed shop\""
                             "</x:formula1><formula>A1=\"Übrig\"</formula><filter val=\"Late\"/>",
                             {"monday", "Say \"hi\"", "Open", "closed shop ", "ÜBRIG", "Late", "It", "Sunday", "SUMIF",
                              "Monday morning"}),
              ElementsAre("It", "Sunday", "SUMIF", "Monday morning"));
  const std::string late = "It was late on a Monday when the man and his dog came back to the red house.";
  EXPECT_THAT(workbook_texts("<f>COUNTIF(A:A,\"&lt;&gt;Mon*\")</f><f>IF(ISNUMBER(SEARCH(\"late\",A1)),\"1*\","
                             "SEARCH(\"and\",A1))</f><f>IF(MATCH(IF(B1,\"Tue*\"),A:A),\"* name\")</f>"
                             "<customFilter val=\"*red*dog\"/><filter val=\"Price*\"/><tableColumn name=\"Sum *\"/>",
                             {"monday night", "too Late", "Red or big dog", "tuesday", "a dog, red", "soon, Mon", late,
                              "the name", "brand", "Price*", "prices", "Sum *", "sums"}),
              ElementsAre("a dog, red", "soon, Mon", late, "the name", "brand", "prices", "sums"));
  EXPECT_THAT(workbook_texts("<f>COUNTIF(A:A,\"日*\")</f><f>COUNTIF(A:A,\"Суб*\")</f>",
                             {"日本", "суббота, дома, в лесу и на реке"}),
              ElementsAre("日本"));
}

TEST(ExcelFile, DamagedFormulasTakeLinearTime) {
  for (const char* piece : {"'\"", "'\"''\"\"", "<f a='1'", "a=''", "\"a\"", "<f>\"a", "\"\xff"}) {
    std::string sheet = "<f ";
    while (sheet.size() < 400'000) sheet += piece;
    for (const char* beginning : {"<f>'", "<filter "}) {
      EXPECT_LT(cpu_seconds_of([&] { opened("a.xlsx", workbook(beginning + sheet, {"one"})); }), 10) << piece;
    }
  }
}

TEST(ExcelFile, ACellThatWouldBeTooLongStaysWithAWarning) {
  constexpr size_t kMost = 32'767;  // characters of a cell, as Excel counts them
  std::vector<std::string> warnings;
  DocumentFileOptions options;
  options.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  const std::string bold = "<si><r><t>a </t></r><r><rPr><b/></rPr><t>b</t></r></si>";
  const std::string content = workbook("", {"One &amp; two</t></si>" + bold + "<si><t>Three"});
  const auto file = opened("a.xlsx", content, options);
  ASSERT_THAT(file->texts(), ElementsAre("One &amp; two", "a <b 0>b</b>", "Three"));
  const auto strings = [&](const std::vector<std::string>& translations) {
    return member_of(file->with(translations), "xl/sharedStrings.xml");
  };
  const std::string longest(kMost - 1, 'x');  // besides the '&'
  EXPECT_THAT(strings({"&amp;" + longest, "c", "Drei"}), HasSubstr("<t>&amp;" + longest + "</t>"));
  EXPECT_THAT(warnings, ElementsAre());
  std::string faces;
  for (size_t units = 0; units <= kMost; units += 2) faces += "😀";
  EXPECT_THAT(strings({"&amp;" + longest + "x", "c <b 0>" + longest + "</b>", faces}),
              HasSubstr("<si><t>One &amp; two</t></si>" + bold + "<si><t>Three</t></si>"));
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_EQ(
      warnings.front(),
      "a.xlsx: xl/sharedStrings.xml: the text \"One & two …\" stays, because its translation has 32768 characters, "
      "and Excel reads at most 32767; divide it");
}

TEST(ExcelFile, WhatCellsAskForAndRefuseIsTranslated) {
  std::vector<std::string> warnings;
  DocumentFileOptions options;
  options.on_warning = [&](const std::string& message) { warnings.push_back(message); };
  const auto sheet = [](const std::string& title, const std::string& prompt, const std::string& error) {
    return "<worksheet><dataValidations><dataValidation type=\"list\" promptTitle=\"" + title + "\" prompt=\"" +
           prompt + "\" error='" + error +
           "'><formula1>\"a,b\"</formula1></dataValidation></dataValidations></worksheet>";
  };
  const auto file = opened("a.xlsx",
                           zip_of({{"[Content_Types].xml", "<Types/>"},
                                   {"xl/worksheets/sheet1.xml", sheet("Dogs", "One &amp; two", "No dog")}}),
                           options);
  ASSERT_THAT(file->texts(), ElementsAre("Dogs", "One &amp; two", "No dog"));
  EXPECT_EQ(member_of(file->with({"Hunde", "Eins &amp; \"zwei\"", "Kein 'Hund'"}), "xl/worksheets/sheet1.xml"),
            sheet("Hunde", "Eins &amp; &quot;zwei&quot;", "Kein &#39;Hund&#39;"));
  EXPECT_THAT(warnings, ElementsAre());
  EXPECT_EQ(member_of(file->with({std::string(33, 'x'), "Zwei", "Nein"}), "xl/worksheets/sheet1.xml"),
            sheet("Dogs", "Zwei", "Nein"));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("its translation has 33 characters, and Excel reads at most 32")));
  const auto in_excel = [&](const std::string& values) {
    return zip_of({{"[Content_Types].xml", "<Types/>"},
                   {"xl/worksheets/sheet1.xml", "<worksheet><dataValidation " + values + "/></worksheet>"}});
  };
  const std::string values = "errorTitle=\"No\" error=\"No dog_x000a_here\" promptTitle=\"Dogs\" prompt=\"One\"";
  const auto other = opened("a.xlsx", in_excel(values), options);
  ASSERT_THAT(other->texts(), ElementsAre("No", "No dog", "here", "Dogs", "One"));
  EXPECT_EQ(other->with(other->texts()), in_excel(values));
  EXPECT_THAT(member_of(other->with({"Nein", "Kein Hund", "hier", "Hunde", "Eins"}), "xl/worksheets/sheet1.xml"),
              HasSubstr("errorTitle=\"Nein\" error=\"Kein Hund_x000a_hier\" promptTitle=\"Hunde\" prompt=\"Eins\""));
}

TEST(ExcelFile, HeadersAreTextsBetweenTheirCodes) {
  const std::string begin = "<worksheet><sheetData/><headerFooter><oddHeader>",
                    end = "</oddHeader></headerFooter></worksheet>";
  const auto opened_sheet = [&](const std::string& header) {
    return opened("a.xlsx",
                  zip_of({{"[Content_Types].xml", "<Types/>"}, {"xl/worksheets/sheet1.xml", begin + header + end}}));
  };
  const auto file = opened_sheet(
      "&amp;L&amp;\"Arial,Bold\"&amp;12Annual report&amp;C&amp;KFF0000&amp;&quot;-,Bold&quot;Draft\nof may&amp;RPage "
      "&amp;P of &amp;N");
  ASSERT_THAT(file->texts(), ElementsAre("Annual report", "Draft", "of may", "Page ", " of "));
  EXPECT_EQ(member_of(shouted(*file), "xl/worksheets/sheet1.xml"),
            begin +
                "&amp;L&amp;\"Arial,Bold\"&amp;12ANNUAL REPORT&amp;C&amp;KFF0000&amp;&quot;-,Bold&quot;DRAFT\nOF MAY"
                "&amp;RPAGE &amp;P OF &amp;N" +
                end);
  const std::string longest(300, 'x');
  EXPECT_EQ(member_of(opened_sheet("&amp;CDraft")->with({longest}), "xl/worksheets/sheet1.xml"),
            begin + "&amp;CDraft" + end);
  for (const char* damaged : {"&amp;", "&amp;\"Arial", "&amp;K12", "&amp;12", "&amp;&amp;"})
    EXPECT_THAT(opened_sheet(damaged)->texts(), ElementsAre()) << damaged;
  std::string too_long;
  while (too_long.size() < 5'000'000) too_long += "&amp;Pdog ";  // would take minutes
  EXPECT_THAT(opened_sheet(too_long)->texts(), ElementsAre());
}

TEST(ExcelFile, PhoneticGuidesGoWithTheirText) {
  const std::string guide = "<rPh sb=\"0\" eb=\"1\"><t>a</t></rPh>", settings = "<phoneticPr fontId=\"1\"/>";
  const auto file = opened("a.xlsx", workbook("", {"One</t>" + guide + settings + "</si><si><t>12</t>" + guide +
                                                   settings + "</si><si><t>Two"}));
  EXPECT_THAT(file->texts(), ElementsAre("One", "Two"));
  EXPECT_THAT(member_of(shouted(*file), "xl/sharedStrings.xml"),
              HasSubstr("<si><t>ONE</t>" + settings + "</si><si><t>12</t>" + guide + settings + "</si>"));
}

TEST(ExcelFile, EscapesAreCharacters) {
  const auto file =
      opened("a.xlsx", workbook("", {"One_x000D_\ntwo\tthree&#9;_x005F_x0041__x0042_ _x003C_ _xD83D_four"}));
  EXPECT_THAT(file->texts(), ElementsAre("One", "two", "three", "_x0041_B &lt; ", "four"));
  EXPECT_THAT(member_of(file->with({"Eins", "zwei", "drei", "_x0041_B &lt;", "vier"}), "xl/sharedStrings.xml"),
              HasSubstr("<t>Eins_x000D_\nzwei\tdrei&#9;_x005F_x0041_B &lt;_xD83D_vier</t>"));
}

TEST(OpenDocument, CellsThatFormulasNameStay) {
  const std::string cell = "<table:table-cell><text:p>";
  EXPECT_THAT(
      opened("a.ods", zip_of({{"content.xml",
                               "<office:spreadsheet><table:content-validation table:condition=\"of:cell-content-is-in-"
                               "list(&quot;Open&quot;;&quot;Closed&quot;)\"/>" +
                                   cell + "tuesday</text:p></table:table-cell>" + cell +
                                   "Closed</text:p></table:table-cell>" + cell +
                                   "Sunday</text:p></table:table-cell><table:table-cell table:formula=\"of:=IF([.A2]"
                                   "=&quot;Tuesday&quot;;1;2)\"/></office:spreadsheet>"}}))
          ->texts(),
      ElementsAre("Sunday"));
}

TEST(OpenDocument, SpansNotesAndNumbers) {
  const std::string content =
      "<office:text><style:style style:name=\"P1\" style:parent-style-name=\"Preformatted_20_Text\"/>"
      "<text:h>A heading</text:h><text:p>Text <text:span text:style-name=\"T1\">bold</text:span> with<text:note>"
      "<text:note-body><text:p>the note</text:p></text:note-body></text:note> more.<text:tab/>End</text:p>"
      "<text:p text:style-name=\"P1\">int x</text:p>"
      "<table:table-cell office:value-type=\"float\"><text:p>one</text:p></table:table-cell></office:text>";
  const auto file = opened("a.odt", zip_of({{"content.xml", content}}));
  EXPECT_THAT(file->texts(), ElementsAre("A heading", "Text <b 0>bold</b> with<img 1> more.", "End", "the note"));
  EXPECT_THAT(member_of(shouted(*file), "content.xml"),
              HasSubstr("<text:p>TEXT <text:span text:style-name=\"T1\">BOLD</text:span> WITH<text:note>"
                        "<text:note-body><text:p>THE NOTE</text:p></text:note-body></text:note> MORE.<text:tab/>END"
                        "</text:p>"));
}

// Nested styles are those of no program. Reading them anew in each one around them takes the square of their time.
TEST(OpenDocument, StylesThatTheAuthorNamedAndNestedOnesAreApart) {
  const std::string automatic =
      "<office:automatic-styles><style:style style:name=\"T1\" style:family=\"text\"><style:style "
      "style:name=\"T2\" style:family=\"text\"><x y=\"1\"/></style:style></style:style></office:automatic-styles>";
  const std::string named = "<office:styles><style:style style:name=\"T3\" style:family=\"text\"/></office:styles>";
  const auto span = [](const std::string& name) {
    return "<text:span text:style-name=\"" + name + "\">red</text:span>";
  };
  const std::string content =
      "<text:p>One " + span("T1") + " two " + span("T2") + " three " + span("T3") + ".</text:p>";
  EXPECT_THAT(writer_texts("<a>" + automatic + named + content + "</a>"),
              ElementsAre("One red two <b 0>red</b> three <b 1>red</b>."));
}

// LibreOffice makes a style for each session of editing, and another for each language.
TEST(OpenDocument, SpansThatLookTheSameAreOne) {
  const auto style = [](const std::string& name, const std::string& properties) {
    return "<style:style style:name=\"" + name + "\" style:family=\"text\"><style:text-properties " + properties +
           "/></style:style>";
  };
  const auto span = [](const std::string& name, const std::string& text) {
    return "<text:span text:style-name=\"" + name + "\">" + text + "</text:span>";
  };
  const auto file = opened(
      "a.odt", zip_of({{"content.xml",
                        "<office:text><office:automatic-styles>" +
                            style("T1", "officeooo:rsid=\"1\" fo:language=\"en\" fo:country=\"US\"") +
                            style("T2", "fo:font-weight=\"bold\" officeooo:rsid=\"1\"") +
                            style("T3", "fo:font-weight=\"bold\" officeooo:rsid=\"2\"") +
                            style("T4", "fo:font-weight=\"normal\"") + "</office:automatic-styles><text:p>A " +
                            span("T1", "wo") + "rd " + span("T2", "in bo") + span("T3", "ld") + span("T4", " ") +
                            span("T4", "here") + span("T9", " ") + span("T9", "now") + ".</text:p></office:text>"}}));
  ASSERT_THAT(file->texts(), ElementsAre("A word <b 0>in bold</b> <b 1>here</b> <b 2>now</b>."));
  EXPECT_THAT(member_of(shouted(*file), "content.xml"),
              HasSubstr("<text:p>A WORD " + span("T2", "IN BOLD") + " " + span("T4", "HERE") + " " + span("T9", "NOW") +
                        ".</text:p>"));
}

TEST(OpenDocument, TitlesOfIndexesAndFootersOfSlidesAreTexts) {
  const std::string content =
      "<office:text><text:index-title-template text:style-name=\"a\">Contents</text:index-title-template>"
      "<presentation:header-decl>one</presentation:header-decl><presentation:footer-decl>two"
      "</presentation:footer-decl></office:text>";
  EXPECT_THAT(opened("a.odp", zip_of({{"content.xml", content}}))->texts(), ElementsAre("Contents", "one", "two"));
}

TEST(OpenDocument, DescriptionsOfPicturesAreTextsAndAddressesOfCellsStay) {
  const std::string content =
      "<office:text><text:p>A<draw:frame><svg:desc>A dog</svg:desc></draw:frame></text:p><draw:g><svg:desc>Table1.$B$1"
      "</svg:desc></draw:g><draw:g><svg:desc>A.B1:A.B1</svg:desc></draw:g></office:text>";
  EXPECT_THAT(writer_texts(content), ElementsAre("A", "A dog"));
}

TEST(OpenDocument, FieldsAreWords) {
  const std::string page = "<text:bookmark-ref text:ref-name=\"a\">5</text:bookmark-ref>", space = "<text:s/>";
  const std::string content = "<office:text><text:p>See page " + page + " for" + space + "more.</text:p></office:text>";
  EXPECT_THAT(writer_texts(content), ElementsAre("See page <var-0/> for<img 1>more."));
}

// Microsoft's programs write the space beside a span as an element.
TEST(OpenDocument, ASpaceIsNotWrittenTwice) {
  const std::string content =
      "<text:p>A<text:s/><text:span text:style-name=\"T1\">red</text:span><text:s/>car</text:p>";
  const auto file = opened("a.odt", zip_of({{"content.xml", content}}));
  ASSERT_THAT(file->texts(), ElementsAre("A<img 0><b 1>red</b><img 2>car"));
  const auto with = [&](const std::string& text) { return member_of(file->with({text}), "content.xml"); };
  const std::string red = "<text:span text:style-name=\"T1\">rouge</text:span>";
  EXPECT_EQ(with("Une voiture <img 0><b 1>rouge</b><img 2>"), "<text:p>Une voiture " + red + "<text:s/></text:p>");
  EXPECT_EQ(with("Une<img 0> voiture<img 2><b 1>rouge</b>"), "<text:p>Une voiture<text:s/>" + red + "</text:p>");
}

TEST(OpenDocument, TwoSpacesOfTheAuthorStay) {
  const auto file = opened("a.odt", zip_of({{"content.xml", "<text:p>One. <text:s/>Two.</text:p>"}}));
  EXPECT_EQ(member_of(file->with({"Une. <img 0>Deux."}), "content.xml"), "<text:p>Une. <text:s/>Deux.</text:p>");
}

TEST(OpenDocument, TextsInStylesForCodeStay) {
  const auto texts_with = [](const std::string& style) {
    const std::string content = "<office:text><text:p>Use <text:span text:style-name=\"" + style +
                                "\">red</text:span> here.</text:p></office:text>";
    return writer_texts(content);
  };
  for (const char* style : {"Source_Text", "Source_20_Text", "Source Text", "Preformatted_20_Text", "Inline-Code"})
    EXPECT_THAT(texts_with(style), ElementsAre("Use <var-0/> here.")) << style;
  for (const char* style : {"Text", "_", "Source", "Barcode", ""})
    EXPECT_THAT(texts_with(style), ElementsAre("Use <b 0>red</b> here.")) << style;
}

TEST(OpenDocument, CodeInAMonospacedFontStays) {
  const auto style = [](const std::string& family, const std::string& name, const std::string& rest) {
    return "<style:style style:family=\"" + family + "\" style:name=\"" + name + "\" " + rest + "</style:style>";
  };
  const std::string named =
      "<style:default-style style:family=\"paragraph\"><style:text-properties fo:font-family=\"Arial\"/>"
      "</style:default-style>" +
      style("paragraph", "Listing", "><style:text-properties style:font-name=\"F\"/>") +
      "<text:list-style style:name=\"L\"><style:text-properties fo:font-family=\"Consolas\"/></text:list-style>";
  const std::string automatic =
      "<style:font-face style:name=\"F\" svg:font-family=\"Cumberland\" style:font-pitch=\"fixed\"/>" +
      style("paragraph", "P1", "style:parent-style-name=\"Listing\">") + style("paragraph", "P2", ">") +
      style("text", "T1", "><style:text-properties fo:font-family=\"&apos;Courier New&apos;\"/>");
  const std::string body =
      "<office:body><text:p text:style-name=\"P1\">if (a != b) {<text:line-break/>return a</text:p>"
      "<text:p text:style-name=\"P2\">if (a != b) {</text:p>"
      "<text:p text:style-name=\"P2\">Call <text:span text:style-name=\"T1\">f(a, b)</text:span> now.</text:p>"
      "<text:p text:style-name=\"P2\"><text:span text:style-name=\"T1\">A letter to a friend.</text:span></text:p>"
      "</office:body>";
  EXPECT_THAT(
      opened("a.odt",
             zip_of({{"content.xml", "<a>" + automatic + body + "</a>"},
                     {"styles.xml", "<a>" + automatic.substr(0, automatic.find("<style:style")) + named + "</a>"}}))
          ->texts(),
      ElementsAre("if (a != b) {", "Call <var-0/> now.", "A letter to a friend."));
}

TEST(OpenDocument, ALongSentenceInAStyleForCodeIsText) {
  const auto texts_of = [](const std::string& text) {
    const std::string content =
        "<office:text><text:p text:style-name=\"Preformatted_20_Text\">" + text + "</text:p></office:text>";
    return writer_texts(content);
  };
  const std::string sentence =
      "The paper sought to analyze the nature of agrarian enterprise in the years after the green revolution, and how "
      "it "
      "became what it is";
  EXPECT_THAT(texts_of(sentence + " (today)."), ElementsAre(sentence + " (today)."));
  EXPECT_THAT(texts_of(sentence + "; x = 1."), ElementsAre());
  EXPECT_THAT(texts_of(sentence), ElementsAre());
  EXPECT_THAT(texts_of("A comment may end with a period."), ElementsAre());
}

TEST(OpenDocument, TextsOfCellsAreInNoAttribute) {
  const std::string cell = "<table:table-cell office:value-type=\"string\"",
                    text = "<text:p>one</text:p></table:table-cell>";
  const std::string formula = "<table:table-cell table:formula=\"x\" office:string-value=\"two\"/>";
  const auto file =
      opened("a.ods", zip_of({{"content.xml", "<office:spreadsheet>" + cell + " office:string-value=\"one\">" + text +
                                                  formula + "</office:spreadsheet>"}}));
  EXPECT_EQ(
      member_of(shouted(*file), "content.xml"),
      "<office:spreadsheet>" + cell + "><text:p>ONE</text:p></table:table-cell>" + formula + "</office:spreadsheet>");
}

TEST(OpenDocument, ACommentBeginsBeforeItEnds) {
  const std::string begin = "<office:annotation office:name=\"c\"><text:p>a note</text:p></office:annotation>",
                    end = "<office:annotation-end office:name=\"c\"/>";
  const auto file = opened(
      "a.odt",
      zip_of({{"content.xml", "<office:text><text:p>A " + begin + "red" + end + " car</text:p></office:text>"}}));
  ASSERT_THAT(file->texts(), ElementsAre("A <b 0>red</b> car", "a note"));
  EXPECT_EQ(member_of(file->with({"Une voiture <b 0>rouge</b>", "a note"}), "content.xml"),
            "<office:text><text:p>Une voiture " + begin + "rouge" + end + "</text:p></office:text>");
}

TEST(Epub, EmptyTagsAndSectionsAreReadAsXml) {
  const auto shouted_page = [](const std::string& page) {
    const auto file = opened("a.epub", zip_of({{"META-INF/container.xml", "<container/>"}, {"a.html", page}}));
    return member_of(shouted(*file), "a.html");
  };
  const std::string head = "<html xmlns=\"http://www.w3.org/1999/xhtml\">";
  EXPECT_EQ(
      shouted_page(head + "<head><title/><script src=\"x.js\"/></head><body><p>One<br/><code/> two</p></body></html>"),
      head +
          "<head><title></title><script src=\"x.js\"></script></head><body><p>ONE<br/><code></code> TWO</p>"
          "</body></html>");
  EXPECT_EQ(shouted_page(head + "<p><![CDATA[a > b & c]]></p></html>"), head + "<p>A &gt; B &amp; C</p></html>");
  EXPECT_EQ(shouted_page("<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><html><p>one</p></html>"),
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><html><p>ONE</p></html>");
}

TEST(PowerPointFile, TabsEndAText) {
  const auto file =
      opened("a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"},
                               {"ppt/slides/slide1.xml",
                                "<p:sld><a:p><a:r><a:t>One day\tTwo&#9;Three_x000B_four</a:t></a:r></a:p></p:sld>"}}));
  EXPECT_THAT(file->texts(), ElementsAre("One day", "Two", "Three", "four"));
  const auto run = [](const std::string& text) { return "<a:r><a:t>" + text + "</a:t></a:r>"; };
  EXPECT_EQ(member_of(shouted(*file), "ppt/slides/slide1.xml"), "<p:sld><a:p>" + run("ONE DAY") + run("\t") +
                                                                    run("TWO") + run("&#9;") + run("THREE") +
                                                                    run("_x000B_") + run("FOUR") + "</a:p></p:sld>");
}

TEST(PowerPointFile, CodeInAMonospacedFontStays) {
  const auto mono_run = [](const std::string& text) {
    return "<a:r><a:rPr><a:latin typeface=\"Consolas\"/></a:rPr><a:t>" + text + "</a:t></a:r>";
  };
  const std::string slide = "<a:p>" + mono_run("id :: a -&gt; a") + "<a:br/>" + mono_run("id x") +
                            "</a:p><a:p><a:r><a:t>Call "
                            "</a:t></a:r>" +
                            mono_run("id") + "<a:r><a:t> twice.</a:t></a:r></a:p><a:p>" + mono_run("g :: Int") +
                            "</a:p>";
  EXPECT_THAT(opened("a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"},
                                       {"ppt/slides/slide1.xml", "<p:sld>" + slide + "</p:sld>"}}))
                  ->texts(),
              ElementsAre("Call <var-0/> twice."));
}

TEST(PowerPointFile, CommentsOfBothKindsAreTranslated) {
  const auto file = opened(
      "a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"},
                        {"ppt/comments/comment1.xml", "<p:cmLst><p:cm><p:text>Old\nlines</p:text></p:cm></p:cmLst>"},
                        {"ppt/comments/modernComment_1.xml",
                         "<p188:cm><p188:txBody><a:p><a:r><a:t>New</a:t></a:r></a:p></p188:txBody></p188:cm>"}}));
  EXPECT_THAT(file->texts(), ElementsAre("Old", "lines", "New"));
}

TEST(PowerPointFile, TextThatALayoutShowsIsTranslatedWithoutItsPrompts) {
  const auto shape = [](const std::string& placeholder, const std::string& text) {
    return "<p:sp><p:nvPr>" + placeholder + "</p:nvPr><a:p><a:r><a:t>" + text + "</a:t></a:r></a:p></p:sp>";
  };
  const std::string layout =
      "<p:spTree>" + shape("<p:ph type=\"title\"/>", "Click here") + shape("", "Secret") + "</p:spTree>";
  EXPECT_THAT(opened("a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"},
                                       {"ppt/slideLayouts/slideLayout1.xml", layout},
                                       {"ppt/slideMasters/slideMaster1.xml", layout}}))
                  ->texts(),
              ElementsAre("Secret", "Secret"));
}

TEST(OfficeFile, AlternativeTextsAndWatermarksAreTranslated) {
  const std::string body =
      "<w:p>" + run("See ") + "<w:r><w:drawing><wp:docPr id=\"1\" name=\"Picture 1\" descr=\"a " +
      "&quot;red&quot; dog\"/></w:drawing></w:r>" + run("here") +
      "<w:r><w:pict><v:textpath string='&#xA;the draft&#10;&#xA;of&#xA;'/></w:pict></w:r><wp:docPr descr=\"A "
      "dog.jpeg\"/><wp:docPr descr=\"C:\\dog\"/><wp:docPr descr=\"dog (1).jfif\"/><wp:docPr "
      "descr=\"red_dog\"/><wp:docPr descr=\"About ASP.NET\"/><wp:docPr descr=\"Release 2.0\"/></w:p>";
  const auto file = opened("a.docx", word_file(body));
  ASSERT_THAT(file->texts(), ElementsAre("See <img 0>here", "a &quot;red&quot; dog", "the draft", "of", "About ASP.NET",
                                         "Release 2.0"));
  const std::string result =
      member_of(file->with({"Voir <img 0>ici", "un chien \"rouge\"", "l'essai", "de", "Sur ASP.NET", "Version 2.0"}),
                "word/document.xml");
  EXPECT_THAT(result, HasSubstr("name=\"Picture 1\" descr=\"un chien &quot;rouge&quot;\"/>"));
  EXPECT_THAT(result, HasSubstr("<v:textpath string='&#xA;l&#39;essai&#10;&#xA;de&#xA;'/>"));
}

TEST(OfficeFile, TitlesOfPicturesAndTablesTipsOfLinksAndItemsOfListsAreTexts) {
  const auto texts = [](const std::string& file, const std::string& member, const std::string& xml) {
    const std::string required = file == "a.odt" ? "mimetype" : "[Content_Types].xml";
    return opened(file, zip_of({{required, "<Types/>"}, {member, xml}}))->texts();
  };
  EXPECT_THAT(
      texts("a.docx", "word/document.xml",
            "<w:p><wp:docPr title=\"A dog\" descr=\"It runs\"/><w:hyperlink w:tooltip=\"Our page\">" + run("here") +
                "</w:hyperlink><w:tblCaption w:val=\"The years\"/><w:tblDescription w:val=\"In rows\"/>"
                "<w:listItem w:displayText=\"Choose one\" w:value=\"none\"/></w:p>"),
      ElementsAre("here", "A dog", "It runs", "Our page", "The years", "In rows", "Choose one"));
  EXPECT_THAT(texts("a.xlsx", "xl/worksheets/sheet1.xml", "<hyperlink ref=\"A1\" tooltip=\"Our page\"/>"),
              ElementsAre("Our page"));
  EXPECT_THAT(texts("a.odt", "content.xml",
                    "<text:p><draw:frame><svg:title>A dog</svg:title><svg:desc>It runs</svg:desc></draw:frame>"
                    "<text:a office:title=\"Our page\">here</text:a>: <text:title>Report</text:title></text:p>"),
              ElementsAre("<b 0>here</b>: <var-1/>", "A dog", "It runs", "Our page"));
  EXPECT_THAT(texts("a.odt", "content.xml", "<chart:title><text:p>Sales</text:p></chart:title>"), ElementsAre("Sales"));
}

TEST(OfficeFile, ChartsShowTheirCopiesOfCellsTranslated) {
  const auto cache = [](const std::string& kind, const std::string& value) {
    return "<c:" + kind + "><c:pt idx=\"0\"><c:v>" + value + "</c:v></c:pt></c:" + kind + ">";
  };
  const std::string chart = "<c:chart><a:p><a:r><a:t>Title</a:t></a:r></a:p><c:f>Sheet1!$A$1</c:f>" +
                            cache("strCache", "Sales &amp; more\nand less") + cache("numCache", "1.2E-3") +
                            "</c:chart>";
  for (const char* folder : {"word", "ppt", "xl"}) {
    const std::string member = std::string(folder) + "/charts/chart1.xml";
    const auto file = opened("a.docx", zip_of({{"[Content_Types].xml", "<Types/>"}, {member, chart}}));
    EXPECT_THAT(file->texts(), ElementsAre("Title", "Sales &amp; more", "and less"));
    EXPECT_THAT(member_of(shouted(*file), member), HasSubstr(cache("strCache", "SALES &amp; MORE\nAND LESS")));
  }
}

TEST(OfficeFile, ChartsOfNewKindsShowTheirLabelsTranslated) {
  const std::string member = "ppt/charts/chartEx1.xml",
                    chart =
                        "<cx:chartSpace><cx:strDim type=\"cat\"><cx:f>Sheet1!$A$2</cx:f><cx:lvl ptCount=\"2\">"
                        "<cx:pt idx=\"0\">First year</cx:pt><cx:pt idx=\"1\">2024</cx:pt></cx:lvl></cx:strDim>"
                        "<cx:txData><cx:v>Sales</cx:v></cx:txData></cx:chartSpace>";
  const auto file = opened("a.pptx", zip_of({{"[Content_Types].xml", "<Types/>"}, {member, chart}}));
  EXPECT_THAT(file->texts(), ElementsAre("First year", "Sales"));
  EXPECT_THAT(member_of(shouted(*file), member), HasSubstr("<cx:pt idx=\"0\">FIRST YEAR</cx:pt><cx:pt idx=\"1\">2024"));
}

TEST(Epub, PagesAreHtml) {
  const auto file =
      opened("a.epub", zip_of({{"META-INF/container.xml", "<container/>"},
                               {"a.xhtml", "<html><body><p>Text &amp; more</p></body></html>"},
                               {"toc.ncx",
                                "<!DOCTYPE ncx PUBLIC \"-//x\" \"y\"><ncx><docAuthor><text>Ann</text></docAuthor>"
                                "<text>One</text></ncx>"}}));
  const std::string result = shouted(*file);
  EXPECT_EQ(member_of(result, "a.xhtml"), "<html><body><p>TEXT &amp; MORE</p></body></html>");
  EXPECT_THAT(member_of(result, "toc.ncx"), HasSubstr("<text>Ann</text></docAuthor><text>ONE</text>"));
}

TEST(Epub, PagesAreWhatThePackageListsAsSuch) {
  const auto file =
      opened("a.epub",
             zip_of({{"META-INF/container.xml", "<container/>"},
                     {"OPS/book.opf",
                      "<package><manifest><item href=\"../Text/main%200&amp;1.xml\" "
                      "media-type=\"application/xhtml+xml\"/><opf:item media-type='application/x-dtbncx+xml' "
                      "href='toc.xml'/><item href=\"data.xml\" media-type=\"application/xml\"/></manifest></package>"},
                     {"OPS/data.xml", "<a>no page</a>"},
                     {"OPS/toc.xml", "<ncx><text>One</text></ncx>"},
                     {"Text/main 0&1.xml", "<html><p>Two</p></html>"}}));
  EXPECT_THAT(file->texts(), ElementsAre("One", HasSubstr("Two")));
}

TEST(Epub, WhatMacOsAddsToArchivesStays) {
  const std::string notes("\0\5\x16\a Mac \xff", 9);
  const auto file = opened("a.epub", zip_of({{"META-INF/container.xml", "<container/>"},
                                             {"a.html", "<p>One</p>"},
                                             {"__MACOSX/._a.html", notes},
                                             {"__MACOSX/._a.ncx", notes},
                                             {"__MACOSX/._a.opf", notes},
                                             {"._a.html", notes}}));
  EXPECT_THAT(file->texts(), ElementsAre(HasSubstr("One")));
  EXPECT_EQ(member_of(shouted(*file), "__MACOSX/._a.ncx"), notes);
}

TEST(PackedDocument, KeepsNoPartInMemory) {
  const auto document =
      open_document(*find_document_format("docx"), "a.docx", word_file("<w:p>" + run("one") + "</w:p>"));
  ASSERT_EQ(document->size(), 1U);
  EXPECT_THAT(document->open(0)->texts(), ElementsAre("one"));
  const std::weak_ptr<const DocumentFile> part = document->open(0);
  EXPECT_TRUE(part.expired());
}

void expect_refusal(const std::string& name, const std::string& content, const std::string& reason,
                    const DocumentFileOptions& options = {}) {
  try {
    opened(name, content, options);
    FAIL() << reason;
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

TEST(PackedFile, DamageBombsAndPasswordsAreRefused) {
  const std::string sound = word_file("<w:p/>");
  expect_refusal("a.docx", "PK", "no zip archive");
  expect_refusal("a.docx", sound.substr(0, sound.size() / 2), "no zip archive");
  std::string damaged = sound;
  damaged[damaged.find("<w:p/>") + 1] = 'x';
  expect_refusal("a.docx", damaged, "does not match its checksum");
  std::string encrypted = sound;
  encrypted[encrypted.find("PK\1\2") + 8] = 1;
  expect_refusal("a.docx", encrypted, "is encrypted");
  expect_refusal("a.docx", "\xD0\xCF\x11\xE0 and more", "is encrypted");
  expect_refusal("a.docx", sound, "when unpacked", {false, 10});
  expect_refusal("a.docx", zip_of({{"content.xml", "<a/>"}}), "is no Office file");
  std::string deep;
  for (int i = 0; i < 501; ++i) deep += "<w:p>";
  expect_refusal("a.docx", word_file(deep), "deep");
}

TEST(PackedFile, OtherMembersKeepTheirBytes) {
  const std::string sound = zip_of({{"a", "one"}, {"b", "two"}, {"c", "three"}});
  const PackedFile file("x", sound);
  const auto written = [&](const PackedFile::ContentOf& content_of) {
    std::string archive;
    file.write(content_of, [&](std::string_view bytes) { archive += bytes; });
    return archive;
  };
  EXPECT_EQ(written([](size_t) { return std::nullopt; }), sound);
  EXPECT_EQ(written([&](size_t member) { return file.read(member); }), sound);
  EXPECT_EQ(written([](size_t member) { return member == 1 ? std::make_optional("another") : std::nullopt; }),
            zip_of({{"a", "one"}, {"b", "another"}, {"c", "three"}}));
}

TEST(XmlTokens, WhatIsNotWellFormedIsRefused) {
  for (const char* xml : {"<a>", "</a>", "<a></b>", "<a", "<a b>", "<a b=c/>", "<!-- ", "text", "", "<a><![CDATA[</a>",
                          "<!DOCTYPE a [<!ENTITY b \"c\">]><a/>", "\xff\xfe<a/>", "<a>\xff</a>"})
    EXPECT_THROW(xml_tokens(xml, "x"), std::runtime_error) << xml;
  const std::string xml = "<?xml version=\"1.0\"?><a b='>' c=\"d\"><e:f/>t<!-- > --><![CDATA[<]]></a>";
  const std::vector<XmlToken> tokens = xml_tokens(xml, "x");
  ASSERT_EQ(tokens.size(), 7U);
  EXPECT_EQ(tokens[1].partner, 6U);
  EXPECT_EQ(tokens[2].local_name(), "f");
  EXPECT_EQ(xml_attribute(xml.substr(tokens[1].begin, tokens[1].end - tokens[1].begin), "c"), "d");
}

}  // namespace
}  // namespace transmute::testing
