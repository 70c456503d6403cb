// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/text_file.h>
#include <transmute/documents/declared_languages.h>
#include <transmute/documents/document_formats.h>
#include <transmute/formats/foreign/model_languages.h>
#include <transmute/tests/documents/file_support.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The file with its own texts in the place of their translations.
std::string in_language(const std::string& name, const std::string& content, const LanguagePair& languages) {
  const auto document = open_document(*document_format_of(name), name, content);
  return with_translations(*document, texts_of(*document), languages);
}

TEST(DeclaredLanguage, OfPagesIsTheTarget) {
  const auto page = [](const std::string& tag) {
    return "<!DOCTYPE html>\n" + tag + "<body><p>A dog.</p></body></html>";
  };
  for (const auto& [old, expected] : std::vector<std::pair<std::string, std::string>>{
           {"<html lang=\"en\">", "<html lang=\"de\">"},
           {"<html class=no-js LANG=en-GB>", "<html class=no-js LANG=de-DE>"},
           {"<html xml:lang='EN_us' lang='en'>", "<html xml:lang='de_DE' lang='de'>"},
           {"<html lang=\"fr\"><p lang=\"en\">", "<html lang=\"fr\"><p lang=\"de\">"},
           {"<html><p lang=en translate=no>", "<html><p lang=en translate=no>"},
           {"<html><p lang=en class=\"a notranslate\">", "<html><p lang=en class=\"a notranslate\">"},
           {"<html hreflang=\"en\">", "<html hreflang=\"en\">"},
           {"<html><div translate=no><p lang=en>dog</p></div>", "<html><div translate=no><p lang=en>dog</p></div>"},
           {"<html><pre lang=en>dog</pre>", "<html><pre lang=en>dog</pre>"},
           {"<html lang=\"\">", "<html lang=\"\">"},
           {"<html><a lang=en hreflang=en>dog</a>", "<html><a lang=en hreflang=en>dog</a>"},
           {"<html lang=eng><head><meta content=en_GB property='og:locale'><meta name=author content=en>",
            "<html lang=de><head><meta content=de_DE property='og:locale'><meta name=author content=en>"},
           {"<meta http-equiv=\"Content-Language\" content=\"en\">",
            "<meta http-equiv=\"Content-Language\" content=\"de\">"},
           {"<html lang=\"en-<?= $region ?>\">", "<html lang=\"en-<?= $region ?>\">"},
       })
    EXPECT_EQ(in_language("a.html", page(old), {"en", "de"}), page(expected));
  for (const auto& [old, source] : std::vector<std::pair<std::string, std::string>>{
           {"nb", "no"}, {"nn", "no"}, {"no", "nb"}, {"nor", "nb"}, {"ger", "de"}, {"deu", "de"}, {"de", "ger"}})
    EXPECT_EQ(in_language("a.html", page("<html lang=" + old + ">"), {source, "pt"}), page("<html lang=pt>")) << old;
  const std::string english = page("<html lang=\"en\">");
  for (const LanguagePair& unknown :
       std::vector<LanguagePair>{{}, {"en", ""}, {"", "de"}, {"en", "en-GB"}, {"en", "trg"}})
    EXPECT_EQ(in_language("a.html", english, unknown), english) << unknown.target;
  EXPECT_EQ(in_language("a.html", english, {"eng_Latn", "zho_Hant"}), page("<html lang=\"zh-TW\">"));
  for (const auto& [old, expected] : std::vector<std::pair<std::string, std::string>>{
           {"<html lang=\"en\">", "<html dir=\"rtl\" lang=\"he\">"},
           {"<html lang=\"en\" dir=\"ltr\"><body dir=ltr>", "<html lang=\"he\" dir=\"rtl\"><body dir=rtl>"},
           {"<html><p lang=\"en\" dir=\"ltr\">", "<html><p lang=\"he\" dir=\"ltr\">"},
           {"<html dir lang=en>", "<html dir lang=he>"},
           {"<html lang=en dir=\"{{ dir }}\">", "<html lang=he dir=\"{{ dir }}\">"},
       })
    EXPECT_EQ(in_language("a.html", page(old), {"en", "he"}), page(expected));
  EXPECT_EQ(in_language("a.html", page("<html lang=\"ar\" dir=\"rtl\">"), {"ar", "de"}),
            page("<html lang=\"de\" dir=\"ltr\">"));
  EXPECT_EQ(in_language("a.html", english, {"en", "pt-BR"}), page("<html lang=\"pt-BR\">"));
  EXPECT_EQ(in_language("a.html", english, {"en", "ca-valencia"}), page("<html lang=\"ca-valencia\">"));
}

