// SPDX-License-Identifier: Apache-2.0
// Each rule with pairs that it must leave out, and with their near misses, which it must keep.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/preparation/rules.h>
#include <transmute/preparation/side.h>

#include <optional>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

ExpectedText english_and_german() {
  ExpectedText expected;
  expected.source = {LanguageCheck("en"), {USCRIPT_LATIN}};
  expected.target = {LanguageCheck("de"), {USCRIPT_LATIN}};
  return expected;
}

// The name of the rule that a pair breaks; "" where it is kept.
std::string rule_of(const std::string& source, const std::string& target, const RuleOptions& options = {}) {
  static const ExpectedText kExpected = english_and_german();
  const std::optional<Violation> violation = find_violation({source, target}, kExpected, options);
  return violation ? text_of(violation->rule).name : "";
}

TEST(PreparationRules, KeepOrdinaryPairs) {
  EXPECT_EQ(rule_of("A man in an orange hat staring at something.", "Ein Mann mit einem orangefarbenen Hut starrt."),
            "");
  EXPECT_EQ(rule_of("Yes.", "Ja."), "");
  EXPECT_EQ(rule_of("OK", "OK"), "");
  EXPECT_EQ(rule_of("Tom", "Tom"), "");
}

TEST(PreparationRules, LeaveOutAnEmptySide) {
  EXPECT_EQ(rule_of("", "Ja."), "empty");
  EXPECT_EQ(rule_of("Yes.", ""), "empty");
  EXPECT_EQ(rule_of("Yes.", "\u00A0"), "empty");
  EXPECT_EQ(rule_of("\u3000\u200B\u2060\u00AD", "Ja."), "empty");
  EXPECT_EQ(rule_of("5\u00A0%", "5\u00A0%"), "");
}

TEST(PreparationRules, LeaveOutLostCharacters) {
  EXPECT_EQ(rule_of("The key is here.", "Der Schl\uFFFDssel ist hier."), "encoding");
  EXPECT_EQ(rule_of("The key is here.", "Der Schl?ssel ist hier."), "encoding");
  EXPECT_EQ(rule_of("The key is here.", "Der SchlÃssel ist hier."), "encoding");
  EXPECT_EQ(rule_of("Where is the key?", "Wo ist der Schlüssel?"), "");
  EXPECT_EQ(rule_of("See http://a.org/b?c=d for more.", "Siehe http://a.org/b?c=d für mehr."), "");
  EXPECT_EQ(rule_of("SÃO PAULO is a city.", "SÃO PAULO ist eine Stadt."), "");
  for (const char* target :
       {"Er war in M?nchen auf der Stra?e.", "Wir sie gewarnt h?tten.", "Die Gr??e der T?r: gut.",
        "Wir h?rten (und f?hlten) es.", "Das war sp?t, [Musik l?uft]", "?ber den Weg und das Haus.",
        "Das Haus \"?ber\" dem Weg.", "Das war ein SchlÃ?ssel.", "Das war die Ã? von ihm."})
    EXPECT_EQ(rule_of("We had warned them about that.", target), "encoding") << target;
  for (const auto& [source, target] : {std::pair("Did you say \"yes\"?", "Haben Sie \"ja\" gesagt?"),
                                       {"What?? Are you sure?", "Was?? Sind Sie sicher?"},
                                       {"Will it be tomorrow?", "AMANHÃ?"},
                                       {"The pattern (?i) is known.", "Das Muster (?i) ist bekannt."},
                                       {"What time is it?", "?que hora es?"},
                                       {"Use a?b:c here.", "Nimm a?b:c hier."},
                                       {"A ?b c", "A ?b c"}})
    EXPECT_EQ(rule_of(source, target), "") << target;
}

TEST(PreparationRules, LeaveOutLongSides) {
  RuleOptions options;
  options.max_length = 20;
  EXPECT_EQ(rule_of("Twenty characters ..", "Zwanzig Zeichen"), "");
  EXPECT_EQ(rule_of("Twenty-one characters", "Zwanzig Zeichen", options), "length");
  EXPECT_EQ(rule_of("Twelve words", "ÄÖÜ äöü ßßß ÄÖÜ äöü", options), "");  // bytes do not count
}

