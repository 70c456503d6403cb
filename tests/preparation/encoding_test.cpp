// SPDX-License-Identifier: Apache-2.0
// The mojibake here was made by Python's "…".encode("utf-8").decode("cp1252") and decode("latin-1").
#include <gtest/gtest.h>
#include <transmute/preparation/encoding.h>

#include <string>

namespace transmute {
namespace {

std::string mended(std::string text) {
  mend_encoding(text);
  return text;
}

// Text that must stay as it is.
void expect_unchanged(const std::string& text) {
  std::string mended_text = text;
  EXPECT_FALSE(mend_encoding(mended_text)) << text;
  EXPECT_EQ(mended_text, text);
}

TEST(Mojibake, OfWindows1252IsMended) {
  EXPECT_EQ(mended("fÃ¼r MÃ¤nner"), "für Männer");
  EXPECT_EQ(mended("StraÃŸe"), "Straße");
  EXPECT_EQ(mended("â€žGuten Tagâ€œ"), "„Guten Tag“");
  EXPECT_EQ(mended("Itâ€™s 5 â‚¬"), "It’s 5 €");
  EXPECT_EQ(mended("Ãœbung"), "Übung");
  EXPECT_EQ(mended("ÐŸÑ€Ð¸Ð²ÐµÑ‚"), "Привет");
  EXPECT_EQ(mended("Ã©tÃ©"), "été");
}

TEST(Mojibake, OfLatin1IsMended) {
  EXPECT_EQ(mended("Stra\u00C3\u009Fe"), "Straße");
  EXPECT_EQ(mended("\u00E2\u0080\u0093 so"), "– so");
}

TEST(Mojibake, OfSeveralConversionsIsMended) {
  EXPECT_EQ(mended("fÃƒÂ¼r"), "für");
}

TEST(Mojibake, IsMendedBesideRightCharacters) {
  EXPECT_EQ(mended("für und fÃ¼r"), "für und für");
}

TEST(Mojibake, IsNotSeenInRightText) {
  expect_unchanged("Übergrößenträger – „schön“, 5 € …");
  expect_unchanged("Spaß“ und Fuß…");
  expect_unchanged("«CAFÉ»");
  expect_unchanged("SÃO PAULO, IRMÃ»");
  expect_unchanged("Der Buchstabe „Ä“");
  expect_unchanged("20 °C ± 2 °C, naïve Ångström");
  expect_unchanged("Привет, мир");
  expect_unchanged("日本語");
}

TEST(ControlCharacters, AreRemovedOrBecomeWhatTheyWere) {
  EXPECT_EQ(mended("a\x01"
                   "b"),
            "ab");
  EXPECT_EQ(mended("\u0093quoted\u0094"), "“quoted”");
  EXPECT_EQ(mended("\uFEFFbegin"), "begin");
}

TEST(Spaces, AtTheEndsGoAndTabsBecomeSpaces) {
  std::string text = " a\tb ";
  EXPECT_FALSE(mend_encoding(text));
  EXPECT_EQ(text, "a b");
  EXPECT_EQ(mended("Title\vSubtitle\fText\x1Fmore\x1B."), "Title Subtitle Text more.");
}

}  // namespace
}  // namespace transmute