std::string word_styles(const std::string& languages) {
  return "<w:styles><w:docDefaults><w:rPr><w:lang " + languages + "/></w:rPr></w:docDefaults></w:styles>";
}

TEST(DeclaredLanguage, OfWordIsTheTargetsForItsScript) {
  const std::string document =
      "<w:p><w:r><w:rPr><w:lang w:val=\"fr-FR\"/></w:rPr><w:t>set lang=\"en\"</w:t></w:r></w:p>";
  const auto translated = [&](const std::string& languages, const LanguagePair& pair) {
    const std::string settings = "<w:settings><w:themeFontLang w:val=\"en-US\"/></w:settings>",
                      core = "<cp:coreProperties><dc:language>en-US</dc:language></cp:coreProperties>";
    const std::string file = in_language("a.docx",
                                         zip_of({{"[Content_Types].xml", "<Types/>"},
                                                 {"docProps/core.xml", core},
                                                 {"word/document.xml", document},
                                                 {"word/settings.xml", settings},
                                                 {"word/styles.xml", word_styles(languages)}}),
                                         pair);
    return std::vector<std::string>{member_of(file, "word/styles.xml"), member_of(file, "word/settings.xml"),
                                    member_of(file, "docProps/core.xml"), member_of(file, "word/document.xml")};
  };
  const std::string english = "w:val=\"en-US\" w:eastAsia=\"en-US\" w:bidi=\"ar-SA\"";
  EXPECT_THAT(
      translated(english, {"en", "de"}),
      ::testing::ElementsAre(word_styles("w:val=\"de-DE\" w:eastAsia=\"en-US\" w:bidi=\"ar-SA\""),
                             "<w:settings><w:themeFontLang w:val=\"de-DE\"/></w:settings>",
                             "<cp:coreProperties><dc:language>de-DE</dc:language></cp:coreProperties>", document));
  EXPECT_EQ(translated(english, {"en", "ja"}).front(),
            word_styles("w:val=\"en-US\" w:eastAsia=\"ja-JP\" w:bidi=\"ar-SA\""));
  EXPECT_EQ(translated(english, {"en", "he"}).front(),
            word_styles("w:val=\"en-US\" w:eastAsia=\"en-US\" w:bidi=\"he-IL\""));
  EXPECT_EQ(translated(english, {"en", "sr"}).front(),
            word_styles("w:val=\"sr-Cyrl-RS\" w:eastAsia=\"en-US\" w:bidi=\"ar-SA\""));
  EXPECT_EQ(translated("w:val=\"en-US\" w:eastAsia=\"ja-JP\"", {"ja", "pt"}).front(),
            word_styles("w:val=\"pt-BR\" w:eastAsia=\"ja-JP\""));
  for (const char* const stays : {"w:val=\"pt-PT\" w:eastAsia=\"ja-JP\"", "w:val=\"x-none\" w:eastAsia=\"ja-JP\""})
    EXPECT_EQ(translated(stays, {"ja", "pt"}).front(), word_styles(stays));
}

