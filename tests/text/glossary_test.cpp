// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/text/glossary.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::TemporaryFolder;
using testing::write_text;

std::vector<std::string> targets_in(const Glossary& glossary, const std::string& text) {
  std::vector<std::string> targets;
  for (const TermMatch& match : glossary.matches_in(text)) targets.push_back(match.target);
  return targets;
}

TEST(AGlossary, FindsWholeWords) {
  const Glossary glossary({{"bank", "Bank"}, {"river bank", "Ufer"}, {"über", "over"}, {"C++", "C++"}});
  EXPECT_THAT(targets_in(glossary, "the bank, the bank"), ElementsAre("Bank", "Bank"));
  EXPECT_THAT(targets_in(glossary, "the river bank"), ElementsAre("Ufer"));
  EXPECT_THAT(targets_in(glossary, "the river bank and a bank"), ElementsAre("Ufer", "Bank"));
  EXPECT_THAT(targets_in(glossary, "banks embank Bank"), IsEmpty());
  EXPECT_THAT(targets_in(glossary, "überall darüber"), IsEmpty());
  EXPECT_THAT(targets_in(glossary, "(über)"), ElementsAre("over"));
  EXPECT_THAT(targets_in(glossary, "in C++."), ElementsAre("C++"));
  EXPECT_THAT(targets_in(glossary, ""), IsEmpty());
}

TEST(AGlossary, FindsTermsWithTheCapitalOfAFirstWord) {
  const Glossary glossary({{"bike", "Rad"},
                           {"bike path", "Radweg"},
                           {"Bike", "Marke"},
                           {"wheel", "Rolle"},
                           {"Wheel Park", "Park"},
                           {"über", "over"},
                           {"2nd bank", "zweite"}});
  const auto first_in = [&](const std::string& text) {
    const std::vector<TermMatch> matches = glossary.matches_in(text);
    if (matches.empty()) return std::string("none");
    const TermMatch& match = matches.front();
    return text.substr(match.begin, match.end - match.begin) + " = " + match.target + (match.has_capital ? "!" : "");
  };
  EXPECT_EQ(first_in("Wheel or wheel"), "Wheel = Rolle!");
  EXPECT_EQ(first_in("wheel or Wheel"), "wheel = Rolle");
  EXPECT_EQ(first_in("„Wheel“"), "Wheel = Rolle!");
  EXPECT_EQ(first_in("Über uns"), "Über = over!");
  EXPECT_EQ(first_in("Wheel Park"), "Wheel Park = Park") << "the longer one";
  EXPECT_EQ(first_in("Bike shop"), "Bike = Marke") << "the same length, but as it is written";
  EXPECT_EQ(first_in("Bike path"), "Bike path = Radweg!");
  for (const char* text : {"The Wheel", "Wheels", "WHEEL", "2nd Bank", "a Wheel. Wheel"})
    EXPECT_EQ(first_in(text), "none");
}

TEST(AGlossary, FindsTermsAnywhereInScriptsWithoutSpaces) {
  const Glossary glossary(
      {{"北京", "Peking"}, {"東京", "Tokio"}, {"ソニー", "Sony"}, {"ไทย", "Thai"}, {"2025", "MMXXV"}, {"AI", "KI"}});
  EXPECT_THAT(targets_in(glossary, "我在北京工作"), ElementsAre("Peking"));
  EXPECT_THAT(targets_in(glossary, "私は東京に住んでいます"), ElementsAre("Tokio"));
  EXPECT_THAT(targets_in(glossary, "これはソニーのカメラです"), ElementsAre("Sony"));
  EXPECT_THAT(targets_in(glossary, "ประเทศไทยสวย"), ElementsAre("Thai"));
  EXPECT_THAT(targets_in(glossary, "2025年のAI技術"), ElementsAre("MMXXV", "KI"));
  EXPECT_THAT(targets_in(glossary, "12025年、AIs技術"), IsEmpty()) << "digits and Latin letters continue";
  const auto terms_of = [](const char* term, const char* text) {
    return targets_in(Glossary(std::vector<GlossaryEntry>{{term, "x"}}), text);
  };
  EXPECT_THAT(terms_of("กา", "กาแฟ"), ElementsAre("x"));
  EXPECT_THAT(terms_of("ก", "กี่"), IsEmpty()) << "a vowel sign belongs to its consonant";
  EXPECT_THAT(terms_of("서울", "서울 간다"), ElementsAre("x"));
  EXPECT_THAT(terms_of("서울", "서울에 간다"), IsEmpty()) << "Korean has spaces";
}

