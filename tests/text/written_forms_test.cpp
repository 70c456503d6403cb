// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/text/written_forms.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

RecasedText rewritten(const std::string& source, const std::string& translation,
                      const std::vector<std::string>& kept = {}) {
  Rewriting rewriting(translation, kept);
  WrittenForms(source).restore(rewriting);
  return rewriting.rewritten();
}

std::string restored(const std::string& source, const std::string& translation) {
  return rewritten(source, translation).text;
}

TEST(WrittenForms, ComeBack) {
  EXPECT_EQ(restored("25m² and 3 km², CO₂ (H₂SO₄)", "25 m2 e 3 km2, CO2 (H2SO4)"), "25 m² e 3 km², CO₂ (H₂SO₄)");
  EXPECT_EQ(restored("About 10⁶ cells, 10⁻³ m.", "106 células, 10−3 m."), "10⁶ células, 10⁻³ m.");
  EXPECT_EQ(restored("Windows™, 2½ cups", "WindowsTM, 21⁄2 xícaras"), "Windows™, 2½ xícaras");
  EXPECT_EQ(restored("5 м² и 6 м²", "5м2, 6м2"), "5м², 6м²");
  EXPECT_EQ(restored("面积100m²的房间", "A room of 100m2"), "A room of 100m²");
  EXPECT_EQ(restored("p is 0.05¹, not 3,5²", "p é 0,051, não 3.52"), "p é 0,05¹, não 3.5²");
  EXPECT_EQ(restored("(a + b)², Ca(OH)₂, [a]³", "(a + b)2, Ca(OH)2, [a]3"), "(a + b)², Ca(OH)₂, [a]³");
  EXPECT_EQ(restored("10⁶ of 106, x² + x₂, Note¹ of A1", "106 de 106, x2 + x2, Nota1 de A1"),
            "10⁶ de 106, x² + x₂, Nota¹ de A1")
      << "in their order";
  EXPECT_EQ(restored("¹⁴C at 20ºC or 45º, 30㎡, NOₓ", "14C a 20oC ou 45o, 30m2, NOx"), "¹⁴C a 20ºC ou 45º, 30㎡, NOₓ");
  EXPECT_EQ(restored("Updating…", "Atualizando..."), "Atualizando…");
  EXPECT_EQ(restored("…and then……or… no…. 5…6", "...e depois......ou... não.... 5...6"), "…e depois……ou… não…. 5…6");
  EXPECT_EQ(restored("Wait... what…", "Espere... o quê..."), "Espere... o quê…") << "in their order";
  EXPECT_EQ(restored("This note¹ and that note².", "Esta nota1 e essa nota2."), "Esta nota¹ e essa nota².");
}

TEST(WrittenForms, LeaveOtherWords) {
  for (const auto& [source, translation] : {
           std::pair<std::string, std::string>{"10⁶ of 106", "106"},
           {"10⁶", "1.106, 106,5, 1060, A106"},
           {"10⁶", "106 106"},
           {"m²", "am2, m2a, m25, m2 m2"},
           {"x² + x₂", "x2"},
           {"Casa nº 5", "no 5"},
           {"² and ½", "2 1⁄2"},
           {"Wait…", "Wait... or..."},
       })
    EXPECT_EQ(restored(source, translation), translation) << source;
  for (const std::string source : {"", "a2", "naïve ﬁ ...", "\xC2"})
    EXPECT_FALSE(WrittenForms(source).exist()) << source;
}

TEST(WrittenForms, LeaveWhatTheCallerDemands) {
  EXPECT_EQ(rewritten("CO₂ and m²", "CO2, m2", {"CO2", ""}).text, "CO2, m²");
}

TEST(WrittenForms, TellWherePlacesAreNow) {
  const RecasedText now = rewritten("5 m² here", "5 m2 aqui");
  EXPECT_EQ(now.now({2, 4}), std::make_pair(size_t{2}, size_t{5}));
  EXPECT_EQ(now.now({5, 9}), std::make_pair(size_t{6}, size_t{10}));
  EXPECT_EQ(now.before({6, 10}), std::make_pair(size_t{5}, size_t{9}));
}

}  // namespace
}  // namespace transmute