TEST(DeclaredLanguage, OfSlidesAndOpenDocumentAndBooksIsTheTarget) {
  const std::string slides = in_language(
      "a.pptx",
      zip_of({{"[Content_Types].xml", "<Types/>"},
              {"ppt/presentation.xml", "<p><a:defRPr lang=\"en-US\"/></p>"},
              {"ppt/slides/slide1.xml", "<a:p><a:r><a:rPr lang=\"en-GB\" b=\"1\"/><a:t>Dog</a:t></a:r></a:p>"},
              {"ppt/slides/slide2.xml", "<a:p><a:endParaRPr lang=\"en-GB\"/></a:p>"}}),
      {"en", "zh"});
  EXPECT_EQ(member_of(slides, "ppt/presentation.xml"), "<p><a:defRPr lang=\"zh-CN\"/></p>");
  EXPECT_EQ(member_of(slides, "ppt/slides/slide1.xml"),
            "<a:p><a:r><a:rPr lang=\"zh-CN\" b=\"1\"/><a:t>Dog</a:t></a:r></a:p>");
  EXPECT_EQ(member_of(slides, "ppt/slides/slide2.xml"), "<a:p><a:endParaRPr lang=\"zh-CN\"/></a:p>");
  const std::string properties =
      "<style:text-properties fo:language=\"en\" fo:country=\"US\" style:language-asian=\"zh\" "
      "style:country-asian=\"CN\" style:language-complex=\"none\" style:country-complex=\"none\"/>";
  const auto in_opendocument = [&](const LanguagePair& pair) {
    const std::string file = in_language("a.odt",
                                         zip_of({{"content.xml", "<text:p>Dog</text:p>"},
                                                 {"meta.xml", "<dc:language>en-US</dc:language>"},
                                                 {"styles.xml", "<office>" + properties + "</office>"}}),
                                         pair);
    return member_of(file, "meta.xml") + member_of(file, "styles.xml");
  };
  EXPECT_THAT(in_opendocument({"en", "de"}),
              HasSubstr("<dc:language>de-DE</dc:language><office><style:text-properties "
                        "fo:language=\"de\" fo:country=\"DE\" style:language-asian=\"zh\""));
  EXPECT_THAT(in_opendocument({"en", "ja"}),
              HasSubstr("fo:language=\"en\" fo:country=\"US\" style:language-asian=\"ja\" style:country-asian=\"JP\""));
  const auto book_of = [](const std::string& language) {
    return "<opf:package xml:lang=\"en\"><dc:title xml:lang=\"en\">Dog</dc:title><!-- <dc:language>en -->"
           "<dc:language>" +
           language + "</dc:language></opf:package>";
  };
  const std::string book = in_language("a.epub",
                                       zip_of({{"META-INF/container.xml", "<container/>"},
                                               {"a.opf", book_of("\n en")},
                                               {"a.xhtml", "<html xml:lang=\"en\"><body><p>Dog</p></body></html>"},
                                               {"toc.ncx", "<ncx xml:lang=\"en-US\"><text>Dog</text></ncx>"}}),
                                       {"en", "de"});
  EXPECT_EQ(member_of(book, "a.opf"), book_of("\n de")) << "but its title stays";
  EXPECT_EQ(member_of(book, "a.xhtml"), "<html xml:lang=\"de\"><body><p>Dog</p></body></html>");
  EXPECT_EQ(member_of(book, "toc.ncx"), "<ncx xml:lang=\"de-DE\"><text>Dog</text></ncx>");
}

// The content of a member of a file whose other members, but for this one, are empty.
std::string member_in_language(const std::string& file, const std::string& member, const std::string& content,
                               const LanguagePair& languages) {
  const char* const required = file == "a.epub" ? "META-INF/container.xml"
                               : file[2] == 'o' ? "content.xml"
                                                : "[Content_Types].xml";
  std::vector<std::pair<std::string, std::string>> members{{member, content}};
  if (member != required) members.emplace_back(required, "<Types/>");
  return member_of(in_language(file, zip_of(members), languages), member);
}

