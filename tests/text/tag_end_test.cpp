// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/tests/support/cpu_clock.h>
#include <transmute/text/tag_end.h>

#include <random>
#include <utility>

namespace transmute {
namespace {

using testing::cpu_seconds_of;

// Worked out by hand with sections 13.2.5.8 and 13.2.5.32 to 13.2.5.40 of the HTML standard.
TEST(TagEnd, IsWhereTheHtmlStandardHasIt) {
  const std::vector<std::pair<std::string, std::string>> tags{
      {"<a x==\" y=\"><i>\">", "x"},         // the first value is ="
      {"<a title=\"30 > 9\" id='>'>", "9"},  // quoted values
      {"<a x = \t\n\">\">", "\">"},          // white space around the equals sign
      {"<a x=\"y\"z='>'>", "'"},             // no white space after a value
      {"<a x=y z='>'>", "'"},                // an unquoted value before
      {"<a x/y='>'>", "'"},                  // a slash between attributes
      {"<a =x='>'>", "'"},                   // a name may begin with an equals sign
      {"<a \"='>'>", "'"},                   // or with a quote
      {"<a x y='>'>", "'"},                  // an attribute without a value before
      {"</a title=\">\">", "\">"},           // end tags have attributes too
      {"<br/>", "\">"},
      {"<a x\"y>", "\">"},        // a quote within a name
      {"<a x=y\"z>", "\">"},      // within an unquoted value
      {"<a x=\"y\"\"z>", "\">"},  // after a value
      {"<a/=\"x>", "\">"},        // an equals sign after a slash begins a name
      {"<a=\"x>", "\">"},         // and within an element's name it is part of that
      {"<a\v=\"x>", "\">"},       // a vertical tab is not white space
      {"<a x=>", "\">"},
      {"<a x=/>", "\">"},
      {"<a <b>", "\">"}};
  for (const auto& [tag, rest] : tags) {
    EXPECT_EQ(tag_end(tag + rest), tag.size()) << tag;
    EXPECT_EQ(tag_ends("3 " + tag + rest).back(), 2 + tag.size()) << tag;
  }
  for (const char* text : {"<a", "<a x='>", "<a x=\">'", "<a x=\"y\" z=\">"}) {
    EXPECT_EQ(tag_end(text), std::string::npos) << text;
    EXPECT_EQ(tag_ends(text).back(), 0U) << text;
  }
  for (const char* text : {"<", "</", "<>", "</>", "<3>", "< a>", "</ a>", "<!a>"})
    EXPECT_EQ(tag_ends(text).back(), 0U) << text;
}

TEST(TagEnd, IsTheSameReadFromEitherSide) {
  std::mt19937 random(1);
  const std::string characters = "<<a/>='\" \n\v";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) text += characters[random() % characters.size()];
    std::vector<size_t> ends = tag_ends(text);
    for (size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
      ASSERT_FALSE(ends.empty()) << text;
      const size_t length = begins_tag(text, at) ? tag_end(std::string_view(text).substr(at)) : std::string::npos;
      EXPECT_EQ(ends.back(), length == std::string::npos ? 0 : at + length) << text << " at " << at;
      ends.pop_back();
    }
    EXPECT_TRUE(ends.empty()) << text;
  }
}

TEST(TagEnd, OfManyTagsWithoutAnEndIsFoundAtOnce) {
  for (const char* begin : {"<a", "<a x='", "<a x=", "</a \""}) {
    std::string text;
    while (text.size() < 2'000'000) text += begin;
    EXPECT_LT(cpu_seconds_of([&] { EXPECT_FALSE(tag_ends(text).empty()); }), 5) << begin;
  }
}

}  // namespace
}  // namespace transmute
