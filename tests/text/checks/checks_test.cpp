// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/checks/checks.h>
#include <transmute/text/checks/coverage.h>
#include <transmute/text/checks/expectations.h>
#include <transmute/text/checks/kept_text.h>

#include <cmath>
#include <string>
#include <vector>

namespace transmute {
namespace {

using checks::check_texts;
using testing::cpu_seconds_of;

std::vector<std::string> kinds(const std::string& source, const std::string& target,
                               const Expectations& expected = {}) {
  std::vector<std::string> names;
  for (const TranslationWarning& warning : check_texts(source, target, expected))
    names.emplace_back(name_of(warning.kind));
  return names;
}

using Kinds = std::vector<std::string>;

TEST(KeptText, IsFoundWhereItStands) {
  const std::string text =
      "Mail %s or %1$-5.2f to a.b@example.com, see (https://x.org/a?b=1&c). {0} {{x}} ${y} 😀👍🏽🇩🇪 100% "
      "of";
  std::vector<std::string> found;
  for (const checks::KeptText& kept : checks::kept_text_in(text))
    found.push_back(text.substr(kept.span.first, kept.span.second - kept.span.first));
  EXPECT_EQ(found, (std::vector<std::string>{"%s", "%1$-5.2f", "a.b@example.com", "https://x.org/a?b=1&c", "{0}",
                                             "{{x}}", "${y}", "😀", "👍🏽", "🇩🇪"}));
}

// Each brace looked at all that follow it.
TEST(KeptText, OfManyBracesIsFoundAtOnce) {
  EXPECT_LT(cpu_seconds_of([&] { EXPECT_EQ(checks::kept_text_in(std::string(200'000, '{') + "x}}").size(), 1U); }), 2);
}

TEST(Checks, MissKeptTextThatIsGoneOrIsThereTooRarely) {
  EXPECT_EQ(kinds("Open %s and %s", "Öffne %s"), Kinds{"placeholder"});
  EXPECT_EQ(kinds("Open %s and %s", "Öffne %s und %s"), Kinds{});
  EXPECT_EQ(kinds("See www.example.com.", "Siehe www.example.de."), Kinds{"address"});
  EXPECT_EQ(kinds("See usp.br/a, or sony.jp.", "Siehe usp.br/a oder Sony."), Kinds{"address"});
  EXPECT_EQ(kinds("I am done.so we went", "Ich bin fertig, also gingen wir"), Kinds{});
  EXPECT_EQ(kinds("fine 😀", "gut"), Kinds{"emoji"});
  EXPECT_EQ(kinds("item {12}", "Eintrag {12}"), Kinds{}) << "its digits are no number";
}

// Each emoji was searched for in the whole translation, and made a warning of its own.
TEST(Checks, OfManyEmojiAreFewAndQuick) {
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "😀";
  std::vector<TranslationWarning> warnings;
  EXPECT_LT(cpu_seconds_of([&] { warnings = check_texts(many, many.substr(0, many.size() / 2), {}); }), 2);
  ASSERT_EQ(warnings.size(), 100U);
  EXPECT_EQ(warnings.front().source, std::make_pair(size_t{200'000}, size_t{200'004})) << "the first half is there";
  EXPECT_EQ(warnings[98].message, "the emoji 😀 is missing");
  EXPECT_EQ(warnings[99].message, "the emoji 😀 is missing; there are more of these");
}

TEST(Checks, OfAllPartsOfATextAreFewOfEachKind) {
  std::vector<TranslationWarning> all{{WarningKind::length}};
  for (int i = 0; i < 300; ++i) checks::add_warning({WarningKind::emoji, {}, {}, std::to_string(i)}, all);
  checks::add_warning({WarningKind::copy}, all);
  ASSERT_EQ(all.size(), 102U);
  EXPECT_EQ(all[99].message, "98");
  EXPECT_EQ(all[100].message, "99; there are more of these");
  EXPECT_EQ(all[101].kind, WarningKind::copy);
}

TEST(Checks, SayWhereANumberDiffers) {
  const auto warnings = check_texts("There are 15 men.", "Da sind 51 Männer.", {});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].kind, WarningKind::number);
  EXPECT_EQ(warnings[0].source, std::make_pair(size_t{10}, size_t{12}));
  EXPECT_EQ(warnings[0].target, std::make_pair(size_t{8}, size_t{10}));
  EXPECT_EQ(warnings[0].message, "the number 15 became 51");
}

TEST(Checks, FindLoopsOfWordsPhrasesAndLetters) {
  EXPECT_EQ(kinds("A man.", "Ein Mann Mann Mann Mann."), Kinds{"repetition"});
  EXPECT_EQ(kinds("A man.", "Ein Mann in der in der in der Stadt."), Kinds{"repetition"});
  EXPECT_EQ(kinds("A man in a red shirt.", "Ein Mann in einem roten Hemd. Ein Mann in einem roten Hemd."),
            Kinds{"repetition"});
  EXPECT_EQ(kinds("A MAN", "Ein MININININ"), Kinds{"repetition"});
  EXPECT_EQ(kinds("一个男人", "男の人男の人男の人男の人"), Kinds{"repetition"});
  EXPECT_EQ(kinds("A man.", "Ein Mann. , , , , , , , , "), Kinds{"repetition"});
  EXPECT_EQ(kinds("Lista:", "List, list:"), Kinds{"repetition"});
  EXPECT_EQ(kinds("Sim", "- Yes Yes - yes"), Kinds{"repetition"});
  EXPECT_EQ(kinds("Tipo", "Type Type"), Kinds{"repetition"});
  EXPECT_EQ(kinds("A lista", "list list"), Kinds{"repetition"});
  EXPECT_EQ(kinds("AND", "E e"), Kinds{"repetition"});
  EXPECT_EQ(kinds("Inglês (EUA)", "English (US) English (US)"), Kinds{"repetition"});
  const auto warnings = check_texts("A man.", "Ein Mann in der in der in der Stadt.", {});
  EXPECT_EQ(warnings.at(0).target, std::make_pair(size_t{9}, size_t{29}));
  EXPECT_EQ(warnings.at(0).message, "\"in der\" is repeated 3 times");
}

TEST(Checks, AcceptRepetitionOfTheSourceAndOfOrdinaryText) {
  EXPECT_EQ(kinds("very very very very good", "sehr sehr sehr sehr gut"), Kinds{});
  EXPECT_EQ(kinds("hahahahaha", "hahahahaha"), Kinds{});
  EXPECT_EQ(kinds("Yes, yes, YES, yes,", "Ja, ja,"), Kinds{});
  EXPECT_EQ(kinds("No, no!", "Nein! nein!"), Kinds{});
  EXPECT_EQ(kinds("Slowly.", "Yavaş yavaş."), Kinds{});
  EXPECT_EQ(kinds("slowly", "धीरे धीरे"), Kinds{});
  EXPECT_EQ(kinds("12 men", "12 12"), Kinds{});
  EXPECT_EQ(kinds("the woman who opens the door", "die, die die Tür öffnet"), Kinds{});
  EXPECT_EQ(kinds("A line: ----------", "Eine Linie: ----------"), Kinds{});
  EXPECT_EQ(kinds("a a a", "x - - - - - y"), Kinds{});
  EXPECT_EQ(kinds("See . . . . . . . . . . 5", "Siehe . . . . . . . . . . 5"), Kinds{});
}

TEST(Checks, FindCopiesButNotNames) {
  const std::string sentence = "Two young men are playing football in the park.";
  EXPECT_EQ(kinds(sentence, sentence), Kinds{"copy"});
  EXPECT_EQ(kinds("Adobe Photoshop Lightroom Classic", "Adobe Photoshop Lightroom Classic"), Kinds{});
  Expectations copies;
  copies.copies = 0.1;
  EXPECT_EQ(kinds(sentence, sentence, copies), Kinds{}) << "the model learned from copies";
}

TEST(Checks, FindForeignScriptsWhereThoseOfTheTargetAreKnown) {
  Expectations german;
  german.scripts = {"Latn"};
  EXPECT_EQ(kinds("A man walks.", "Ein мужчина geht.", german), Kinds{"script"});
  EXPECT_EQ(kinds("A man walks.", "Ein мужчина geht."), Kinds{});
  EXPECT_EQ(kinds("A film called Сталкер.", "Ein Film namens Сталкер.", german), Kinds{});
}

TEST(Checks, FindBracketsThatNoTranslatorWrites) {
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"Foreground", "Foreground (a)"},
           {"Matting Levin", "matting levin (em inglês)"},
           {"Outer:", "Outer: ("},
           {"See script(1).", "Veja script(1."},
           {"=PRECISE(2) is 0.", "=PRECISE2) é 0."},
           {"Error(s) in row", "Erro() na linha"},
           {"（東京）です。", "（Tokyo."},
           {"Shavian (Shaw)", "Shavian (Shaw) (em inglês)"},
           {"Defaults to \"info\".", "Padrão para \"info\" (em inglês)."},
           {"Architecture(s)", "Arquitetura (em inglês)"},
           {"Teacher", "教師（男性）"},
           {"It is \"red\".", "É o \"vermelho."},
           {"A \"B\" if x==\"B\".", "Um \"B se x\"B\"."},
           {"A \"B\" if 7==\"B\".", "Um \"B se 7\"B\"."},
           {"One of \"none\", \"atm\" or \"ptm\".", "Um de \"none\", \"atm ou \"ptm\"."},
       })
    EXPECT_EQ(kinds(source, target), Kinds{"bracket"}) << source;
  for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
           {"The BAF (a framework)", "O BAF（um framework)"},
           {"NaN is returned.", "Eine unzulässige Zahl (NaN) kommt zurück."},
           {"(It begins here.", "(Es beginnt hier."},
           {"Call f().", "Rufe f() auf."},
           {"Stars (%1)", "Stars (%1) sind da"},
           {"He said \"Go away.", "彼は「あっちへ行け。"},
           {"A 5\" screen", "Uma tela de 5 polegadas"},
           {"a 3.5\" and a \"big\" disk", "um disco de 3,5\" e um \"grande\""},
           {"The file(s) of it", "Die Datei (en) davon"},
           {"Hi(s)", "Oi(tudo bem)"},
           {"Teacher", "Lehrer(in)"},
           {"A screen of 12 inches", "Uma tela de 12\""},
           {"The IDF said so.", "צה\"ל אמר את זה."},
           {"the dog runs", "(TOP (S (NP XX XX )NP (VP XX )VP"},
       })
    EXPECT_EQ(kinds(source, target), Kinds{}) << source;
  const auto warnings = check_texts("Bill", "Bill (em inglês)", {});
  EXPECT_EQ(warnings.at(0).target, std::make_pair(size_t{5}, size_t{17}));
  EXPECT_EQ(warnings.at(0).message, "the translation repeats the source and adds \"(em inglês)\"");
}

TEST(Checks, MeasureLengthsInStandardDeviations) {
  Expectations expected;
  expected.lengths[1] = {0.5, 0.25};
  EXPECT_DOUBLE_EQ(checks::length_deviation("ten chars.", "zehn Ähöü!", expected), -2);
  EXPECT_GT(checks::length_deviation("ten chars.", std::string(40, 'x'), expected), 2);
}

TEST(Words, BeginAtSpacesAndAtTokensOfScriptsWithoutSpaces) {
  const std::vector<std::string> pieces{"▁A", "▁m", "an", "▁", "中", "国", "▁", "▁is", "."};
  EXPECT_EQ(checks::words_of_tokens(pieces), (std::vector<ByteSpan>{{0, 1}, {1, 3}, {3, 5}, {5, 6}, {6, 7}, {7, 9}}));
}

TEST(Expectations, AreThoseOfTheSample) {
  std::vector<std::string> sources, targets;
  for (int i = 0; i < 200; ++i) {
    sources.emplace_back("0123456789");
    targets.emplace_back(i % 2 == 0 ? "Это двадцать символов" : "Да");
  }
  const Expectations learned = learn_expectations(sources, targets);
  const double high = std::log(2.1), low = std::log(0.2);
  EXPECT_NEAR(learned.lengths[1].mean, (high + low) / 2, 1e-9);
  EXPECT_NEAR(learned.lengths[1].deviation, (high - low) / 2, 1e-9);
  EXPECT_EQ(learned.lengths[2].deviation, Expectations().lengths[2].deviation) << "no such length";
  EXPECT_EQ(learned.scripts, std::vector<std::string>{"Cyrl"});
  EXPECT_EQ(learned.copies, 0);
  const std::string copy = "Two young men are playing football.";
  EXPECT_EQ(learn_expectations({copy, "a"}, {copy, "b"}).copies, 0.5);
}

}  // namespace
}  // namespace transmute
