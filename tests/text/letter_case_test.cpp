// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/threads.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/text/letter_case.h>
#include <transmute/text/readable_case.h>
#include <transmute/text/source_parts.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using Span = std::pair<size_t, size_t>;

TEST(LetterCase, IsThatOfMostLetters) {
  for (const char* text : {"A MAN IS HERE.", "USA", "3 KG", "DIE STRAßE", "ΕΝΑΣ ΑΝΔΡΑΣ", "ДВА ЧЕЛОВЕКА", "(WARNING)"})
    EXPECT_EQ(case_of(text), TextCase::capitals) << text;
  for (const char* text : {"", "A", "I", "123", "A man is here.", "a man", "The USA", "日本語", "Angela Merkel",
                           "Der Mann und die Frau", "Zwei Hunde", "WARNING: do not touch"})
    EXPECT_EQ(case_of(text), TextCase::mixed) << text;
}

TEST(LetterCase, OfAnAcronymIsNotThatOfATextWithoutCase) {
  for (const char* text :
       {"彼はNHKで働く。", "日本語のNASA", "שלום USA", "나는 Microsoft Windows Server 를 쓴다", "ეს არის NASA"})
    EXPECT_EQ(case_of(text), TextCase::mixed) << text;
  for (const char* text : {"THE GREAT WALL OF CHINA 长城", "HAWAIʻI", "1ª VÍA", "ПʼЯТЬ"})
    EXPECT_EQ(case_of(text), TextCase::capitals) << text;
}

TEST(LetterCase, OfATitleIsThatOfEachWord) {
  for (const char* text : {"A Man In A Red Shirt", "Man in Red Shirt Rides a Bicycle", "\"Three Dogs Run\"",
                           "Ein Großer Hund Läuft", "3 Dogs Run Fast"})
    EXPECT_EQ(case_of(text), TextCase::title) << text;
  for (const char* text : {"Trump Tells UN To Act Now", "IBM PC DOS Handbook", "THANK YOU, Jonathan!"})
    EXPECT_EQ(case_of(text), TextCase::title) << text;
  EXPECT_EQ(case_of("THANK YOU FOR YOUR ORDER, John!"), TextCase::capitals) << "with one name";
  for (const char* text : {"Ein Mann in Uniform mit Hut", "Two Dogs run", "The dog of Anna Maria Smith"})
    EXPECT_EQ(case_of(text), TextCase::mixed) << text;
}

TEST(LetterCase, LabelsAreWhatIsBeforeAColonOrInBracketsAtTheBeginning) {
  const auto label = [](const std::string& text) { return text.substr(0, label_length(text)); };
  EXPECT_EQ(label("NOTE: Doors close: early."), "NOTE:");
  EXPECT_EQ(label("REMARQUE : Lire"), "REMARQUE :");
  EXPECT_EQ(label("- [DOOR OPENS] Who: me?"), "- [DOOR OPENS]");
  EXPECT_EQ(label("(LAUGHS)"), "(LAUGHS)");
  for (const char* text : {"It is 10:30: late", "http://host: a", "[open: it", "No label", "", " - "})
    EXPECT_EQ(label(text), "") << text;
  for (const char* text : {"NOTE:", "STEP 1:", "[MRS. O'HARA WHISPERS]", "ÉTAPE 2 :", "A WORD OR TWO MORE:"})
    EXPECT_TRUE(is_label_in_capitals(text)) << text;
  for (const char* text : {"Note:", "FYI:", "A B C D:", "iPHONE:", "MAX_SIZE:", "*EITHER*:", "(0 = NONE)", "12:", "",
                           "日本語:", "ONE TWO THREE FOUR FIVE SIX:"})
    EXPECT_FALSE(is_label_in_capitals(text)) << text;
}

TEST(LetterCase, FollowsTheRulesOfTheLanguage) {
  EXPECT_EQ(in_capitals("Straße", "de").text, "STRASSE");
  EXPECT_EQ(in_capitals("iğne ırmak", "tr").text, "İĞNE IRMAK");
  EXPECT_EQ(in_lower_case("IĞNE İKİ", "tr").text, "ığne iki");
  EXPECT_EQ(in_capitals("Μαΐου άνδρας", "el").text, "ΜΑΪΟΥ ΑΝΔΡΑΣ");
  EXPECT_EQ(in_lower_case("ΟΔΟΣ ΣΟΦΟΣ", "el").text, "οδος σοφος");
  EXPECT_EQ(in_title_case("IJSBEREN ETEN", "nl").text, "IJsberen Eten");
  EXPECT_EQ(in_title_case("DON'T T-SHIRT", "en").text, "Don't T-Shirt");
  EXPECT_EQ(with_capital_words("die USA und kleine", "de").text, "Die USA Und Kleine");
}