TEST(PreparationRules, LeaveOutSidesOfSymbols) {
  EXPECT_EQ(rule_of("--- 1234 ---", "--- 1234 ---"), "symbols");
  EXPECT_EQ(rule_of("*** ### a ***", "### *** b ###"), "symbols");
  EXPECT_EQ(rule_of("12/31/1999", "31.12.1999"), "");
  EXPECT_EQ(rule_of("7th", "7."), "");
  EXPECT_EQ(rule_of("Version 1.2.3", "Version 1.2.3"), "");
  EXPECT_EQ(rule_of("A4 (210 mm)", "A4 (210 mm)"), "");
}

TEST(PreparationRules, LeaveOutOtherScripts) {
  EXPECT_EQ(rule_of("Good morning", "Доброе утро"), "script");
  EXPECT_EQ(rule_of("The letter Ω", "Der Buchstabe Ω"), "");
}

TEST(PreparationRules, LetNamesThatBothSidesHaveBeInAnotherScript) {
  ExpectedText expected = english_and_german();
  expected.target = {LanguageCheck("zh"), {USCRIPT_HAN}};
  const auto is_left_out = [&](const std::string& source, const std::string& target) {
    const auto violation = find_violation({source, target}, expected, {});
    return violation && violation->rule == Rule::script;
  };
  EXPECT_FALSE(is_left_out("Thunderbird is free and open source.", "Thunderbird 是自由和开源的。"));
  EXPECT_FALSE(is_left_out("The --name-only option makes no sense", "选项--name-only无意义"));
  EXPECT_TRUE(is_left_out("Thunderbird is free and open source.", "Mozilla Firefox 是自由的。")) << "another name";
  EXPECT_TRUE(is_left_out("Click here to download the file", "Click here to download the file 点击这里下载文件"));
  EXPECT_TRUE(is_left_out("Please open the settings page now.", "Please open the settings page 设置")) << "half done";
  std::swap(expected.source, expected.target);
  EXPECT_FALSE(is_left_out("Thunderbird 是自由和开源的。", "Thunderbird is free and open source."));
}

TEST(PreparationRules, LeaveOutCopiesButKeepNames) {
  EXPECT_EQ(rule_of("This is a test of this.", "This is a test of this."), "copy");
  EXPECT_EQ(rule_of("two young guys are outside", "Two young guys are outside"), "copy");
  EXPECT_EQ(rule_of("Ministry of Silly Walks", "Ministry of Silly Walks"), "");
  EXPECT_EQ(rule_of("Arnold Schwarzenegger", "Arnold Schwarzenegger"), "");
  EXPECT_EQ(rule_of("Mozilla Firefox ESR Release Notes", "Mozilla Firefox ESR Release Notes"), "");
}

TEST(PreparationRules, LeaveOutOtherLanguages) {
  EXPECT_EQ(rule_of("The man and the woman are in the house.", "L'homme et la femme sont dans la maison."), "language");
  EXPECT_EQ(rule_of("Der Mann ist in dem Haus und die Frau auch.", "Der Mann ist im Haus, und die Frau auch."),
            "language");
  EXPECT_EQ(rule_of("Bon appétit!", "Guten Appetit!"), "");
  EXPECT_EQ(rule_of("mount -a [-t type] [-O optlist]", "mount -a [-t Typ] [-O Optionsliste]"), "");
  EXPECT_EQ(rule_of("Sets three variables: VAR1, VAR2, VAR3", "Setzt drei Variablen: VAR1, VAR2, VAR3"), "");
  EXPECT_EQ(rule_of("A woman reads \"Le Monde\" in the park.", "Eine Frau liest \"Le Monde\" im Park."), "");
}

TEST(PreparationRules, DoNotTakeSerbianInCyrillicForRussian) {
  EXPECT_EQ(LanguageCheck("sr").other_language("Ово је кућа на брду и она је за мене велика."), "");
  EXPECT_EQ(LanguageCheck("sr-Latn").code(), "hr");
}