TEST(AGlossary, TakesAnyWhiteSpaceForASpace) {
  const Glossary glossary({{"blue  shirt", "Hemd"}, {"\u00A0red", "rot"}});
  for (const char* text :
       {"a blue shirt", "a blue  shirt", "a blue\tshirt", "a blue\u00A0shirt", "a  blue \u3000 shirt"})
    EXPECT_THAT(targets_in(glossary, text), ElementsAre("Hemd")) << text;
  EXPECT_THAT(targets_in(glossary, "a blueshirt, a blue-shirt"), IsEmpty());
  EXPECT_THAT(targets_in(glossary, "red"), ElementsAre("rot"));
  const std::string text = "é\u00A0 blue \t shirt, red";
  std::vector<std::string> found;
  for (const TermMatch& match : glossary.matches_in(text))
    found.push_back(text.substr(match.begin, match.end - match.begin));
  EXPECT_THAT(found, ElementsAre("blue \t shirt", "red"));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                Glossary({{"a b", "c"}, {"a  b", "d"}});
              }),
              HasSubstr("keep one"));
  EXPECT_THROW(Glossary({GlossaryEntry{"\u00A0", "a"}}), std::invalid_argument);
}

TEST(AGlossary, TakesALetterAndItsCombiningAccentForOneLetter) {
  const std::vector<GlossaryEntry> entries{{"café", "Lokal"}, {"re\u0301gime", "Diät"}};
  const std::string text = "The cafe\u0301  s\u0301, le régime";
  std::vector<std::string> found;
  for (const TermMatch& match : Glossary(entries).matches_in(text))
    found.push_back(text.substr(match.begin, match.end - match.begin));
  EXPECT_THAT(found, ElementsAre("cafe\u0301", "régime"));
  EXPECT_THAT(targets_in(Glossary(std::vector<GlossaryEntry>{{"cafe", "x"}}), text), IsEmpty());
}

// A text as its characters, of which some are of several bytes.
using Characters = std::vector<std::string>;

std::string joined(const Characters& characters, size_t begin, size_t end) {
  std::string text;
  for (size_t i = begin; i < end; ++i) text += characters[i];
  return text;
}

// The matches that the header promises, tried out term by term at each place.
std::vector<std::string> found_one_by_one(const Characters& text, const std::vector<GlossaryEntry>& entries) {
  const auto is_word = [](const std::string& c) { return c != " " && c != "-"; };
  const auto is_wide = [](const std::string& c) { return c == "一" || c == "丁"; };
  const auto first = static_cast<size_t>(std::find_if(text.begin(), text.end(), is_word) - text.begin());
  const bool has_capital =
      first < text.size() && text[first] == "A" && (first + 1 == text.size() || text[first + 1] != "A");
  const auto goes_on = [&](size_t at) {
    if (at == 0 || at == text.size() || !is_word(text[at - 1]) || !is_word(text[at])) return false;
    return text[at] == "\u0301" || !(is_wide(text[at - 1]) || is_wide(text[at]));
  };
  std::vector<std::string> found;
  for (size_t at = 0; at < text.size();) {
    size_t end = goes_on(at) ? at : text.size();
    const auto is_term = [&](const GlossaryEntry& entry) {
      return entry.source == joined(text, at, end) ||
             (at == first && has_capital && entry.source == "a" + joined(text, at + 1, end));
    };
    while (end > at && (goes_on(end) || std::none_of(entries.begin(), entries.end(), is_term))) --end;
    if (end > at) found.push_back(joined(text, at, end));
    at = std::max(end, at + 1);
  }
  return found;
}

TEST(AGlossary, FindsTermsThatContainOrOverlapEachOtherAsTryingEachOfThemDoes) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  size_t matches = 0;
  for (const Characters& alphabet :
       {Characters{"a", "b", " "}, {"a", "A", " "}, {"一", "丁"}, {"a", "一", "丁", "\u0301", " ", "-"}})
    for (int i = 0; i < 1000; ++i) {
      Characters text;
      while (text.size() < 30)
        if (const std::string& c = alphabet[below(alphabet.size())]; c != " " || text.empty() || text.back() != " ")
          text.push_back(c);  // single spaces
      std::vector<GlossaryEntry> entries;
      while (entries.size() < 1 + below(10)) {
        const size_t begin = below(text.size()), end = std::min(text.size(), begin + 1 + below(8));
        if (text[begin] == " " || text[end - 1] == " ") continue;
        const std::string term = joined(text, begin, end);
        entries.push_back({term, "<" + term + ">"});
      }
      std::vector<std::string> found;
      const std::string whole = joined(text, 0, text.size());
      for (const TermMatch& match : Glossary(entries).matches_in(whole)) {
        found.push_back(whole.substr(match.begin, match.end - match.begin));
        EXPECT_EQ(match.target, "<" + (match.has_capital ? "a" + found.back().substr(1) : found.back()) + ">");
      }
      ASSERT_EQ(found, found_one_by_one(text, entries)) << whole;
      matches += found.size();
    }
  EXPECT_GT(matches, 3000U);
}

