// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/programs/demo_corpus/expression_writer.h>

#include <stdexcept>
#include <string>

namespace transmute {
namespace {

constexpr int64_t k1986March4At142507 = 510'330'307;  // seconds since 1970, UTC; a Tuesday

size_t kind(const std::string& name) {
  size_t found = 0;
  while (kExpressionKinds[found].name != name) ++found;
  return found;
}

// Expectations are what a reader of the language would write. Wordings that CLDR changed between versions
// (the word between date and time, abbreviated months) are left out.
TEST(ExpressionWriter, SaysExpressionsInEnglishAndGerman) {
  struct Example {
    Expression expression;
    const char* english;
    const char* german;
  };
  const Example examples[] = {
      {{kind("cardinal"), 417}, "four hundred seventeen", "vierhundertsiebzehn"},
      {{kind("ordinal"), 21}, "twenty-first", "einundzwanzigste"},
      {{kind("year"), 1986}, "nineteen eighty-six", "neunzehnhundertsechsundachtzig"},
      {{kind("amount"), 123'456}, "12,345.6", "12.345,6"},
      {{kind("distance"), 12'005}, "1,200.5 kilometers", "1.200,5 Kilometer"},
      {{kind("duration"), 205}, "3 hours, 25 minutes", "3 Stunden, 25 Minuten"},
      {{kind("duration"), 61}, "1 hour, 1 minute", "1 Stunde, 1 Minute"},
      {{kind("full date"), k1986March4At142507}, "Tuesday, March 4, 1986", "Dienstag, 4. März 1986"},
      {{kind("long date"), k1986March4At142507}, "March 4, 1986", "4. März 1986"},
      {{kind("numeric date"), k1986March4At142507}, "3/4/1986", "4.3.1986"},
      {{kind("day of year"), k1986March4At142507}, "Tuesday, March 4", "Dienstag, 4. März"},
      {{kind("month of year"), k1986March4At142507}, "March 1986", "März 1986"},
      {{kind("time"), k1986March4At142507}, "2:25 PM", "14:25"},
      {{kind("precise time"), k1986March4At142507}, "2:25:07 PM", "14:25:07"},
  };
  const ExpressionWriter english("en");
  const ExpressionWriter german("de");
  for (const Example& example : examples) {
    EXPECT_EQ(english.write(example.expression), example.english);
    EXPECT_EQ(german.write(example.expression), example.german);
  }
}

TEST(ExpressionWriter, LeavesOutWhatCannotBeSeen) {
  const ExpressionWriter german("de");
  const ExpressionWriter french("fr");
  EXPECT_EQ(german.write({kind("cardinal"), 12'345}), "zwölftausenddreihundertfünfundvierzig");
  EXPECT_EQ(french.write({kind("amount"), 123'456}), "12 345,6");  // a narrow no-break space in CLDR
}

TEST(ExpressionWriter, KnowsWhichKindsALanguageLacks) {
  const ExpressionWriter basque("eu");  // CLDR has no number spelling for it
  EXPECT_FALSE(basque.can_write(kind("cardinal")));
  EXPECT_TRUE(basque.can_write(kind("full date")));
  EXPECT_THROW(basque.write({kind("cardinal"), 1}), std::bad_function_call);
}

TEST(ExpressionWriter, AcceptsNamesWithRegionScriptAndHyphen) {
  for (const char* name : {"de_CH", "pt-BR", "zh_CN", "sr_Latn", "en_US"}) {
    EXPECT_NO_THROW(ExpressionWriter{name}) << name;
  }
}

TEST(ExpressionWriter, RejectsLocalesThatIcuWouldSilentlyReplace) {
  for (const char* name : {"xx", "en_XX", "", "deutsch"}) {
    EXPECT_THROW(ExpressionWriter{name}, std::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace transmute
