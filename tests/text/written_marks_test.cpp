// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/inline_tags.h>
#include <transmute/text/written_text.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::cpu_seconds_of;

// The vocabulary has ASCII alone.
TaggedText read_in_ascii(const std::string& text) {
  const auto is_unknown = [](int32_t c) { return c >= 0x80; };
  return TaggedText(text, tags_and_spans(
                              text, false, [](const ProtectedSpan&) { return false; }, is_unknown));
}

std::string restored(const std::string& source, const std::string& translation,
                     const std::vector<std::string>& kept = {}) {
  return WrittenText(read_in_ascii(source).source()).restore(translation, kept).text;
}

TEST(WrittenMarks, AreReadInAscii) {
  EXPECT_EQ(read_in_ascii("“It’s John’s,” she said—‘yes’…").plain(), "\"It's John's,\" she said - 'yes'...");
  EXPECT_EQ(read_in_ascii("1939–1945 – 5×3 −2 ½ 1½ ⅒ «a»").plain(), "1939-1945 - 5x3 -2 1/2 1 1/2 1/10 \"a\"");
  EXPECT_EQ(read_in_ascii("plain \"text\" - it's").plain(), "plain \"text\" - it's");
  EXPECT_FALSE(read_in_ascii("it's").is_changed());
  const std::string tagged = "Our team—<b>all—<i>of them</i></b>—won.";
  const auto is_unknown = [](int32_t c) { return c >= 0x80; };
  EXPECT_EQ(TaggedText(tagged, tags_and_spans(
                                   tagged, true, [](const auto&) { return false; }, is_unknown))
                .plain(),
            "Our team - all - of them - won.");
  const std::string item = "<b>Apple</b> – a fruit";
  EXPECT_EQ(TaggedText(item, tags_and_spans(
                                 item, true, [](const auto&) { return true; }, is_unknown))
                .plain(),
            "Apple - a fruit");
  const TaggedText text = read_in_ascii("a—½ b");
  EXPECT_TRUE(text.is_changed());
  EXPECT_FALSE(text.has_tags());
  EXPECT_EQ(span_in(text.source().places, {text.plain().find("1/2"), text.plain().find("1/2") + 3}), ByteSpan(4, 5))
      << "the beginnings of characters";
}

TEST(WrittenMarks, OfQuotationsWithinQuotationsComeBackFromDoubleOnes) {
  EXPECT_EQ(restored("“Besides the ‘love,’ which nobody has?”", "\"Além do \"amor\", que ninguém tem?\""),
            "“Além do ‘amor’, que ninguém tem?”");
  EXPECT_EQ(restored("the ‘love,’ which nobody has?”", "o \"amor\", que ninguém tem?\""), "o ‘amor’, que ninguém tem?”")
      << "a sentence of a quotation";
  EXPECT_EQ(restored("“ ‘Mr. Elton.’ You don’t call me ‘Elton;’ do you?”",
                     "\"\"Sr. Elton\". Não me chama \"Elton\"; chama?\""),
            "“‘Sr. Elton’. Não me chama ‘Elton’; chama?”");
  EXPECT_EQ(restored("“a ‘b’ c”", "\"a \"b c\""), "“a “b c”") << "one is lost";
  EXPECT_EQ(restored("“a” ‘b’", "\"a\" 'b'"), "“a” ‘b’");
  EXPECT_EQ(restored("“a ‘b’ c”", "\"a \"b\" c\"", {"\"b\""}), "“a \"b\" c”") << "is kept";
}

TEST(WrittenMarks, ComeBackOnTheirSide) {
  EXPECT_EQ(restored("He said “yes” to the “big” plan.", "Ele disse \"sim\" ao plano \"grande\"."),
            "Ele disse “sim” ao plano “grande”.");
  EXPECT_EQ(restored("„Ja“ und „nein“", "\"Yes\" and \"no\" and (\"maybe\")"), "„Yes“ and „no“ and („maybe“)");
  EXPECT_EQ(restored("«Oui»", "\"Yes\""), "«Yes»");
  EXPECT_EQ(restored("‘It isn’t mine.’", "'Não é d'água.'"), "‘Não é d’água.’");
  EXPECT_EQ(restored("“‘Yes’”", "\"'Sim'\""), "“‘Sim’”");
  EXPECT_EQ(restored("The kids’ toys", "L'eau"), "L’eau");
  EXPECT_EQ(restored("“a” and \"b\"", "\"a\" e \"b\""), "“a” e \"b\"");
  EXPECT_EQ(restored("“a” and \"b\"", "\"a\""), "\"a\"") << "either";
  EXPECT_EQ(restored("The ‘big’ house and ‘12’", "A casa \"grande\" e \"12\""), "A casa ‘grande’ e ‘12’");
  EXPECT_EQ(restored("‘I don’t know,’ she said", "\"Copo d'água\", disse ela"), "‘Copo d’água’, disse ela");
  EXPECT_EQ(restored("She said ‘no’ to the Smiths’ dog", "Ela disse \"não\""), "Ela disse ‘não’");
  EXPECT_EQ(restored("‘a’ and ‘b’", "\"a\" e 'b'"), "‘a’ e ‘b’");
  for (const char* source : {"The kids’ toys", "‘Tis big", "‘a’ and 'b' and c", "‘a’ and ‘b’"})
    EXPECT_EQ(restored(source, "O \"grande\""), "O \"grande\"") << source;
}

