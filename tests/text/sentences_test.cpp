// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/sentences.h>

namespace transmute {
namespace {

using testing::cpu_seconds_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> sentences(const std::string& language, const std::string& text) {
  return SentenceSplitter(language).split(text);
}

// Sentences joined by spaces come apart again, with the language given and, where `is_known`, found out.
void expect_apart(const std::string& language, const std::vector<std::string>& expected, bool is_known = true) {
  std::string text;
  for (const std::string& sentence : expected) text += (text.empty() ? "" : " ") + sentence;
  EXPECT_EQ(sentences(language, text), expected);
  EXPECT_EQ(sentences(is_known ? "" : language, text), expected);
}

TEST(Sentences, EndAtMarksBeforeCapitals) {
  EXPECT_THAT(sentences("en", "One. Two!  Three?\tFour"), ElementsAre("One.", "Two!", "Three?", "Four"));
  EXPECT_THAT(sentences("", "It costs 3.14 e.g. here. Änderungen folgen."),
              ElementsAre("It costs 3.14 e.g. here.", "Änderungen folgen."));
  EXPECT_THAT(sentences("", "A line\nand another.\r\nA third"), ElementsAre("A line", "and another.", "A third"));
  EXPECT_THAT(sentences("en", "are you there? i am. good!"), ElementsAre("are you there?", "i am.", "good!"));
  expect_apart("el", {"Τι κάνεις\u037e", "Καλά."});
  EXPECT_THAT(sentences("", " \t "), IsEmpty());
  EXPECT_THAT(sentences("", ""), IsEmpty());
}

TEST(Sentences, EndBeforeNamesThatBeginInLowerCase) {
  expect_apart("en", {"It is a folder of the system.", "digiKam does not read it.", "iPhones do."});
  expect_apart("en", {"I have an approx. iPhone-sized box, i.e. jQuery, at 5 kHz. kWh are more, and so is max. pH."});
  expect_apart("en",
               {"It runs on a Mac.", "macOS is old.", "eBay sold 5 of max. dBFS or lit. kVAr, and at min. mmHg."});
}

TEST(Sentences, ContainAbbreviationsTitlesAndInitials) {
  expect_apart("en", {"Mr. Smith and Dr. J. R. Jones live on Main St. in the U.S. near St. Mary.", "He smiles."});
  expect_apart("en", {"They work for Smith & Co.", "It was founded in Jan. 1990, i.e. long ago."});
  expect_apart("en", {"We left at 5 p.m. on Mon. with Prof. Lee.", "See fig. 3 on p. 7."});
  expect_apart("en", {"J. K. Rowling wrote it with J.-P. Sartre of .NATO. Group.", "She left."});
  expect_apart("id", {"Dr. Budi tinggal di Jl. Sudirman No. 5.", "Dia baik."});
  expect_apart("de",
               {"Das ist z. B. Dr. Müller aus der Hauptstr. 5.", "Er kommt u. a. mit Fr. Weber usw.", "Sie geht."});
  expect_apart("fr", {"M. Dupont habite av. Foch, cf. p. 5.", "Elle est partie."});
  expect_apart("es", {"El Sr. Pérez vive en EE. UU. con la Dra. Gil.", "No está aquí."});
  expect_apart("it", {"Il Sig. Rossi e la Dott.ssa Bianchi arrivano.", "Sono qui."});
  expect_apart("pt", {"O Sr. Silva mora na Av. Paulista, n. 5.", "Ela não está."});
  expect_apart("nl", {"Dhr. de Vries is er bijv. niet.", "Hij komt later."});
  expect_apart("ru", {"Он живёт на ул. Ленина, д. 5, с А. С. Пушкиным и т. д.", "Это он."});
  expect_apart("pl", {"Mieszka na ul. Długiej, tj. niedaleko dr. Nowaka.", "To jest dom."});
  expect_apart("sr", {"То је проф. Јовић, инж. Марић итд. са ул. Нове.", "Он је др. Симић."}, false);
  expect_apart("cs", {"Pan Ing. Novák bydlí např. zde.", "Je to tak."});
  expect_apart("hi", {"डॉ. शर्मा आए।", "वे गए।"}, false);
  expect_apart("el", {"Πού είναι ο κ. Παππάς;", "Είναι εδώ."}, false);
}

TEST(Sentences, ContainOrdinalsDatesAndNumbers) {
  expect_apart("de", {"Er kam am 3. Oktober 2020 in den 2. Stock.", "Es war der 27. Januar."});
  expect_apart("de", {"Im 19. Jahrhundert herrschte Ludwig XVI. König war er bis 1792.", "Dann nicht mehr."});
  expect_apart("da", {"Han kom den 5. Maj til den 2. Division.", "Det er godt."}, false);
  expect_apart("fi", {"Hän tuli 5. Toukokuuta.", "Se on hyvä."}, false);
  expect_apart("en", {"It weighs 2.5 kg and costs $3.50.", "We bought 3.", "They bought No. 5."});
  expect_apart("en", {"Version 2.0 is out.", "It is 3.", "Good."});
}

TEST(Sentences, EndAfterUnitsOfOneLetter) {
  expect_apart("es", {"La torre mide 3,5 m.", "Es muy alta y pesa 5 t.", "El resto no."}, false);
  expect_apart("tr", {"Boyu 1,80 m.", "Kilosu 75 g."}, false);
  expect_apart("de", {"Es sind 5 m. Kabel."});
  expect_apart("en", {"In 5 v. Smith and M. Jones, see 7 p. Lee."});
}

TEST(Sentences, ContainAddressesAndFileNames) {
  const std::string text = "See http://example.org/index.php?id=3 and Yahoo!News, or write to J.Doe@example.com.";
  EXPECT_THAT(sentences("", text), ElementsAre(text));
  EXPECT_THAT(sentences("en", text + " Open main.cpp. Then go."), ElementsAre(text, "Open main.cpp.", "Then go."));
}

TEST(Sentences, HaveQuotationsAndBracketsWithinThem) {
  expect_apart(
      "en", {"She asked “Why? I know.” and left.", "\"This is great,\" he said.", "(It was.)", "\"Go!\" they cried."});
  expect_apart("en", {"He teaches (He was an engineer. Really.) at a school.", "She said: \"I know.\"", "He left."});
  expect_apart("de", {"„Wann kommst du? Ich warte.“, fragte sie.", "„Bald.“"});
  EXPECT_THAT(sentences("ja", "彼は「行く。またね。」と言った。そして帰った。"),
              ElementsAre("彼は「行く。またね。」と言った。", "そして帰った。"));
}

TEST(Sentences, EndAfterAClosingMarkWithASpaceBeforeIt) {
  for (const char* space : {" ", "\u00a0", "\u202f"}) {
    const std::string quotation = std::string("« Venez") + space + "!" + space + "»";
    expect_apart("fr", {"Il dit : " + quotation, "Elle dit : " + quotation + " et part.", "« Non."});
  }
  expect_apart("fr", {"« Je pars.", "Adieu ! »", "Il partit.", "( Oui ! )", "“ Fin. ”"});
  expect_apart("ru", {"Он сказал: « Идите сюда ! »", "Потом он ушёл."});
  expect_apart("de", {"»Komm!«", "Er ging.", "»Geh!«"});
  expect_apart("de", {"Er rief: » Komm! «", "› Wir gehen.", "Jetzt! ‹", "» Nein! « rief sie.", "» Gut. «"});
  expect_apart("fr", {"« Oui ! »", "Non ! » dit-elle.", "« Bien."}, false);
  EXPECT_THAT(sentences("en", "It is! ) Then."), ElementsAre("It is!", ") Then.")) << "the bracket closes nothing";
}

TEST(Sentences, HaveEllipsesWithinThem) {
  expect_apart("en", {"I mean ... well, you know.", "Wait...", "He left.", "It . . . ended . . . ."});
}

TEST(Sentences, HaveTheFootnotesAtTheirEnds) {
  expect_apart("en", {"He left.[1]", "She stayed.[2][34]", "They met [5] again."});
}

TEST(Sentences, EndWhereTheCallerSaysThatALineEnds) {
  const SentenceSplitter splitter("");
  const std::vector<std::pair<size_t, size_t>> expected{{0, 7}, {8, 11}, {12, 16}};
  EXPECT_EQ(splitter.spans("the red car two.", {}, {8, 11}), expected);
  EXPECT_THAT(splitter.spans("One. Two", {}, {0, 5, 8}), ElementsAre(std::make_pair(0, 4), std::make_pair(5, 8)));
}

TEST(Sentences, AreItemsOfLists) {
  EXPECT_THAT(sentences("en", "1. Open it. 2. Read it."), ElementsAre("1. Open it.", "2. Read it."));
  EXPECT_THAT(sentences("en", "a) the first b) the second c) more"),
              ElementsAre("a) the first", "b) the second", "c) more"));
  EXPECT_THAT(sentences("de", "1. FC Köln gegen 2. Mannschaft"), ElementsAre("1. FC Köln gegen 2. Mannschaft"));
  EXPECT_THAT(sentences("", "• one • two"), ElementsAre("• one", "• two"));
  EXPECT_THAT(sentences("en", "Do it in two steps. 1. Open it. 2. Read it."),
              ElementsAre("Do it in two steps.", "1. Open it.", "2. Read it."));
  for (const char* heading :
       {"1.2. Scope", "5.14.2.3. Circular dependencies", "B.2.3. Auto mode", "II.2.1. The parts", "• 1.2. Scope"})
    EXPECT_THAT(sentences("en", heading), ElementsAre(heading));
  EXPECT_THAT(sentences("en", "1.2. Open it. 1.3. Read it."), ElementsAre("1.2. Open it.", "1.3. Read it."));
  EXPECT_THAT(sentences("th", "1. เปิดไฟล์ 2. กดบันทึก"), ElementsAre("1. เปิดไฟล์", "2. กดบันทึก"));
  EXPECT_THAT(sentences("", "1. 파일 열기 2. 저장 클릭"), ElementsAre("1. 파일 열기", "2. 저장 클릭"));
  EXPECT_THAT(sentences("en", "It is 3.14. Read it."), ElementsAre("It is 3.14.", "Read it."));
  EXPECT_THAT(sentences("en", "3.1415. Read it."), ElementsAre("3.1415.", "Read it."));
  EXPECT_THAT(sentences("en", "Question. 1. Answer. 1. Question. 2."),
              ElementsAre("Question.", "1.", "Answer.", "1.", "Question.", "2."));
}

TEST(Sentences, NeedNoSpacesInScriptsWithout) {
  EXPECT_THAT(sentences("", "一。二！"), ElementsAre("一。", "二！"));
  EXPECT_THAT(sentences("zh", "好吗?好!他走了。"), ElementsAre("好吗?", "好!", "他走了。"));
  EXPECT_THAT(sentences("ja", "そうですね…。はい...！でも……だめ。"),
              ElementsAre("そうですね…。", "はい...！", "でも……だめ。"));
  EXPECT_THAT(sentences("my", "တစ်၊ နှစ်။သုံး။"), ElementsAre("တစ်၊ နှစ်။", "သုံး။"));
  EXPECT_THAT(sentences("km", "ខ្ញុំទៅ។ គាត់មក។ល។ គាត់ទៅ៕"), ElementsAre("ខ្ញុំទៅ។", "គាត់មក។ល។", "គាត់ទៅ៕"));
  EXPECT_THAT(sentences("ja", "１．値は３．１４である．Ａ．スミスは．．．来た．"),
              ElementsAre("１．値は３．１４である．", "Ａ．スミスは．．．来た．"));
  EXPECT_THAT(sentences("ja", "東京大学のD. Smith教授が来た。講演は3時から。"),
              ElementsAre("東京大学のD. Smith教授が来た。", "講演は3時から。"));
  EXPECT_THAT(sentences("zh", "（注：本表不含税。）详情见附录。这本书（很好。）在这里。"),
              ElementsAre("（注：本表不含税。）", "详情见附录。", "这本书（很好。）在这里。"));
  EXPECT_THAT(sentences("hy", "Բարև Ձեզ: Ես գնում եմ:"), ElementsAre("Բարև Ձեզ:", "Ես գնում եմ:"));
  EXPECT_THAT(sentences("en", "Note: It works."), ElementsAre("Note: It works."));
}

TEST(Sentences, EndBeforeLettersWithoutCase) {
  expect_apart("he",
               {"הוא גר בארה\"ב.", "היא קנתה 30.", "הוא אמר לא.", "א. ב. יהושע כתב ב\"הארץ\".", "הוא בצה\"ל, כן."});
  expect_apart("ko", {"값은 30.", "날씨가 좋다.", "그는 5. 3. 서울에서 \"간다. 온다\"고 말했다.", "그는 갔다."});
  expect_apart("hi", {"वह 5.5 कि.मी. चला।", "डॉ. वर्मा (एम.ए., पीएच.डी.) ई.पू. 322 पढ़ाते हैं।", "सब सुनते हैं।"});
  expect_apart("ka", {"ეს არის NASA.", "ბიჭი მოვიდა.", "ის არის ის.", "როგორ ხარ?", "ნომერი 30.", "კარგად."});
}

TEST(Sentences, DoNotEndAfterLearnedWords) {
  const SentenceSplitter splitter("en", {"blvd.x", "qux"});
  EXPECT_THAT(splitter.split("The Qux. Foo came. The qux. The end."),
              ElementsAre("The Qux. Foo came.", "The qux.", "The end."));
}

TEST(Sentences, DoNotEndWithinATermOfTheGlossary) {
  const Glossary glossary({{"word. Smith", "Wort"}, {"Smith", "Schmidt"}, {"Oh! Oh! Oh!", "Ach!"}});
  EXPECT_THAT(SentenceSplitter("en").split("I met word.  Smith. He left. One word. Smithson, too.", glossary),
              ElementsAre("I met word.  Smith.", "He left.", "One word.", "Smithson, too."));
  EXPECT_THAT(SentenceSplitter("en").split("So. Oh! Oh! Oh! Oh! So.", glossary),
              ElementsAre("So.", "Oh! Oh! Oh!", "Oh!", "So."));
}

TEST(Sentences, AreThoseOfTheLanguageByAnyOfItsNames) {
  EXPECT_EQ(language_code("deu_Latn"), "de");
  EXPECT_EQ(language_code("de-AT"), "de");
  EXPECT_EQ(language_code("nb"), "no");
  EXPECT_EQ(language_code("zh"), "zh");
  EXPECT_EQ(language_code("xx"), "");
  EXPECT_EQ(language_code(""), "");
}

// Each would take seconds or minutes if every mark or space looked at all of the text.
TEST(Sentences, OfLongTextsAreFoundAtOnce) {
  constexpr size_t kBytes = 200'000;
  const std::vector<std::pair<std::string, std::string>> kTexts{
      {"1) a", " "},    {"1." + std::string(kBytes / 2, ' '), "a 2. "},
      {"", "A. "},      {std::string(kBytes / 2, '1'), "! a"},
      {"", "(a! b), "}, {"", "« a ! » b ( c ! "},
      {"A. ", "“”"},    {"A. ", "»«"}};
  for (const auto& [begin, part] : kTexts) {
    std::string text = begin;
    while (text.size() < kBytes) text += part;
    EXPECT_LT(cpu_seconds_of([&] { sentences("en", text + " B"); }), 2) << part;
  }
}

TEST(Sentences, KeepWhatStandsBetweenThemButInChineseAndJapanese) {
  EXPECT_EQ(space_between("One.", "Two."), " ");
  EXPECT_EQ(space_between("One.", "Two.", "\t "), "\t ");
  EXPECT_EQ(space_between("a1b2", "c3d4", ""), "");
  EXPECT_EQ(space_between("一。", "二。", "\n"), "\n");
  EXPECT_EQ(space_between("一。", "二。"), "");
  EXPECT_EQ(space_between("好吗?", "他走了!"), "") << "NFKC makes ASCII of full-width marks";
  EXPECT_EQ(space_between("“好吗?”", "“好!”"), "");
  EXPECT_EQ(space_between("カメラ", "です"), "");
  EXPECT_EQ(space_between("一。", "AI"), "");
  EXPECT_EQ(space_between("AI", "「一」"), "");
  EXPECT_EQ(space_between("He left.", "北京 is large."), " ");
  EXPECT_EQ(space_between("서울.", "부산."), " ");
  EXPECT_EQ(space_between("ไทย", "สวย"), " ") << "Thai sentences have spaces between them";
  EXPECT_EQ(space_between("Yes 😀", "😀 No"), " ");
  EXPECT_EQ(space_between("...", "..."), " ");
  EXPECT_EQ(space_between("", "One."), "");
  EXPECT_EQ(space_between("One.", ""), "");
}

}  // namespace
}  // namespace transmute