TEST(PreparationRules, LeaveOutLengthsThatDoNotFit) {
  EXPECT_EQ(rule_of("A very long sentence with many words that goes on and on, because nobody has ended it.", "Ein"),
            "ratio");
  EXPECT_EQ(rule_of("Bus stop", "Bushaltestelle"), "");
}

TEST(PreparationRules, LeaveOutTextsThatWereCut) {
  ExpectedText expected = english_and_german();
  expected.lengths.fill({0, 0.2});
  const auto is_left_out = [&](const std::string& target) {
    const auto violation = find_violation({"Two men stand at the stove and cook.", target}, expected, {});
    return violation && violation->rule == Rule::ratio;
  };
  EXPECT_TRUE(is_left_out("Zwei Männer stehen"));    // 0.7, which is 3.5 deviations
  EXPECT_FALSE(is_left_out("Zwei Männer kochen."));  // as short, but a sentence
  EXPECT_FALSE(is_left_out("\"Zwei Männer kochen.\""));
  EXPECT_TRUE(is_left_out("Sie kochen."));  // 1.2: too short for anything
}

TEST(PreparationRules, LearnLengthsDespiteBadPairs) {
  std::vector<TextPair> sample;
  for (int i = 0; i < 1000; ++i)
    sample.push_back({std::string(40, 'a'), std::string(i % 5 == 0 ? 5 : 40 + i % 9, 'b')});
  const ExpectedText expected = learn_expected_text(sample, {});
  const LengthExpectation& learned = expected.lengths[length_class(40)];
  EXPECT_NEAR(learned.mean, 0.07, 0.03);  // log(43 / 40)
  EXPECT_LE(learned.deviation, 0.12);     // a fifth of the pairs are cut
}

TEST(PreparationRules, LearnScriptsAndLanguages) {
  std::vector<TextPair> sample(200, {"The house is on the hill and it is big.", "Дом стоит на холме, и он большой."});
  sample.resize(210, {"Это не то", "This is the wrong way round."});
  const ExpectedText expected = learn_expected_text(sample, {});
  EXPECT_EQ(expected.source.language.code(), "en");
  EXPECT_EQ(expected.target.language.code(), "ru");
  EXPECT_THAT(expected.source.scripts, ElementsAre(USCRIPT_LATIN));
  EXPECT_THAT(expected.target.scripts, ElementsAre(USCRIPT_CYRILLIC));
}

TEST(PreparationRules, KnowTheScriptsOfLanguages) {
  EXPECT_THAT(scripts_of_language("ja"),
              ::testing::UnorderedElementsAre(USCRIPT_KATAKANA, USCRIPT_HIRAGANA, USCRIPT_HAN));
  EXPECT_THAT(scripts_of_language("de-AT"), ElementsAre(USCRIPT_LATIN));
  for (const char* serbian : {"sr", "srp", "sr-RS", "sr_ME"})
    EXPECT_THAT(scripts_of_language(serbian), ::testing::UnorderedElementsAre(USCRIPT_CYRILLIC, USCRIPT_LATIN));
  for (const char* latin : {"sr-Latn", "sr_Latn_RS", "srp_Latn"})
    EXPECT_THAT(scripts_of_language(latin), ElementsAre(USCRIPT_LATIN));
  EXPECT_THAT(scripts_of_language("uz"), ::testing::UnorderedElementsAre(USCRIPT_CYRILLIC, USCRIPT_LATIN));
}

TEST(PreparationRules, CompareMarkup) {
  EXPECT_EQ(rule_of("Press <b>Start</b> now.", "Drücken Sie <b>Start</b> jetzt."), "");
  EXPECT_EQ(rule_of("Press <b>Start</b> now.", "Drücken Sie jetzt Start."), "markup");
  EXPECT_EQ(rule_of("Salt and pepper", "Salz&nbsp;und Pfeffer"), "markup");
  EXPECT_EQ(rule_of("If a < b and b > c, stop here.", "Wenn a < b und b > c gilt, halte hier."), "");
  EXPECT_EQ(rule_of("Use gid=<group> for this.", "Verwenden Sie dafür gid=<Gruppe>."), "");
  EXPECT_EQ(rule_of("See the <link id=\"a\"/> for more.", "Mehr steht dort."), "markup");
  EXPECT_EQ(rule_of("Research & Development", "Forschung und Entwicklung"), "");
}