TEST(LetterCase, LocaleIsThatOfTheNamedLanguageOrOfTheLetters) {
  EXPECT_EQ(case_locale("", "tur_Latn"), "tr");
  EXPECT_EQ(case_locale("", "nld"), "nl");
  EXPECT_EQ(case_locale("", "pt-BR"), "pt");
  EXPECT_EQ(case_locale("kırmızı gömlekli bir adam", ""), "tr");
  EXPECT_EQ(case_locale("ένας άνδρας", ""), "el");
  EXPECT_EQ(case_locale("a man named Işık walks towards the old railway station", ""), "");
}

TEST(RecasedText, KnowsWhereItsBytesComeFrom) {
  RecasedText text;
  text.append_unchanged("a ");
  text.append(in_capitals("maß ŉb", ""));  // ß: two bytes for two; ŉ: three for two
  text.append_unchanged("!");
  EXPECT_EQ(text.text, "a MASS ʼNB!");
  EXPECT_EQ(text.now({2, 6}), Span(2, 6));
  EXPECT_EQ(text.now({7, 9}), Span(7, 10));
  EXPECT_EQ(text.now({9, 11}), Span(10, 12));
  EXPECT_EQ(text.before({7, 10}), Span(7, 9));
  EXPECT_EQ(text.before({10, 12}), Span(9, 11));
}

class ReadableCase : public ::testing::Test {
 protected:
  std::optional<std::string> readable(const std::string& text, const Glossary& glossary = {}) const {
    const auto found = in_readable_case(tokenizer_.source(), text, case_of(text), "", glossary);
    return found ? std::optional<std::string>(found->text) : std::nullopt;
  }

  const Tokenizer tokenizer_ = tiny_tokenizer();
  static Tokenizer tiny_tokenizer(const std::string& acronym = "USA") {
    TokenizerOptions options = testing::tiny_tokenizer_options();
    options.vocab_size = 160;
    const auto lines = [](std::vector<std::string> more) {
      std::vector<std::string> all = testing::tiny_english();
      for (int i = 0; i < 100; ++i) all.insert(all.end(), more.begin(), more.end());
      return testing::lines_from(all);
    };
    return train_tokenizer(
        options, lines({"The train is in the " + acronym + ".", "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z"}),
        testing::lines_from(testing::tiny_german()));
  }
};

TEST_F(ReadableCase, IsWhatTheVocabularyHasFewerPiecesFor) {
  EXPECT_EQ(readable("THE RED HOUSE IS NEAR."), "The red house is near.");
  EXPECT_EQ(readable("RED HOUSE  IN THE USA! THE TRAIN"), "red house  in the USA! The train");
  EXPECT_EQ(readable("The Old House Is Red."), "The old house is red.");
}

TEST_F(ReadableCase, IsNoneWhereTheVocabularyReadsTheText) {
  EXPECT_EQ(readable("USA"), std::nullopt);
  EXPECT_EQ(readable("QWV XZ"), std::nullopt);  // as many letters in either case
  EXPECT_EQ(readable("The house is in the USA."), std::nullopt);
  EXPECT_EQ(readable("12 34"), std::nullopt);
}

TEST_F(ReadableCase, IsNeededByThreeWordsEarlierThanByAcronyms) {
  EXPECT_EQ(readable("QWVXZ RED"), std::nullopt);
  EXPECT_NE(readable("QWVXZ QWV RED"), std::nullopt);
}