TEST(WritingDirection, OfWordGoesByLetters) {
  const auto in_word = [](const std::string& body, const LanguagePair& languages) {
    const std::string begin = "<w:body>", end = "</w:body>";
    const std::string xml = member_in_language("a.docx", "word/document.xml", begin + body + end, languages);
    return xml.substr(begin.size(), xml.size() - begin.size() - end.size());
  };
  for (
      const auto& [english, hebrew] : std::vector<std::pair<std::string, std::string>>{
          {"<w:p><w:r><w:t>כלב</w:t></w:r></w:p>",
           "<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t>כלב</w:t></w:r></w:p>"},
          {"<w:p><w:pPr><w:pStyle w:val=\"Body\"/><w:jc w:val=\"right\"/><w:rPr><w:i/><w:iCs/></w:rPr></w:pPr>"
           "<w:r><w:rPr><w:color/><w:lang/></w:rPr><w:t>כלב</w:t></w:r><w:r><w:t>, </w:t></w:r><w:r><w:t>12</w:t></w:r>"
           "<w:r><w:t>Word</w:t></w:r></w:p>",
           "<w:p><w:pPr><w:pStyle w:val=\"Body\"/><w:bidi/><w:jc w:val=\"right\"/><w:rPr><w:i/><w:iCs/></w:rPr></w:pPr>"
           "<w:r><w:rPr><w:color/><w:rtl/><w:lang/></w:rPr><w:t>כלב</w:t></w:r>"
           "<w:r><w:rPr><w:rtl/></w:rPr><w:t>, </w:t></w:r><w:r><w:t>12</w:t></w:r><w:r><w:t>Word</w:t></w:r></w:p>"},
          {"<w:tbl><w:tblPr><w:tblStyle/><w:tblW/></w:tblPr><w:tr><w:p><w:pPr/><w:r><w:t>12</w:t></w:r></w:p></w:tr></"
           "w:tbl>",
           "<w:tbl><w:tblPr><w:tblStyle/><w:bidiVisual/><w:tblW/></w:tblPr><w:tr><w:p><w:pPr><w:bidi/></w:pPr>"
           "<w:r><w:t>12</w:t></w:r></w:p></w:tr></w:tbl>"},
          {"<w:p><w:r><w:fldChar/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>",
           "<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:fldChar/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"},
          {"<w:p><w:pPr><w:bidi w:val=\"0\"/></w:pPr></w:p>", "<w:p><w:pPr><w:bidi/></w:pPr></w:p>"},
          {"<w:sectPr w:rsidR=\"1\"><w:pgSz/><w:docGrid/></w:sectPr><w:sectPr w:rsidR=\"1\"/>",
           "<w:sectPr w:rsidR=\"1\"><w:pgSz/><w:bidi/><w:docGrid/></w:sectPr>"
           "<w:sectPr w:rsidR=\"1\"><w:bidi/></w:sectPr>"},
          {"<w:p><w:r><w:pict><w:p><w:r><w:t>כלב</w:t></w:r></w:p></w:pict></w:r><w:r><w:t>Word</w:t></w:r></w:p>",
           "<w:p><w:r><w:pict><w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t>כלב</w:t></w:r></w:p></"
           "w:pict>"
           "</w:r><w:r><w:t>Word</w:t></w:r></w:p>"},
      })
    EXPECT_EQ(in_word(english, {"en", "he"}), hebrew);
  for (const std::string stays : {"<w:p><w:r><w:t>Word.</w:t></w:r><w:r><w:t>)</w:t></w:r></w:p>",
                                  "<w:p><w:pPr><w:pStyle w:val=\"SourceCode\"/></w:pPr><w:r><w:t>}</w:t></w:r></w:p>"})
    EXPECT_EQ(in_word(stays, {"en", "he"}), stays);
  EXPECT_EQ(in_word("<w:p><w:pPr><w:bidi/><w:jc/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t>Dog</w:t></w:r></w:p>"
                    "<w:tbl><w:tblPr><w:bidiVisual/></w:tblPr></w:tbl><w:sectPr><w:bidi/></w:sectPr>",
                    {"ar", "en"}),
            "<w:p><w:pPr><w:jc/></w:pPr><w:r><w:rPr></w:rPr><w:t>Dog</w:t></w:r></w:p>"
            "<w:tbl><w:tblPr></w:tblPr></w:tbl><w:sectPr></w:sectPr>");
  const std::string quotation = "<w:p><w:pPr><w:bidi/></w:pPr><w:r><w:rPr><w:rtl/></w:rPr><w:t>כלב</w:t></w:r></w:p>";
  EXPECT_EQ(in_word(quotation, {"ar", "en"}), quotation);
  EXPECT_EQ(
      member_in_language("a.docx", "word/styles.xml", "<w:style><w:pPr><w:bidi/></w:pPr></w:style>", {"ar", "en"}),
      "<w:style><w:pPr></w:pPr></w:style>");
}