TEST(PreparationRules, ComparePlaceholders) {
  EXPECT_EQ(rule_of("Copied %s to %s.", "%s wurde nach %s kopiert."), "");
  EXPECT_EQ(rule_of("Copied %s to %s.", "Nach %2$s wurde %1$s kopiert."), "");
  EXPECT_EQ(rule_of("Copied %s to %s.", "%s wurde kopiert."), "placeholder");
  EXPECT_EQ(rule_of("Hello {name}, welcome!", "Hallo {nome}, willkommen!"), "placeholder");
  EXPECT_EQ(rule_of("No more than %dpx, please.", "Bitte höchstens %d Bildpunkte."), "");
  EXPECT_EQ(rule_of("Set ENV{key} to match.", "Setzen Sie ENV{Schlüssel} passend."), "");
  EXPECT_EQ(rule_of("Up to 100% of it", "Bis zu 100 % davon"), "");
}

TEST(PreparationRules, CompareAddresses) {
  EXPECT_EQ(rule_of("See https://example.org for more.", "Mehr steht hier."), "address");
  EXPECT_EQ(rule_of("See https://en.example.org for more.", "Mehr: siehe https://de.example.org dazu."), "");
  EXPECT_EQ(rule_of("See example.org @ home for more.", "Mehr dazu steht auf example.org zu Hause."), "");
  EXPECT_EQ(rule_of("the unit \"foo@bar.service\" may fail", "die Unit »foo@bar.service« kann scheitern"), "");
  EXPECT_EQ(rule_of("Note: this is new.", "Hinweis: Das ist neu."), "");
}

TEST(PreparationRules, CompareNumbersByValue) {
  EXPECT_EQ(rule_of("It costs 1,000 euros.", "Es kostet 1.000 Euro."), "");
  EXPECT_EQ(rule_of("It costs 3.50 euros.", "Es kostet 3,50 Euro."), "");
  EXPECT_EQ(rule_of("The train leaves at 5 pm.", "Der Zug fährt um 17 Uhr."), "");
  EXPECT_EQ(rule_of("I have 3 children.", "Ich habe drei Kinder."), "");
  EXPECT_EQ(rule_of("He was born in 1978.", "Er wurde 1987 geboren."), "number");
  EXPECT_EQ(rule_of("There are 4711 of them.", "Davon gibt es viele."), "number");
}

TEST(PreparationRules, AreOffWhereTheyAreToBe) {
  RuleOptions options;
  options.off[static_cast<size_t>(Rule::number)] = true;
  EXPECT_EQ(rule_of("He was born in 1978.", "Er wurde 1987 geboren.", options), "");
}

TEST(NearDuplicateKey, LeavesOutWhatDoesNotChangeTheMeaning) {
  const std::string key = near_duplicate_key("Tom’s house, \"here\" – now!");
  EXPECT_EQ(near_duplicate_key("tom's  HOUSE here now."), key);
  EXPECT_NE(near_duplicate_key("Tom's house here now?"), key);  // a question
  EXPECT_NE(near_duplicate_key("Page 1"), near_duplicate_key("Page 2"));
  EXPECT_NE(near_duplicate_key("a < b"), near_duplicate_key("a > b"));
  EXPECT_NE(near_duplicate_key("schon"), near_duplicate_key("schön"));
}

TEST(Stems, AreBeginningsOfWordsAndSingleIdeographs) {
  EXPECT_THAT(stems_of("Die Häuserreihe, 42!"), ElementsAre("die", "häuser", "42"));
  EXPECT_THAT(stems_of("北京 ok"), ElementsAre("北", "京", "ok"));
}

}  // namespace
}  // namespace transmute
