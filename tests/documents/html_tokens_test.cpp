// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/tests/support/cpu_clock.h>

#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// The tokens as they are written, but for what is left unread: "…".
std::vector<std::string> tokens_of(const std::string& html) {
  std::vector<std::string> tokens;
  for (const HtmlToken& token : html_tokens(html))
    tokens.push_back(token.is_rest ? "…" : html.substr(token.begin, token.end - token.begin));
  return tokens;
}

TEST(HtmlTokens, EndCommentsWhereABrowserDoes) {
  for (const char* comment : {"<!-- a -->", "<!-- a --!>", "<!-->", "<!--->", "<!---->", "<!----!>", "<!--a--->",
                              "<!-- <!-->", "<!-- <!--!>", "<!--a-!>-->", "<!--a--!-->", "<!---!>-->", "<!x -- y>",
                              "<!>", "<?xml a='>", "</ a='>", "</>", "<!DOCTYPE html PUBLIC \">", "<![CDATA[a>"})
    EXPECT_THAT(tokens_of(std::string("a") + comment + "b<i>--></i>"), ElementsAre(comment, "<i>", "</i>"));
  for (const char* unclosed : {"<!-- a --", "<!--", "<!x", "</ a", "<a title=\">"})
    EXPECT_THAT(tokens_of("<b>" + std::string(unclosed)), ElementsAre("<b>", "…"));
}

TEST(HtmlTokens, LeaveWhatABrowserTakesForText) {
  for (const char* element :
       {"<script>a<b>c</script>", "<STYLE>p > a <i></style >", "<textarea><p title='</textarea>",
        "<title>a <b></title>", "<xmp></xm><i></xmp/>", "<iframe><a \"></iframe x='>'>", "<noembed><!-- </noembed>",
        "<noframes><b></noframes>", "<script></scripts></script>", "<script><!-- <script> </script> --> </script>",
        "<script><!-- <script> --> </script>", "<script><!--> <script> </script>", "<script><!-- <scripts> </script>"})
    EXPECT_THAT(tokens_of("<b>" + std::string(element) + "<i>"), ElementsAre("<b>", element, "<i>"));
  EXPECT_THAT(tokens_of("<title>a</title><i>"), ElementsAre("<title>", "</title>", "<i>")) << "text to translate";
  for (const char* unclosed : {"<script>a</scripts>", "<style><b>", "<plaintext>a</plaintext>", "<script></script",
                               "<script><!-- <script> </script> -- >"})
    EXPECT_THAT(tokens_of("<b>" + std::string(unclosed)), ElementsAre("<b>", "…"));
}

TEST(HtmlTokens, FollowSvgAndMathToTheirEnd) {
  for (const char* element :
       {"<svg><path/><g><circle r=1></g></svg>", "<svg><title>a b</title><style>p > a {}</style></svg>",
        "<svg><style><![CDATA[ a {} ]]></style></svg>", "<svg><![CDATA[ a ]]></svg>", "<svg><svg></svg></svg>",
        "<svg><foreignObject><div><p>a <b>c</b></p></div></foreignObject></svg>", "<math><mi>x<b>y</b></mi></math>",
        "<svg></div></svg>", "<svg><font>a</font></svg>", "<svg><a title='</svg>'></a></svg>"})
    EXPECT_THAT(tokens_of(std::string(element) + "<i>"), ElementsAre(element, "<i>"));
  for (const char* start : {"<svg><g>", "<math><mrow>", "<svg><title>a</title>"})
    for (const char* breakout : {"<p>", "<font color=x>", "</p>"})
      EXPECT_THAT(tokens_of(std::string(start) + breakout + "<i>"), ElementsAre(start, breakout, "<i>"));
  EXPECT_THAT(tokens_of("<svg/><math/><i>"), ElementsAre("<svg/>", "<math/>", "<i>"));
}

// The standard's reading depends on more than is followed, or browsers differ.
TEST(HtmlTokens, AreNotReadWhereTheyAreUncertain) {
  for (const char* html :
       {"<svg><style><a title=\"</style><img>\"></style></svg>", "<svg><![CDATA[<b>]]></svg>",
        "<svg><title><b></title></svg>", "<svg><foreignObject><p><p></foreignObject></svg>", "<svg><select></svg>",
        "<math><annotation-xml></annotation-xml></math>", "<svg><style/></svg><style></style>", "<frameset><frame>",
        "<svg><desc><table></table></desc></svg>", "<noscript><a title=\"</noscript>\">", "<noscript>a",
        "<noscript><style></noscript></style>"})
    EXPECT_EQ(tokens_of(std::string(html) + "<i>").back(), "…") << html;
  EXPECT_THAT(tokens_of("<select><style><img title=\"</style>\"></select><i>"), ElementsAre("<select>", "…"));
  EXPECT_THAT(tokens_of("<select><style>a</style></select><style><i></style>"),
              ElementsAre("<select>", "<style>a</style>", "</select>", "<style><i></style>"));
  EXPECT_THAT(tokens_of("<template><col></template><title><i></title>"),
              ElementsAre("<template>", "<col>", "</template>", "<title><i></title>"));
  EXPECT_THAT(tokens_of("<template><col><title><i></title>"), ElementsAre("<template>", "<col>", "…"));
  EXPECT_THAT(tokens_of("<noscript><b>a</b></noscript><i>"),
              ElementsAre("<noscript>", "<b>", "</b>", "</noscript>", "<i>"));
}

TEST(HtmlTokens, HaveAttributesAsABrowserReadsThem) {
  const auto read = [](const std::string& tag) {
    std::vector<std::pair<std::string, std::string>> attributes;
    for (const HtmlAttribute& attribute : attributes_of(tag)) {
      attributes.emplace_back(attribute.name, attribute.value);
      EXPECT_EQ(tag.substr(attribute.begin, attribute.value.size()), attribute.value);
      EXPECT_TRUE(attribute.quote == 0 || tag[attribute.begin - 1] == attribute.quote);
    }
    return attributes;
  };
  EXPECT_THAT(read("<a X=1 y z='2 > 1' =w=\"\" a=b\"c v= \"3\"/>"),
              ElementsAre(Pair("x", "1"), Pair("y", ""), Pair("z", "2 > 1"), Pair("=w", ""), Pair("a", "b\"c"),
                          Pair("v", "3")));
  EXPECT_THAT(read("<a x==\" y=\"><i>\">"), ElementsAre(Pair("x", "=\""), Pair("y", "><i>")));
  EXPECT_THAT(read("<br/>"), ElementsAre());
}

TEST(HtmlTokens, AreReadInLinearTime) {
  for (const char* piece :
       {"<svg>", "<svg></x>", "<svg><g>", "<g></x>", "<svg><title>a</title>", "<noscript>", "<noscript></noscript>",
        "<script><!--", "<style></style", "<svg><style><![CDATA[</style>", "<select><style>", "<template><col>", "<!--",
        "--!", "</", "<title>", "<svg><desc><span>", "<span>", "<![CDATA[<%<? <b {%"})
    for (const char* start : {"", "<svg>", "<svg><desc>", "<svg><style>", "<noscript>", "<script><!--"})
      for (const char* end : {"", "]]></style></svg></script></noscript>"}) {
        std::string html = start;
        while (html.size() < 100'000) html += piece;
        EXPECT_LT(cpu_seconds_of([&] { EXPECT_FALSE(html_tokens("<i>" + html + end).empty()); }), 2)
            << start << piece << end;
      }
}

}  // namespace
}  // namespace transmute::testing
