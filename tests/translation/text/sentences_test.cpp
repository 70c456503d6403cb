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

}  // namespace
}  // namespace transmute
