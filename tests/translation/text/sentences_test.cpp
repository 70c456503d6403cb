// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/translation/text/sentences.h>

namespace transmute {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Sentences, EndByUnicodesRules) {
  EXPECT_THAT(split_sentences("One. Two!  Three?\tFour"), ElementsAre("One.", "Two!", "Three?", "Four"));
  EXPECT_THAT(split_sentences("It costs 3.14 e.g. here. Änderungen folgen."),
              ElementsAre("It costs 3.14 e.g. here.", "Änderungen folgen."));
  EXPECT_THAT(split_sentences("一。二！"), ElementsAre("一。", "二！"));
  EXPECT_THAT(split_sentences(" \t "), IsEmpty());
  EXPECT_THAT(split_sentences(""), IsEmpty());
}

TEST(Sentences, DoNotEndWithinATermOfTheGlossary) {
  const Glossary glossary({{"Dr. Smith", "Dr. Schmidt"}, {"Smith", "Schmidt"}, {"Oh! Oh! Oh!", "Ach!"}});
  EXPECT_THAT(split_sentences("I met Dr.  Smith. He left. Dr. Smithson, too.", glossary),
              ElementsAre("I met Dr.  Smith.", "He left.", "Dr.", "Smithson, too."));
  EXPECT_THAT(split_sentences("Dr. Smith", glossary), ElementsAre("Dr. Smith"));
  EXPECT_THAT(split_sentences("So. Oh! Oh! Oh! Oh! So.", glossary), ElementsAre("So.", "Oh! Oh! Oh!", "Oh!", "So."));
  EXPECT_THAT(split_sentences("I met Dr. Smith."), ElementsAre("I met Dr.", "Smith."));
}

TEST(Sentences, HaveSpacesBetweenThemButInChineseAndJapanese) {
  EXPECT_EQ(space_between("One.", "Two."), " ");
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
