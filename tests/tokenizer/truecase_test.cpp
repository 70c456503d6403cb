// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tokenizer/actual_options.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/tokenizer/truecase.h>

#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::TemporaryFolder;
using testing::tiny_tokenizer;
using testing::tiny_truecasing_tokenizer;

std::string in_lower_case(const std::string& text) {
  return truecased(text, [](const std::string&, const std::string&) { return true; });
}

TEST(Truecase, IsThatOfTheFirstWord) {
  EXPECT_EQ(in_lower_case("The House"), "the House");
  EXPECT_EQ(in_lower_case("Über den Fluss"), "über den Fluss");
  EXPECT_EQ(in_lower_case("Мужчина идёт"), "мужчина идёт");
  EXPECT_EQ(in_lower_case("A man"), "a man");
  EXPECT_EQ(in_lower_case("  \"(The House)\""), "  \"(the House)\"");
  EXPECT_EQ(in_lower_case("¿Dónde está?"), "¿dónde está?");
  EXPECT_EQ(in_lower_case("T-shirts"), "t-shirts");
  for (const char* same : {"", "...", "the House", "NASA flies", "2 Men", "2nd", "中文", "\xff\xfe", "İstanbul"})
    EXPECT_EQ(in_lower_case(same), same);
}

TEST(Truecase, AsksAboutTheWordAlone) {
  std::vector<std::pair<std::string, std::string>> asked;
  const auto refuse = [&](const std::string& capital, const std::string& lower) {
    asked.emplace_back(capital, lower);
    return false;
  };
  EXPECT_EQ(truecased("\"It's Über", refuse), "\"It's Über");
  EXPECT_EQ(truecased("NASA", refuse), "NASA");
  EXPECT_EQ(asked, (std::vector<std::pair<std::string, std::string>>{{"It", "it"}}));
}

TEST(Truecase, GivesATranslationItsCapital) {
  EXPECT_EQ(with_capital("ein Mann", false), "Ein Mann");
  EXPECT_EQ(with_capital("„über den Fluss“", false), "„Über den Fluss“");
  EXPECT_EQ(with_capital("istanbul", false), "Istanbul");
  for (const char* same : {"", "...", "Ein Mann", "2 ein", "ß", "中文", "ეს კაცი", "\xff"})
    EXPECT_EQ(with_capital(same, false), same);
  EXPECT_EQ(with_capital("istanbul", true), "istanbul");
  EXPECT_EQ(with_capital("ankara", true), "Ankara");
  EXPECT_EQ(with_capital("'s avonds", false), "'s Avonds");
  EXPECT_EQ(with_capital("\u2019n man", false), "\u2019n Man");
  EXPECT_EQ(with_capital("'a dog'", false), "'A dog'");
}

TEST(Truecase, KnowsLowerCase) {
  EXPECT_TRUE(begins_in_lower_case("\"the House"));
  for (const char* other : {"", "The house", "2 men", "中文", "ეს კაცი"}) EXPECT_FALSE(begins_in_lower_case(other));
  EXPECT_TRUE(begins_in_upper_case("\"Über"));
  for (const char* other : {"", "the House", "2 Men", "中文", "ეს კაცი"}) EXPECT_FALSE(begins_in_upper_case(other));
  EXPECT_EQ(without_capitals("Ein ÜBER İ"), "ein über İ");
}

TEST(Truecase, OfLinesFollowsTheWordsWithinThem) {
  Truecaser truecaser;
  EXPECT_EQ(truecaser.next("Men see the man"), "Men see the man");
  EXPECT_EQ(truecaser.next("The man sees men"), "the man sees men");
  EXPECT_EQ(truecaser.next("Men see Berlin"), "men see Berlin");
  EXPECT_EQ(truecaser.next("Berlin sees berlin"), "Berlin sees berlin");  // as many of both
  EXPECT_EQ(truecaser.next("The The The The"), "The The The The");
}

TEST(Truecase, MakesOneWordOfTwo) {
  const Tokenizer tokenizer = tiny_truecasing_tokenizer();
  const SubwordModel& target = tokenizer.target();
  ASSERT_TRUE(target.truecases());
  EXPECT_FALSE(tiny_tokenizer().target().truecases());
  const Ids lower = target.encode("das Haus ist nah.");
  EXPECT_EQ(target.encode("Das Haus ist nah."), lower);
  EXPECT_EQ(target.segment("Das Haus ist nah.").ids, lower);
  EXPECT_NE(target.encode_within("Das Haus ist nah."), lower);
  EXPECT_EQ(target.encode_within("das Haus ist nah."), lower);
  EXPECT_EQ(target.encode("Haus"), target.encode_within("Haus"));  // never in lower case in the text
  EXPECT_EQ(target.decode(lower), "das Haus ist nah.");
  EXPECT_TRUE(target.truecases());
  EXPECT_FALSE(tiny_tokenizer().target().truecases());
  EXPECT_FALSE(tokenizer.of_listed_pieces().target().truecases());
}

TEST(Truecase, LeavesTokensTheirPlaces) {
  const Tokenizer tokenizer = tiny_truecasing_tokenizer();
  const SubwordModel& target = tokenizer.target();
  const std::string lower = "das alte Haus und das Haus.", written = "Das alte Haus und das Haus.";
  const SegmentedText expected = target.segment(lower), found = target.segment(written);
  EXPECT_EQ(found.spans, expected.spans);
  EXPECT_EQ(target.spans_of_pieces(found.pieces, written), target.spans_of_pieces(expected.pieces, lower));
  EXPECT_EQ(target.spans_of_pieces(found.pieces, written).back().second, written.size());
  const Tokenizer other = tiny_tokenizer();  // a term that comes first gets a capital from any model
  const SegmentedText term = other.target().segment(lower);
  EXPECT_EQ(other.target().spans_of_pieces(term.pieces, written), term.spans);
}

TEST(Truecase, BelongsToTheModelFile) {
  const TemporaryFolder folder;
  tiny_truecasing_tokenizer().save(folder.path());
  const Tokenizer loaded = Tokenizer::load(folder.path());
  EXPECT_EQ(loaded.source().encode("The house"), loaded.source().encode("the house"));
  EXPECT_EQ(actual_options(loaded, TokenizerOptions()).normalization, "nmt_nfkc_tc");
}

}  // namespace
}  // namespace transmute