// Each would take a minute if every mark looked at all of those beside it.
TEST(WrittenMarks, InLongRunsComeBackAtOnce) {
  for (const std::string mark : {"”", "—"}) {
    std::string text = "a";
    for (int i = 0; i < 100'000; ++i) text += mark;
    EXPECT_LT(cpu_seconds_of([&] { EXPECT_EQ(restored(text, read_in_ascii(text).plain()), text); }), 5) << mark;
  }
}

TEST(AttachedMarks, StayBeforeTheirWords) {
  EXPECT_EQ(restored("Use *this* and **that**.", "Use * isto* e ** aquilo**."), "Use *isto* e **aquilo**.");
  EXPECT_EQ(restored("*Required: 3 * 4", "* Obrigatório: 3 * 4"), "*Obrigatório: 3 * 4");
  EXPECT_EQ(restored("...but not now... ...or", "... mas não agora... ... ou"), "...mas não agora... ...ou");
  EXPECT_EQ(restored("…but not", "... mas não"), "…mas não");
  EXPECT_EQ(restored("* not *this", "* não * isto"), "* não *isto");
  EXPECT_EQ(restored("*a and *b", "* a e b"), "* a e b") << "either";
  EXPECT_EQ(restored("*a", "* a", {"* a"}), "* a");
  EXPECT_EQ(restored("... he said", "...disse"), "...disse");
}

TEST(JoiningMarks, HaveNoSpacesThatTheSourceLacks) {
  EXPECT_EQ(restored("Turn on/off (e.g. Ctrl+C)", "Ligar / desligar ( por exemplo, Ctrl + C )"),
            "Ligar/desligar (por exemplo, Ctrl+C)");
  EXPECT_EQ(restored("on/off", "ligar/ desligar"), "ligar/desligar");
  EXPECT_EQ(restored("on/off", "ligar / desligar", {"ligar /"}), "ligar /desligar");
  for (const char* source : {"m/s / km", "the /", "/ or", "a", "C++ and C+", "a\u00A0/\u202Fb", "a\n/\tb"})
    EXPECT_EQ(restored(source, "a / b + c"), "a / b + c") << source;
  EXPECT_EQ(restored("f( x ) [y]", "f( x ) [ y ]"), "f( x ) [y]");
  EXPECT_EQ(restored("O plug-in e o Script-Fu", "The Plug - in and the Script - Fu"), "The Plug-in and the Script-Fu");
  for (const char* source : {"the", "e-mail", "a-b - c-d", "-a b-c", "a-b and c-"})
    EXPECT_EQ(restored(source, "the - or - a"), "the - or - a") << source;
  EXPECT_EQ(restored("on-line and off-line", "On- und Offline und -e"), "On- und Offline und -e");
  EXPECT_EQ(restored("(f (x", "f (x ) :)"), "f (x ) :)") << "the source closes no bracket";
  EXPECT_EQ(restored("the file(s) f(1)", "ficheiro (s) f (1)"), "ficheiro(s) f(1)");
  for (const char* source : {"file(s) (here)", "(s)", "東京(都)", "a“(s)”"})
    EXPECT_EQ(restored(source, "a (b)"), "a (b)") << source;
}

TEST(JoiningMarks, LeaveOthersThatAreInTheirPlace) {
  EXPECT_EQ(restored("e-mail: see below", "email - ver abaixo"), "email - ver abaixo");
  EXPECT_EQ(restored("Plug-in: see below", "Plug - in: ver abaixo"), "Plug-in: ver abaixo");
  EXPECT_EQ(restored("an on/off switch or a key", "um interruptor / uma tecla on / off"),
            "um interruptor / uma tecla on / off");
  EXPECT_EQ(restored("GPLv3+: a license", "GPLv3+ é uma"), "GPLv3+ é uma");
  EXPECT_EQ(restored("more (+5 %)", "mais de +5 %"), "mais de +5 %");
  EXPECT_EQ(restored("use \",\"-separated lines", "linhas \", - separadas"), "linhas \", - separadas");
  EXPECT_EQ(restored("Student(s)", "Alunos (em inglês)"), "Alunos (em inglês)");
  EXPECT_EQ(restored("file(s)", "ficheiro (s) (em)"), "ficheiro (s) (em)");
  EXPECT_EQ(restored("f(a b)", "f (a b)"), "f(a b)");
  EXPECT_EQ(restored("1+1", "1 + 1"), "1+1");
}

TEST(EndingEllipsis, ReplacesTheLastStop) {
  const auto ended = [](const std::string& source, const std::string& translation) {
    const TaggedText text(source, tags_and_spans(source, false, [](const ProtectedSpan&) { return true; }, {}));
    return WrittenText(text.source()).restore(translation, {}).text;
  };
  EXPECT_EQ(ended("Hello...", "Olá,"), "Olá");
  EXPECT_EQ(ended("Yes…", "是的。"), "是的");
  EXPECT_EQ(ended("Yes...", "Sim!"), "Sim!");
  EXPECT_EQ(ended("Yes...", "."), ".");
  EXPECT_EQ(ended("Well, no...", "Bem, não."), "Bem, não.") << "the model sees it";
  EXPECT_EQ(ended("Yes 👍", "Sim."), "Sim.");
}

TEST(JoiningMarks, TakeLinearTimeForTextsOfMarks) {
  constexpr size_t kBytes = 200'000;
  for (const std::string unit : {"(", "a(b", "a/b", "a - b-c", "+ ( "}) {
    std::string text;
    while (text.size() < kBytes) text += unit;
    EXPECT_LT(cpu_seconds_of([&] { restored(text, text); }), 5) << unit;
  }
}

TEST(WrittenMarks, WithSpacesAroundThemTakeTurns) {
  EXPECT_EQ(restored("« Olá », disse ele.", "\"Here,\" he said."), "«Here,» he said.");
  EXPECT_EQ(restored("O livro « A Casa » é « bom ».", "The book \"The House\" is \"good\"."),
            "The book «The House» is «good».");
  EXPECT_EQ(restored("Diz « olá » e « adeus ».", "He said \" hello \" and \" bye \"."),
            "He said « hello » and « bye ».");
}

TEST(WrittenMarks, CloseWhatIsOpenAfterANumberAndBeforeALetter) {
  EXPECT_EQ(restored("See “X.509 names” here.", "Veja \"nomes X.509\" aqui."), "Veja “nomes X.509” aqui.");
  EXPECT_EQ(restored("Select “Page”in the box.", "Selecione \"Página\" na caixa."), "Selecione “Página” na caixa.");
  EXPECT_EQ(restored("‘The 90's’ and 5′", "'Os anos 90's' e 5'"), "‘Os anos 90's’ e 5′");
}

TEST(WrittenMarks, OfLengthComeBackAfterTheirNumbers) {
  EXPECT_EQ(restored("He’s 5′10″ tall and I’m 6′ tall.", "Il a 5'10\" et j'ai 6'."), "Il a 5′10″ et j’ai 6′.");
  EXPECT_EQ(restored("A caixa d'água é ‘grande’.", "It's 'big'."), "It's ‘big’.") << "the source's apostrophe is ASCII";
}

TEST(WrittenMarks, ComeBackInTheirOrder) {
  EXPECT_EQ(restored("Late – very late—and - gone", "Tarde - muito tarde - e - ido"), "Tarde – muito tarde — e - ido");
  EXPECT_EQ(restored("Late – very – gone", "Tarde - ido"), "Tarde – ido");
  EXPECT_EQ(restored("Late\u00A0– very and\u202F—\u00A0gone", "Tarde - muito - ido"), "Tarde – muito — ido");
  EXPECT_EQ(restored("Late – very—gone", "Tarde - ido"), "Tarde - ido") << "either";
  EXPECT_EQ(restored("−5 °C", "-5 °C"), "−5 °C");
  EXPECT_EQ(restored("3 × 4 and 5x6 and 7×8", "3 x 4, 5x6, 7x8"), "3 × 4, 5x6, 7×8");
  EXPECT_EQ(restored("A × B of n × m, 3× more", "A x B de n x m, 3x mais"), "A × B de n × m, 3× mais");
  EXPECT_EQ(restored("5.97×10²⁴ and 3×10⁶", "5,97x1024 e 3x106"), "5,97×10²⁴ e 3×10⁶");
}

TEST(WrittenMarks, ComeBackBetweenTheirWords) {
  EXPECT_EQ(restored("1939–1945, New York–London, Covid‑19", "1939-1945, Nova York-Londres, Covid-19, e-mail"),
            "1939–1945, Nova York-Londres, Covid‑19, e-mail");
  EXPECT_EQ(restored("The A–B line and the A-B team", "A linha A-B e a equipe A-B"), "A linha A–B e a equipe A-B");
  EXPECT_EQ(restored("1939–1945", "11939-1945 1939-19455"), "11939-1945 1939-19455");
}

TEST(WrittenMarks, OfFractionsComeBack) {
  EXPECT_EQ(restored("½ cup, 2½ cups, ⅓", "1/2 xícara, 2 1/2 xícaras, 1/3"), "½ xícara, 2½ xícaras, ⅓");
  EXPECT_EQ(restored("½ cup", "11/2 xícara"), "11/2 xícara");
  EXPECT_EQ(restored("1½ cups and 3 1/2 spoons", "1 1/2 xícaras e 3 1/2 colheres"), "1½ xícaras e 3 1/2 colheres");
}

TEST(WrittenMarks, LeaveWhatTheCallerDemands) {
  EXPECT_EQ(restored("it’s “x”", "l'eau d'or \"x\"", {"l'eau"}), "l'eau d’or “x”");
}

}  // namespace
}  // namespace transmute