TEST_F(ReadableCase, LeavesAcronymsInTitles) {
  const Tokenizer tokenizer = tiny_tokenizer("WHO who B b");
  const auto found =
      in_readable_case(tokenizer.source(), "The Old WHO Is RED REDREDRED (WBHO)", TextCase::title, "", {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "The old WHO is red redredred (WBHO)");
}

TEST_F(ReadableCase, LeavesNamesWithCapitalsWithinInTitles) {
  EXPECT_EQ(readable("The Old RedHouse Is Red."), "The old RedHouse is red.");
  EXPECT_EQ(readable("The Old (MacRed) Is Red."), "The old (MacRed) is red.");
}

TEST_F(ReadableCase, IsNotThatOfTheTranslationOfALongTextInCapitals) {
  const SentencesOf sentences_of = [](size_t) { return std::vector<ByteSpan>{{0, 3}, {4, 11}}; };
  const auto written = [&](const std::string& text, const SentencesOf& sentences) {
    const SourceTexts sources = encode_texts(tokenizer_.source(), {text}, {}, {}, one_by_one, sentences);
    EXPECT_EQ(sources.at(0).parts.at(0).plain, text.substr(0, sources[0].parts[0].plain.size()));
    return sources[0].parts[0].written;
  };
  EXPECT_EQ(written("USA USA", nullptr), TextCase::mixed);
  EXPECT_EQ(written("USA USA USA", nullptr), TextCase::capitals);
  EXPECT_EQ(written("USA USA USA USA Hz", nullptr), TextCase::mixed);
  EXPECT_EQ(written("USA USA USA", sentences_of), TextCase::capitals);
}

TEST_F(ReadableCase, LeavesTermsOfTheGlossary) {
  const Glossary glossary(std::vector<GlossaryEntry>{{"RED HOUSE", "Rotes Haus"}});
  EXPECT_EQ(readable("THE RED HOUSE IS NEAR. THE RIVER IS FAR.", glossary), "The RED HOUSE is near. The river is far.");
}

TEST_F(ReadableCase, LeavesPlaceholdersAddressesAndPaths) {
  EXPECT_EQ(readable("THE RED {NAME} HOUSE IS NEAR THE %(X)s TRAIN."), "The red {NAME} house is near the %(X)s train.");
  EXPECT_EQ(readable("THE RED HOUSE IS IN THE OLD WWW.A.B"), "The red house is in the old WWW.A.B");
  EXPECT_EQ(readable("&THE RED HOUSE IS NEAR."), "&The red house is near.") << "an accelerator has no case";
}

TEST_F(ReadableCase, LowersTheTurkishDotlessLetterWhereTheVocabularyHasIt) {
  std::vector<std::string> lines(50, "kız ırmak iki kırmızı adım");
  lines.insert(lines.end(), 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZİ");
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.vocab_size = 75;
  const Tokenizer turkish = train_tokenizer(options, testing::lines_from(lines), testing::lines_from(lines));
  const auto found = in_readable_case(turkish.source(), "KIRMIZI IRMAK", TextCase::capitals, "", {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text, "kırmızı ırmak");
}

TEST(KnownLetters, TakeThePlaceOfCapitalsThatTheVocabularyLacks) {
  const Tokenizer tokenizer = testing::tiny_tokenizer();  // without the capitals of English
  SmallWords words;
  const auto read = [&](const std::string& text, const Glossary& glossary = {}) {
    words.clear();
    const auto found = in_known_letters(tokenizer.source(), text, "", glossary, words);
    return found ? std::optional<std::string>(found->text) : std::nullopt;
  };
  EXPECT_EQ(read("Train, the HOUSE-River (Old)"), "train, the house-river (old)");
  EXPECT_EQ(words, (SmallWords{"house", "river"})) << "the first word's capital is the sentence's";
  EXPECT_EQ(read("the red house"), std::nullopt);
  EXPECT_EQ(read("the Река is %S near"), std::nullopt);
  EXPECT_EQ(read("the Red Train", Glossary(std::vector<GlossaryEntry>{{"Red", "Rot"}})), "the Red train");
}

TEST(KnownLetters, OfNamesAreTheirCapitalsWithoutAccents) {
  std::vector<std::string> lines(50, "the índice and the índice ú is ú");
  lines.insert(lines.end(), 5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz");
  TokenizerOptions options = testing::tiny_tokenizer_options();
  options.vocab_size = 90;
  const Tokenizer tokenizer = train_tokenizer(options, testing::lines_from(lines), testing::lines_from(lines));
  SmallWords words;
  const auto read = [&](const std::string& text) {
    return in_known_letters(tokenizer.source(), text, "", {}, words).value_or(RecasedText{}).text;
  };
  EXPECT_EQ(read("the Índice and Úrsula"), "the índice and Ursula");
  EXPECT_EQ(read("Úrsula and the ÚRSULA"), "úrsula and the úrsula");
}

TEST(KnownLetters, AreCapitalsOfTheTranslation) {
  const std::string translation = "oscar, Óscar, l'óscar-o\u0301scar, oscars {river}";
  const size_t kept = translation.find("{river}");
  EXPECT_EQ(with_capitals_of({"oscar", "river"}, translation, "", {{kept, translation.size()}}).text,
            "Oscar, Óscar, l'Óscar-O\u0301scar, oscars {river}");
}

TEST(CaseOfATranslation, IsTheSourcesButForWhatIsKept) {
  EXPECT_EQ(in_case("der Fahrradweg", TextCase::capitals, "de", {}).text, "DER FAHRRADWEG");
  EXPECT_EQ(in_case("ein Straßenrad fährt", TextCase::title, "de", {}).text, "Ein Straßenrad Fährt");
  EXPECT_EQ(in_case("o nível de contorno (em breve): a cor", TextCase::title, "", {{2, 8}}).text,
            "O nível de Contorno (Em Breve): A Cor");
  EXPECT_EQ(in_case("do as the {river} of men do", TextCase::title, "en", {{10, 17}}).text,
            "Do as the {river} of Men Do");
  EXPECT_EQ(in_case("das Rad fährt auf Rädern", TextCase::capitals, "", {{4, 7}}).text, "DAS Rad FÄHRT AUF RÄDERN");
  EXPECT_EQ(in_case("das ist so", TextCase::capitals, "", {{0, 3}, {0, 3}, {2, 7}}).text, "das ist SO");
  EXPECT_EQ(in_case("日本語", TextCase::capitals, "", {}).text, "日本語");
}

}  // namespace
}  // namespace transmute