TEST(WritingDirection, TurnsSlidesSheetsPagesAndBooks) {
  struct Case {
    const char *file, *member, *english, *hebrew;
  };
  for (const auto& [file, member, english, hebrew] : std::vector<Case>{
           {"a.pptx", "ppt/slides/slide1.xml",
            "<a:tbl><a:tblPr/><a:p><a:pPr "
            "algn=\"r\"/><a:r><a:t>כלב</a:t></a:r></a:p><a:p><a:r><a:t>Dog</a:t></a:r></a:p>"
            "<a:p><a:pPr algn=\"ctr\" rtl=\"0\"/></a:p></a:tbl>",
            "<a:tbl><a:tblPr rtl=\"1\"/><a:p><a:pPr rtl=\"1\" algn=\"l\"/><a:r><a:t>כלב</a:t></a:r></a:p>"
            "<a:p><a:r><a:t>Dog</a:t></a:r></a:p><a:p><a:pPr algn=\"ctr\" rtl=\"1\"/></a:p></a:tbl>"},
           {"a.pptx", "ppt/notesMasters/notesMaster1.xml", "<a:lvl2pPr algn=\"l\"/>",
            "<a:lvl2pPr rtl=\"1\" algn=\"r\"/>"},
           {"a.pptx", "ppt/presentation.xml", "<a:lvl1pPr algn=\"l\" rtl=\"0\"/>", "<a:lvl1pPr algn=\"r\" rtl=\"1\"/>"},
           {"a.xlsx", "xl/worksheets/sheet1.xml",
            "<worksheet><sheetView workbookViewId=\"0\"/><sheetData/><f>sheetView</f></worksheet>",
            "<worksheet><sheetView rightToLeft=\"1\" workbookViewId=\"0\"/><sheetData/><f>sheetView</f></worksheet>"},
           {"a.odt", "styles.xml",
            "<style:default-style><style:paragraph-properties/></style:default-style>"
            "<style:style><style:paragraph-properties fo:text-align=\"end\" style:writing-mode=\"page\"/></style:style>"
            "<style:style style:name=\"Source_20_Text\"><style:paragraph-properties/></style:style>"
            "<style:page-layout-properties/><style:table-properties style:writing-mode=\"lr-tb\"/>",
            "<style:default-style><style:paragraph-properties fo:text-align=\"right\" style:writing-mode=\"rl-tb\"/>"
            "</style:default-style>"
            "<style:style><style:paragraph-properties fo:text-align=\"left\" "
            "style:writing-mode=\"page\"/></style:style>"
            "<style:style style:name=\"Source_20_Text\"><style:paragraph-properties fo:text-align=\"left\" "
            "style:writing-mode=\"lr-tb\"/></style:style>"
            "<style:page-layout-properties style:writing-mode=\"rl-tb\"/><style:table-properties "
            "style:writing-mode=\"rl-tb\"/>"},
           {"a.epub", "a.opf", "<package version=\"3.0\"><spine/></package>",
            "<package version=\"3.0\"><spine page-progression-direction=\"rtl\"/></package>"},
           {"a.epub", "a.opf", "<package version=\"2.0\"><spine/></package>",
            "<package version=\"2.0\"><spine/></package>"}}) {
    const auto in_one = [](const std::string& xml) { return "<all>" + xml + "</all>"; };
    EXPECT_EQ(member_in_language(file, member, in_one(english), {"en", "he"}), in_one(hebrew));
  }
  EXPECT_EQ(member_in_language("a.pptx", "ppt/slides/slide1.xml",
                               "<a:p><a:pPr algn=\"r\" rtl=\"1\"/><a:r><a:t>Dog</a:t></a:r></a:p>", {"he", "en"}),
            "<a:p><a:pPr algn=\"l\" rtl=\"0\"/><a:r><a:t>Dog</a:t></a:r></a:p>");
  EXPECT_EQ(
      member_in_language("a.odt", "styles.xml",
                         "<a><style:paragraph-properties fo:text-align=\"end\" style:writing-mode=\"rl-tb\"/></a>",
                         {"he", "en"}),
      "<a><style:paragraph-properties fo:text-align=\"left\" style:writing-mode=\"lr-tb\"/></a>");
}

