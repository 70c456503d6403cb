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
           {"<html lang=\"en-<?= $region ?>\">", "<html lang=\"en-<?= $region ?>\">"},
       })
    EXPECT_EQ(in_language("a.html", page(old), {"en", "de"}), page(expected));
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

TEST(DeclaredLanguage, OfCatalogsIsTheTarget) {
  const std::string unit = "<unit id=\"1\"><segment><source>Dog</source></segment></unit></file></xliff>";
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"2.0\" srcLang=\"en\"><file id=\"f\">" + unit, {"en", "de"}),
              HasSubstr("<xliff trgLang=\"de\" version=\"2.0\" srcLang=\"en\"><file id=\"f\"><unit"));
  EXPECT_THAT(in_language("a.xlf", "<xliff version=\"2.0\" trgLang=\"nl\"><file id=\"f\">" + unit, {"en", "de"}),
              HasSubstr("<xliff version=\"2.0\" trgLang=\"nl\"><file id=\"f\"><unit"))
      << "as it was asked for";
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
  for (const char* other : {"en:\n  dog: Dog\nfr:\n  dog: Chien\n", "en: Dog\n", "dog:\n  en: Dog\n"})
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
