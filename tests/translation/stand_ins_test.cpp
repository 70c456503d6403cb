// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/translation/stand_ins.h>
#include <transmute/translation/torn_names.h>

#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::ElementsAre;

StandIns stand_ins(const std::string& text) {
  const auto is_unknown = [](int32_t c) { return c >= 0x2018; };  // quotation marks and Japanese
  return {text, protected_spans(text, is_unknown)};
}

Translation translation(const std::string& text) {
  Translation found;
  found.hypotheses.emplace_back().text = text;
  return found;
}

std::string restored(const StandIns& numbers, const std::string& text) {
  Translation found = translation(text);
  return numbers.restore(found) ? found.hypotheses.front().text : "not restored: " + found.hypotheses.front().text;
}

TEST(StandIns, AreNumbersForWords) {
  EXPECT_EQ(stand_ins("Copied %d of {n} to /usr/lib.").text(), "Copied 711 of 712 to 713.");
  EXPECT_EQ(stand_ins("See https://a.org, 712 and 日本 (%s)").text(), "See 711, 712 and 713 (714)") << "712 is taken";
  EXPECT_EQ(stand_ins("“%s” was „日本“, not 日本’s.").text(), "“711” was „712“, not 713’s.")
      << "marks that the vocabulary lacks belong to it";
  EXPECT_EQ(stand_ins("Run `git add` as <%= user %> in {{ a.b }} or C:\\Program Files\\a.").text(),
            "Run 711 as 712 in 713 or 714.");
  for (const char* text : {"{% if a %}you{% end %} <% b %>", "%dth", "x{0}", "100%% — 😂", "100 %s", "%d 2025", "&File",
                           "{n, plural, one {#} other {#s}}", "no words"})
    EXPECT_FALSE(stand_ins(text).exist()) << text;
  EXPECT_EQ(stand_ins("%1%2 at {host}:{port}, %3").text(), "711 at 712, 713");
  EXPECT_FALSE(stand_ins("%s's file of %dkb").exist()) << "both come back in another way, in their order";
  EXPECT_EQ(stand_ins("{0}'s {1}px").text(), "711's {1}px");
}

TEST(StandIns, AreNotGluedToTheMarksOfEmphasizedWords) {
  const std::string text = "_InstanceId_ or _the PoolId_ of my_CoreId";
  const StandIns numbers(text, {{1, 10, ProtectedKind::identifier},
                                {21, 6, ProtectedKind::identifier},
                                {35, 6, ProtectedKind::identifier},
                                {0, 1, ProtectedKind::emphasis},
                                {11, 1, ProtectedKind::emphasis},
                                {16, 1, ProtectedKind::emphasis},
                                {27, 1, ProtectedKind::emphasis}});
  EXPECT_EQ(numbers.text(), "_711_ or _the 712_ of my_CoreId");
  EXPECT_EQ(restored(numbers, "_712 do_ my_CoreId ou _711_"), "_PoolId do_ my_CoreId ou _InstanceId_");
}

TEST(StandIns, AreReplacedInTheTranslation) {
  const StandIns numbers = stand_ins("File {0} of user {1}: 日本");
  EXPECT_EQ(restored(numbers, "Nutzer 712: Datei \"711\", 713"), "Nutzer {1}: Datei \"{0}\", 日本");
  Translation found = translation("712 711 713");
  found.hypotheses.front().words = {{{4, 7}, 0.5}};
  found.warnings = {{WarningKind::omission, {5, 8}, {8, 11}}};
  found.unknown = {"other"};
  ASSERT_TRUE(numbers.restore(found));
  EXPECT_EQ(found.hypotheses.front().text, "{1} {0} 日本");
  EXPECT_EQ(found.hypotheses.front().words.front().place, (std::pair<size_t, size_t>{4, 7}));
  EXPECT_EQ(found.warnings.front().source, (std::pair<size_t, size_t>{5, 8}));
  EXPECT_EQ(found.warnings.front().target, (std::pair<size_t, size_t>{8, 14}));
  EXPECT_THAT(found.unknown, ElementsAre("other", "日本"));
}

TEST(StandIns, OfArgumentsKeepTheirOrder) {
  EXPECT_EQ(restored(stand_ins("%s in %d of {0}"), "713: 712 of 711"), "{0}: %s of %d");
}

TEST(StandIns, AreNotReplacedWhereOneIsLostChangedOrRepeated) {
  const StandIns numbers = stand_ins("%s has %d files");
  for (const char* text : {"711 hat Dateien", "711 hat 7120 Dateien", "711 hat 712 von 712 Dateien", "711er 712",
                           "711.712", "711-712", ""})
    EXPECT_EQ(restored(numbers, text), "not restored: " + std::string(text));
  Translation several = translation("711 hat 712");
  several.hypotheses.emplace_back().text = "711";
  EXPECT_FALSE(numbers.restore(several));
  EXPECT_EQ(several.hypotheses.front().text, "711 hat 712");
}

TEST(TornNames, AreThoseOfWhichATranslationHasPieces) {
  const auto torn = [](const std::string& text, const std::string& translation) {
    std::vector<std::string> names;
    for (const ProtectedSpan& name : torn_names(text, translation))
      names.push_back(text.substr(name.begin, name.length));
    return names;
  };
  EXPECT_THAT(torn("The InstanceId of a RunspacePool.", "A InstânciaId de um RunspacePool."),
              ElementsAre("InstanceId"));
  EXPECT_THAT(torn("Set user.name.first, or dom.events.x:", "Defina usuário.name.first ou dom.events.x:"),
              ElementsAre("user.name.first"));
  EXPECT_THAT(torn("Get-ChildItem, Set-ChildItem or -ChildItem", "Get-ChildItem, Conjunto-ChildItem ou -ItemFilho"),
              ElementsAre("Set-ChildItem", "ChildItem"));
  EXPECT_THAT(torn("GitHub-based, InstanceId", "baseado no GitHub, InstânciaId"), ElementsAre("InstanceId"));
  EXPECT_THAT(torn("AntennaPod, andOTP", "AntenaPod, eOTP"), ElementsAre("AntennaPod", "andOTP"));
  EXPECT_THAT(torn("InstanceId or InstanceId", "InstanceId ou InstânciaId"), ElementsAre("InstanceId", "InstanceId"));
  EXPECT_THAT(torn("Use WiFi of McDonald", "Wi-Fi МакДоналд"), ElementsAre("WiFi", "McDonald"))
      << "МакДоналд is a name";
  for (const char* translation : {"Use o Wi-Fi", "Use o WiFi", "使用 WLAN", ""})
    EXPECT_THAT(torn("Use WiFi", translation), ElementsAre()) << translation;
  EXPECT_THAT(torn("a\\nThe b%sThe c", "a\\nO b%sO c nO"), ElementsAre()) << "\\n and %s are none";
  EXPECT_THAT(torn("The G.D.P. of the U.S.A. and the С.Ш.А. grew.", "O G.D.P. dos E.U.A. e da С.Ш.А cresceu."),
              ElementsAre());
  EXPECT_THAT(torn("12.03.2025, WiFi", "03/12/2025, WiFi, meuWiFi"), ElementsAre());
  EXPECT_THAT(torn("Two words.Without a space, e.g. this", "Duas palavras.Sem oEspaço"), ElementsAre());
}

}  // namespace
}  // namespace transmute