TEST(FormatsOfScripts, AreThoseOfTheSource) {
  const auto in_word = [](const std::string& properties, const LanguagePair& languages) {
    return member_in_language("a.docx", "word/styles.xml", "<w:rPr>" + properties + "</w:rPr>", languages);
  };
  EXPECT_EQ(in_word("<w:b/><w:i w:val=\"0\"/><w:iCs/><w:sz w:val=\"30\"/>", {"en", "hi"}),
            "<w:rPr><w:b/><w:bCs/><w:i w:val=\"0\"/><w:iCs/><w:sz w:val=\"30\"/><w:szCs w:val=\"30\"/></w:rPr>");
  EXPECT_EQ(in_word("<w:bCs/>", {"th", "en"}), "<w:rPr><w:b/><w:bCs/></w:rPr>");
  EXPECT_EQ(in_word("<w:b/>", {"en", "ja"}), "<w:rPr><w:b/></w:rPr>");
  const auto in_opendocument = [](const std::string& attributes, const LanguagePair& languages) {
    return member_in_language("a.odt", "styles.xml", "<style:text-properties" + attributes + "/>", languages);
  };
  EXPECT_EQ(in_opendocument(" fo:font-weight=\"bold\"", {"en", "ja"}),
            "<style:text-properties style:font-weight-asian=\"bold\" fo:font-weight=\"bold\"/>");
  EXPECT_EQ(in_opendocument(" style:font-size-asian=\"9pt\" style:font-size-complex=\"8pt\"", {"zh", "de"}),
            "<style:text-properties fo:font-size=\"9pt\" style:font-size-asian=\"9pt\" "
            "style:font-size-complex=\"8pt\"/>");
}