TEST(AGlossary, RefusesContradictionsAndEmptyTerms) {
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                Glossary({{"a", "b"}, {"a", "c"}});
              }),
              AllOf(HasSubstr("\"a\" as \"b\" and as \"c\""), HasSubstr("keep one")));
  EXPECT_THAT(message_of<std::invalid_argument>([] {
                Glossary({GlossaryEntry{"a", " "}});
              }),
              HasSubstr("without content"));
  EXPECT_THAT(message_of<std::invalid_argument>([] { Glossary({GlossaryEntry{"a", "\xff"}}); }), HasSubstr("UTF-8"));
  EXPECT_THAT(targets_in(Glossary({{"a", "b"}, {"a", "b"}}), "a"), ElementsAre("b"));
}

TEST(AGlossary, NamesTheLineWhereATermHasAnotherTranslation) {
  const TemporaryFolder folder;
  write_text(folder / "terms.tsv", "man\tMann\n# a comment\nred  house\tHaus\nman\tMann\nred house\tZug\n");
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_glossary(folder / "terms.tsv"); }),
              AllOf(HasSubstr("terms.tsv:5: "), HasSubstr("\"Zug\" here and as \"Haus\" in line 3")));
}

TEST(AGlossary, KnowsWhichTokensContinueAWord) {
  const auto tokenizer = testing::tiny_tokenizer();
  const SubwordModel& vocabulary = tokenizer.target();
  const auto continues = [&](const std::string& before, const std::string& after) {
    const Ids first = vocabulary.encode(before), whole = vocabulary.encode(before + after);
    EXPECT_FALSE(first.empty() || whole.size() <= first.size()) << before << after;
    return whole.size() > first.size() && continues_word(vocabulary, whole[first.size() - 1], whole[first.size()]);
  };
  EXPECT_FALSE(continues("the house", " is"));
  EXPECT_FALSE(continues("the house", ".")) << "punctuation does not";
  const Ids letters = vocabulary.encode("hg");  // no word: pieces of letters
  ASSERT_GT(letters.size(), 1U);
  EXPECT_TRUE(continues_word(vocabulary, letters[letters.size() - 2], letters.back()));
  EXPECT_FALSE(continues_word(vocabulary, letters.back(), special_ids::kEnd));
  EXPECT_FALSE(continues_word(vocabulary, letters.back(), letters.front())) << "it begins with a space";
}

TEST(AGlossary, IsReadFromATabSeparatedFile) {
  const TemporaryFolder folder;
  write_text(folder / "good.tsv", "# comment\nriver bank \t Ufer\r\n\nbank\tBank\n#5\tNr. 5\n");
  const auto entries = read_glossary(folder / "good.tsv");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[2].source, "#5");
  EXPECT_EQ(entries[0].source, "river bank");
  EXPECT_EQ(entries[0].target, "Ufer");
  for (const char* bad : {"a\n", "a\t\n", "\tb\n", "a\tb\tc\n"}) {
    write_text(folder / "bad.tsv", std::string("x\ty\n") + bad);
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_glossary(folder / "bad.tsv"); }), HasSubstr("bad.tsv:2: "));
  }
  EXPECT_THROW(read_glossary(folder / "none.tsv"), std::runtime_error);
}

TEST(AGlossary, RefusesZeroBytesWhichNoTranslationCanContain) {
  const TemporaryFolder folder;
  for (const auto& line : {std::string("a\tb\0c\n", 6), std::string("a\0c\tb\n", 6)}) {
    write_text(folder / "zero.tsv", "x\ty\n" + line);
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_glossary(folder / "zero.tsv"); }),
                HasSubstr("zero.tsv:2: has a zero byte"));
  }
}

}  // namespace
}  // namespace transmute