TEST(DeclaredLanguage, OfCatalogsIsTheTarget) {
  const std::string unit = "<unit id=\"1\"><segment><source>Dog</source></segment></unit></file></xliff>";
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"2.0\" srcLang=\"en\"><file id=\"f\">" + unit, {"en", "de"}),
              HasSubstr("<xliff trgLang=\"de\" version=\"2.0\" srcLang=\"en\"><file id=\"f\"><unit"));
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"2.0\" trgLang=\"nl\"><file id=\"f\">" + unit, {"en", "de"}),
              HasSubstr("<xliff version=\"2.0\" trgLang=\"nl\"><file id=\"f\"><unit"))
      << "as it was asked for";
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"2.0\" trgLang=\"\"><file id=\"f\">" + unit, {"en", "de"}),
              HasSubstr("<xliff version=\"2.0\" trgLang=\"de\"><file"));
  const std::string old_unit = "<body><trans-unit id=\"1\"><source>Dog</source></trans-unit></body></file></xliff>";
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"1.2\"><file source-language=\"en\">" + old_unit, {"en", "pt_BR"}),
              HasSubstr("<xliff version=\"1.2\"><file target-language=\"pt-BR\" source-language=\"en\"><body>"));
  const std::string prefixed =
      "<x:file original=\"a>b\" target-language=\"de\"><!-- <file> --><x:body><x:trans-unit id=\"1\">"
      "<x:source><![CDATA[Open the <file>]]></x:source></x:trans-unit></x:body></x:file></x:xliff>";
  EXPECT_THAT(in_language("a.xlf", "<x:xliff version=\"1.2\">" + prefixed, {"en", "de"}),
              AllOf(HasSubstr("<x:file original=\"a>b\" target-language=\"de\"><!-- <file> --><x:body>"),
                    HasSubstr("<![CDATA[Open the <file>]]>")));
  const auto po = [](const std::string& language) {
    return "# A header.\nmsgid \"\"\nmsgstr \"\"\n\"Language: " + language +
           "\\n\"\n\"Content-Type: text/plain; charset=UTF-8\\n\"\n";
  };
  const std::string entry = "\n#, fuzzy\nmsgid \"Dog\"\nmsgstr \"Dog\"\n",
                    untranslated = "\nmsgid \"Dog\"\nmsgstr \"\"\n";
  EXPECT_EQ(in_language("a.pot", po("") + untranslated, {"en", "pt-BR"}), po("pt_BR") + entry);
  EXPECT_EQ(in_language("a.po", po("en") + untranslated, {"en", "de"}), po("de") + entry);
  EXPECT_EQ(in_language("a.po", po("en") + untranslated, {"en", "pt-BR"}), po("pt_BR") + entry);
  EXPECT_EQ(in_language("a.pot", "# License\n\n" + po("") + untranslated, {"en", "de"}),
            "# License\n\n" + po("de") + entry);
  EXPECT_EQ(in_language("a.po", po("en_US") + untranslated, {"en", "de"}), po("de_DE") + entry);
  EXPECT_EQ(in_language("a.po", po("nl") + untranslated, {"en", "de"}), po("nl") + entry);
  EXPECT_EQ(in_language("en.yml", "---\n# Rails\nen:\n  dog: \"Dog\"\n", {"en", "de"}),
            "---\n# Rails\nde:\n  dog: \"Dog\"\n");
  EXPECT_EQ(in_language("en.yml",
                        "\xEF\xBB\xBF"
                        "en:\n  dog: Dog\n",
                        {"en", "de"}),
            "\xEF\xBB\xBF"
            "de:\n  dog: Dog\n");
  EXPECT_EQ(in_language("en.yml", "'en': # Rails\n  dog: Dog\n", {"en", "no"}), "'no': # Rails\n  dog: Dog\n");
  EXPECT_EQ(in_language("en.yml", "en:\n  dog: Dog\n", {"en", "no"}), "\"no\":\n  dog: Dog\n");
  EXPECT_EQ(in_language("en.yml", "en: &english # Rails\n  dog: Dog\n", {"en", "de"}),
            "de: &english # Rails\n  dog: Dog\n");
  for (const char* other :
       {"en: &english Dog\n", "en:\n  dog: Dog\nfr:\n  dog: Chien\n", "en: Dog\n", "dog:\n  en: Dog\n"})
    EXPECT_EQ(in_language("en.yml", other, {"en", "de"}), other);
  EXPECT_EQ(in_language("a.arb", "{\"@@locale\": \"en_US\", \"dog\": \"Dog\"}", {"en", "de"}),
            "{\"@@locale\": \"de_DE\", \"dog\": \"Dog\"}");
  EXPECT_EQ(in_language("a.arb", "{\"dog\": \"Dog\", \"@@locale\": \"en\"}", {"en", "pt-BR"}),
            "{\"dog\": \"Dog\", \"@@locale\": \"pt_BR\"}");
}

TEST(LanguagesInFiles, AreThoseThatTheModelIsCalledBy) {
  const TemporaryFolder folder;
  const auto languages = [&](const std::string& name, const std::string& content) {
    const std::string model = folder / "model";
    std::filesystem::remove_all(model);
    std::filesystem::create_directory(model);
    write_text(model + "/" + name, content);
    const LanguagePair found = languages_in_files(model);
    return found.source + " " + found.target;
  };
  EXPECT_EQ(languages("config.yaml",
                      "data: {train_source: [a/train.en.gz, b.en], train_target: train.de, train_languages: []}"),
            "en de");
  EXPECT_EQ(languages("config.yaml", "data: {train_source: a.en, train_target: a.de, train_languages: [en-de]}"), " ");
  EXPECT_EQ(languages("config.yaml", "data: ["), " ");
  EXPECT_EQ(languages("metadata.json", R"({"from_code": "pt-BR", "to_code": "en"})"), "pt-BR en");
  EXPECT_EQ(languages("tokenizer_config.json", R"({"source_lang": "eng", "target_lang": "deu"})"), "eng deu");
  EXPECT_EQ(languages("tokenizer_config.json", "[1]"), " ");
  EXPECT_EQ(languages("model.enpt.intgemm.alphas.bin", ""), "en pt");
  EXPECT_EQ(languages("weights", ""), " ");
}

}  // namespace
}  // namespace transmute::testing
