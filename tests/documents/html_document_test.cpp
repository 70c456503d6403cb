// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/documents/document.h>
#include <transmute/text/inline_tags.h>

#include <algorithm>
#include <cctype>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Every segment in capitals.
std::string shouted(const Document& document) {
  std::vector<std::string> segments = document.segments();
  for (std::string& segment : segments) {
    bool in_tag = false;
    for (char& c : segment) {
      in_tag = c == '<' || (in_tag && c != '>');
      if (!in_tag && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
  }
  return document.with(segments);
}

// The segments of a page, which becomes itself if they stay as they are.
std::vector<std::string> segments_of(const std::string& html, bool split_sentences = true) {
  const Document document(html, TextFormat::html, split_sentences);
  EXPECT_EQ(document.with(document.segments()), html);
  return document.segments();
}

TEST(Document, LeavesHtmlWithoutLettersAsItIs) {
  const std::string html = "<table><tr><td>12.50</td><td>&#49;&euro; &rarr; <b>3</b></td><td>\u0434</td></tr></table>";
  ASSERT_THAT(segments_of(html), ElementsAre("\u0434"));
  EXPECT_THAT(Document("12.50", TextFormat::text, true).segments(), ElementsAre("12.50"));
}

TEST(Document, TranslatesTheLinesOfABrElementSeparately) {
  const std::string lines = "Saturday, May 5<br>Monday, May 7<BR class=x />\n45.5 kilometers";
  for (const TextFormat format : {TextFormat::html, TextFormat::tags})
    for (const bool split : {false, true}) {
      const Document document(lines, format, split);
      ASSERT_THAT(document.segments(), ElementsAre("Saturday, May 5", "Monday, May 7", "45.5 kilometers"));
      EXPECT_EQ(document.with(document.segments()), lines);
    }
  const std::string html = "<p>A <i>dog.<br>A cat</i> here.</br></p>";
  const Document within(html, TextFormat::html, true);
  EXPECT_THAT(within.segments(), ElementsAre("A <i>dog.", "A cat</i> here."));
  EXPECT_EQ(within.with({"Ein <i>Hund.", "Eine Katze</i> hier."}), "<p>Ein <i>Hund.<br>Eine Katze</i> hier.</br></p>");
}

TEST(Document, CommandsOfTemplatesStay) {
  const std::string html =
      "<head><title>{% block title %}My dog{% endblock %}</title></head>\n{%- if a < b -%}\n<p>A {# not a cat #} dog "
      "costs <%= price %> or <%# more %>.</p>\n<% if (a) { %>a dog<% } else { %>a <b>cat<% } %></b> Hi {{ name }}: {{ "
      "a > "
      "b }} or {{ c && d }} {% 50 %";
  const std::string kept = "<var-[a-z0-9]+/>";
  EXPECT_THAT(segments_of(html),
              ElementsAre("My dog", MatchesRegex("A " + kept + " dog costs " + kept + " or " + kept + "\\."), "a dog",
                          "a <b>cat", MatchesRegex("</b> Hi \\{\\{ name }}: " + kept + " or " + kept + " \\{% 50 %")));
}

TEST(Document, CodeOfTemplatesStaysWithItsAngleBrackets) {
  const std::string html =
      "<p title=\"<?= $a[\"b\"] > 1 ?>\">Hi <?php echo $a > 1 ? \"<i>x</i>\" : ''; ?>, a <% if a > b %>dog <%= "
      "f(\"<b>\") %>.</p><? if ($a > 1) { ?><option <?php if ($a > 1) echo 'x'; ?>>one<option {% if a > 1 %}x{% endif "
      "%}>two<? } ?><p>A <? dog > cat. <?php if (1 > 2) { // a man";
  const std::string kept = "<var-[a-z0-9]+/>";
  EXPECT_THAT(segments_of(html, false), ElementsAre(MatchesRegex("Hi " + kept + ", a"),
                                                    MatchesRegex("dog " + kept + "\\."), "one", "two", "A", "cat."));
  EXPECT_THAT(Document("<p title=\"Write <?php first\">A dog.</p>", TextFormat::html, false).segments(),
              ElementsAre("A dog."));
}

TEST(Document, CutsHtmlAtBlocksAndKeepsInlineElementsWithTheirWords) {
  const std::string html = "<!doctype html>\n<ul class=\"a\">\n <li>a <b>red</b> house</li>\n <li><br>two</li></ul>";
  const Document document(html, TextFormat::html, true);
  EXPECT_THAT(document.segments(), ElementsAre("a <b>red</b> house", "two"));
  EXPECT_EQ(shouted(document),
            "<!doctype html>\n<ul class=\"a\">\n <li>A <b>RED</b> HOUSE</li>\n <li><br>TWO</li></ul>");
}

TEST(Document, LeavesScriptsStylesCodeAndCommentsAlone) {
  for (const char* html :
       {"<script>if (a < b) say('<p>x</p>')</script>", "<style>p { color: red }</style>", "<pre>some <b>code</b></pre>",
        "<code>x</code>", "<!-- a <p>comment</p> -->", "<head><title translate=no>t</title></head>",
        "<head translate=no><title>t</title></head>", "<head><template><title>t</title></template></head>",
        "<SCRIPT>x</SCRIPT>", "<script>never closed"})
    EXPECT_THAT(segments_of(html), IsEmpty()) << html;
}

TEST(Document, ACommentWithinASentenceDoesNotCutIt) {
  const std::string page = "<p>A dog<!-- -->s run <!-- -->here.</p><!-- a --><p>B.</p>";
  ASSERT_EQ(segments_of(page).size(), 2U);
}

TEST(Document, KeepsInlineCodeAndWhatIsNotToBeTranslatedWithinItsSentence) {
  const auto kept = [](const std::string& element) {
    return segments_of("<p>Press " + element + " now.</p>") == std::vector<std::string>{"Press <var-x000/> now."};
  };
  for (const char* element :
       {"<code>a. B</code>", "<code>if (a\n  < b)</code>", "<span translate=\"no\">A. B</span>",
        "<b translate=no>x</b>", "<a class='u-url mention' href=x>@<span>x</span></a>", "<b id=1 TRANSLATE='NO'>x</b>",
        "<i class=\"a notranslate\">x</i>", "<b translate=no><b>x</b> y</b>", "<b title='>' translate=no>x</b>",
        "<a lang='de-DE' hreflang=de-de href=x>Deutsch</a>", "<code><!-- </code> --></code>"})
    EXPECT_TRUE(kept(element)) << element;
  for (const char* element :
       {"<b>x</b>", "<b title='translate=no'>x</b>", "<b class=donotranslate>x</b>", "<b translate=yes>x</b>",
        "<b translate=yes translate=no>x</b>", "<b data-translate=no>x</b>", "<b class=mention>x</b>",
        "<br translate=no>", "<a hreflang=de href=x>in German</a>", "<a lang=de hreflang=fr href=x>x</a>"})
    EXPECT_FALSE(kept(element)) << element;

  const std::string html = "<x00>a</x00> <code>x</code> b <code>y</code>";
  const Document document(html, TextFormat::html, true);
  ASSERT_THAT(document.segments(), ElementsAre("a", "<var-x010/> b <var-x011/>"));
  EXPECT_EQ(document.with({"A", "<var-x011/> B <var-x010/>"}), "<x00>A</x00> <code>y</code> B <code>x</code>");
}

TEST(Document, AttributesThatPeopleReadAreTranslated) {
  const std::string html =
      "<head><noscript><meta name=description content=no></noscript><meta name=description content=\"A page. It is "
      "old.\"><title>The page</title><meta property=og:title "
      "content='My page'><meta name=author content='A dog'><link title=plain href=a.css></head><body title=home><p>See "
      "<a title='the &quot;old&quot; dog&#39;s' href=\"dog's\">him</a><img src=a alt=dog alt=cat> here. Now.</p>"
      "<input type=Submit value=go><input type=submit name=act value=no><input value=no placeholder=\" a name \">"
      "<select><optgroup label=all><option value=no>one</select><textarea title=own placeholder='{{ a }}'>no</textarea>"
      "<img alt='{% x %}'><img alt=12><img alt='' title=\"a < b\"><p translate=no title=no>no</p><code title=no>no"
      "</code><b aria-label=bold></b><table summary=tools><th abbr=name>";
  const Document document(html, TextFormat::html, true);
  EXPECT_THAT(document.segments(),
              ElementsAre("A page.", "It is old.", "The page", "My page", "home", "the \"old\" dog's", "dog",
                          "See <a x0000>him</a><img x0001/> here.", "Now.", "go", "a name", "all", "one", "own",
                          "a < b", "bold", "tools", "name"));
  EXPECT_EQ(document.with(document.segments()).size(), html.size());
  std::vector<std::string> changed = document.segments();
  for (std::string& segment : changed)
    if (segment.find("<a x0000>") == std::string::npos) segment += " \"'";
  EXPECT_EQ(
      document.with(changed),
      "<head><noscript><meta name=description content=no></noscript><meta name=description content=\"A page. &quot;' "
      "It is old. &quot;'\"><title>The page \"'</title><meta "
      "property=og:title content='My page \"&#39;'><meta name=author content='A dog'><link title=plain href=a.css>"
      "</head><body title=\"home &quot;'\"><p>See <a title='the \"old\" dog&#39;s \"&#39;' href=\"dog's\">him</a><img "
      "src=a alt=\"dog &quot;'\" alt=cat> here. Now. \"'</p><input type=Submit value=\"go &quot;'\"><input type=submit "
      "name=act value=no><input value=no placeholder=\" a name &quot;' \"><select><optgroup label=\"all &quot;'\">"
      "<option value=no>one \"'</select><textarea title=\"own &quot;'\" placeholder='{{ a }}'>no</textarea><img "
      "alt='{% x %}'><img alt=12><img alt='' title=\"a &lt; b &quot;'\"><p translate=no title=no>no</p><code "
      "title=no>no</code><b aria-label=\"bold &quot;'\"></b><table summary=\"tools &quot;'\"><th abbr=\"name "
      "&quot;'\">");
  EXPECT_EQ(document.beginning(changed, 6).substr(document.beginning(changed, 5).size()), "");
  EXPECT_EQ(document.beginning(changed, 7).substr(document.beginning(changed, 6).size(), 8), "See <a t");
}

TEST(Document, VariablesAndFixedWidthTextAreInASentence) {
  const std::string text = "If <var>x</var> is set, <tt>sed</tt> reads <nobr>the line</nobr>.";
  EXPECT_THAT(segments_of(text), ElementsAre(text));
}

TEST(Document, CodeInDocumentationStays) {
  for (const char* code :
       {"<dl><dt class=\"sig sig-object py\"><em>class</em> <span>Dog</span>(<em>name</em>)</dt>",
        "<div class=member-signature><span>public static</span> void add(int count)</div>",
        "<h4 class='code-header'>pub fn <a>dog</a>()</h4>",
        "<table><tr><td class='memItemLeft'>void <td class='memItemRight'>add(int count)</table>",
        "<div class=memproto><table><tr><td class=memname>void add</td><td>(int count)</td></table></div>",
        "<div class=\"fragment\"><div class=\"line\">int dog = 1;</div><div class=\"line\">dog++;</div></div>"})
    EXPECT_THAT(segments_of(code + std::string("<p>A dog.")), ElementsAre("A dog.")) << code;
  EXPECT_THAT(
      segments_of("<dt class='deftypefn def-line'><span class=category-def>Function: </span><span><code>int</code> "
                  "<strong class=def-name>open</strong> <code>(int <var>a</var>)</code></span></dt>"),
      ElementsAre(AllOf(StartsWith("<span class=category-def>Function: "), Not(HasSubstr("open")))));
  for (const char* text : {"<div class=fragment><div>A dog.", "<div class=line-block><div class=line>A dog.",
                           "<div class=fragment>A dog."})
    EXPECT_THAT(segments_of(text), ElementsAre("A dog.")) << text;
}

TEST(Document, FormulasStay) {
  const std::string html =
      "<p>The sum \\(\\sum a &lt; b\\) is.</p><p>\\[\n\\frac{a}{b}\n\\]</p>\\begin{a}x\\begin{b}y\\end{b}\\end{a}<p>A "
      "\\(b, c\\d</p>";
  EXPECT_THAT(segments_of(html), ElementsAre(StartsWith("The sum <var-"), "A \\(b, c\\d"));
}

TEST(Document, ReadingsOfWordsGoWhenTheWordsChange) {
  const std::string html =
      "I <ruby>go<rp>(<rt>いく<rp>)</ruby> to <RUBY>school<rt>がっこう</RT></RUBY> <ruby>漢字<rt>kanji</ruby>.";
  const Document document(html, TextFormat::html, true);
  ASSERT_EQ(document.segments().size(), 1U);
  const std::string segment = document.segments().front();
  EXPECT_EQ(TaggedText(segment).plain(), "I go to school 漢字.");
  EXPECT_EQ(document.with({segment}), html);
  EXPECT_EQ(document.with({"A " + segment}), "A I <ruby>go</ruby> to <RUBY>school</RUBY> <ruby>漢字<rt>kanji</ruby>.");
}

TEST(Document, AttributesThatAreCodeStay) {
  for (const char* value :
       {"a_b.png", "org.example.Main", "{\"a\": \"dog\"}", "{{ t(\"a dog\") }}", "{t}a dog{/t}",
        "[% IF a %]a dog[% END %]", "[[ a dog ]]", "{{#a}}a dog{{/a}}", "<%= dog %> a", "<? dog ?> a",
        "&lt;i>a&lt;/i> dog", "a<br>dog", "{{ a->b }} dog", "{!! a & b !!} dog", "{{- \"a dog", "DOG01.JPG"})
    EXPECT_THAT(segments_of("<a title='" + std::string(value) + "'>"), IsEmpty()) << value;
  for (const char* value : {"a dog", "{a} dog {b}", "{{ a }} dog", "[a dog]", "a.b dog"})
    EXPECT_THAT(segments_of("<a title='" + std::string(value) + "'>"), ElementsAre(value));
}

TEST(Document, TooltipsKeepTheirLines) {
  const Document document("<a title='a dog&#10; &#xD;\nthe&#32;cat&#10;'>", TextFormat::html, true);
  EXPECT_THAT(document.segments(), ElementsAre("a dog", "the cat"));
  EXPECT_EQ(document.with({"A", "B"}), "<a title='A&#10; &#xD;\nB&#10;'>");
}

// The marks for tags are short, whatever the page has.
TEST(Document, KeepsLongTagsAndThosePartsOfThemThatTextCannotHave) {
  const std::string image = "<img x='a > b' src=\"data:image/png;base64," + std::string(20'000, 'A') + "\"/>";
  const std::string link = "<a href=\"" + std::string(5000, 'x') + "\"\nx=y>";
  const std::string html = "<p>See " + image + " and " + link + "this\nhouse</a>. Bye <b x=<i>now</b>.</p>";
  const Document document(html, TextFormat::html, true);
  ASSERT_THAT(document.segments(), SizeIs(2));
  EXPECT_EQ(document.segments()[0], "See <img x000000/> and <a x000001>this house</a>.");
  EXPECT_EQ(document.with({"<a x000001>Haus</a>: <img x000000/>.", document.segments()[1]}),
            "<p>" + link + "Haus</a>: " + image + ". Bye <b x=<i>now</b>.</p>");
  std::string hostile = "<" + std::string(50'000, 'x') + " a ";
  for (int i = 0; i < 1000; ++i) hostile += "x" + std::to_string(i * 9) + " ";
  for (int i = 0; i < 3000; ++i) hostile += "<code></code>";
  const Document many(hostile + ">a", TextFormat::html, true);
  size_t bytes = 0;
  for (const std::string& segment : many.segments()) bytes += segment.size();
  EXPECT_LT(bytes, 200'000U);
}

// "/>" closes no element of HTML's own, and names may be in capitals.
TEST(Document, PairsTagsAsABrowserDoes) {
  const std::vector<std::pair<std::string, std::string>> pages{
      {"<p>Monday, <a href=http://e.org/>March 3</a>, 2025</p>", "Monday, <a x000>March 3</a>, 2025"},
      {"<p>Monday, <b/>March 3</b>, 2025</p>", "Monday, <b x000>March 3</b>, 2025"},
      {"<p>Monday, <B>March 3</b>, 2025</p>", "Monday, <b x000>March 3</b>, 2025"},
      {"<p>Monday, <b>March 3</B>, 2025</p>", "Monday, <b>March 3</b x000>, 2025"},
      {"<p>Monday,<WBR>March <wbr/>3<wbr></p>", "Monday,<wbr x000/>March <wbr/>3<wbr>"}};
  for (const auto& [html, segment] : pages) EXPECT_THAT(segments_of(html, false), ElementsAre(segment));
}

TEST(Document, KeepsTheLineBreaksOfAttributes) {
  const std::string html = "<p>a <b onclick=\"f() // x\ng()\">red</b> house</p>";
  EXPECT_THAT(segments_of(html), ElementsAre("a <b x000>red</b> house"));
}

TEST(Document, EndsAHeadWhereABrowserDoes) {
  for (const char* html :
       {"<html><head><meta charset=utf-8><title>1</title><body><p>Monday</p>",
        "<html><head/><title>a <b> c</title><body><p>Monday</p>", "<head><!-- <p> --></head><p>Monday</p>",
        "<head><script>'<p>'</script><noscript><img src=x></noscript><p>Monday</p>", "<head><title>1</title>Monday"})
    EXPECT_THAT(segments_of(html), ElementsAre("Monday")) << html;
}

TEST(Document, TranslatesTheTitleInAHead) {
  const Document document(
      "<head><meta charset=utf-8><title>\n a &lt; b. </title><style>p {}</style></head><p>Monday</p>", TextFormat::html,
      true);
  EXPECT_THAT(document.segments(), ElementsAre("a < b.", "Monday"));
  EXPECT_EQ(document.with({"c </title><b>", "Montag"}),
            "<head><meta charset=utf-8><title>\n c &lt;/title&gt;&lt;b&gt; </title><style>p {}</style></head>"
            "<p>Montag</p>");
}

// Found by a fuzzer: <b> ends the SVG, whose text is not translated.
TEST(Document, AnAngleBracketBeforeASegmentBeginsNoTag) {
  const std::string page = "<svg>a<<b>dog</b>";
  const Document document(page, TextFormat::html, false);
  ASSERT_EQ(document.segments(), std::vector<std::string>{"<b>dog</b>"});
  EXPECT_EQ(document.with(document.segments()), page);
  EXPECT_EQ(document.with({"script <b>Hund</b>"}), "<svg>a&lt;script <b>Hund</b>");
  EXPECT_EQ(document.beginning({"script"}, 0), "<svg>a&lt;script");
}

TEST(Document, KnowsWhichElementsCloseThemselves) {
  const std::string html = "<p>Press <svg class=\"i\"/> to save.</p><math/><p>Next.</p><svg><svg/><path/></svg>";
  EXPECT_THAT(segments_of(html), ElementsAre("Press", "to save.", "Next."));
}

TEST(Document, LeavesBlocksAloneThatAreNotToBeTranslated) {
  const std::string html =
      "<div translate=no>a <div>b</div> c</div><p>d</p><div class=notranslate>never closed <p>e</p>";
  EXPECT_THAT(segments_of(html), ElementsAre("d"));
}

// Whose end tags may be left out.
TEST(Document, EndsUntranslatedElementsWithoutEndTagsWhereABrowserDoes) {
  const std::vector<std::pair<std::string, std::string>> pages{
      {"<ul><li translate=no>Ulm<li>Monday</ul>", "Monday"},
      {"<ul><li translate=no>Ulm</ul><p>Monday</p>", "Monday"},
      {"<ul><li translate=no>Ulm<ul><li>Bonn<li>Trier</ul>Mainz<li>Monday</ul>", "Monday"},
      {"<ul><li translate=no><p>Ulm<p>Bonn</p>Mainz</li><li>Monday</ul>", "Monday"},
      {"<ul><li translate=no><script>'<li>'</script>Ulm<li>Monday</ul>", "Monday"},
      {"<p class=notranslate>Ulm<p>Monday", "Monday"},
      {"<p class=notranslate>Ulm <b>Bonn</b> </i> Trier</p>Monday", "Monday"},
      {"<p class=notranslate>Ulm<div>Monday</div>", "Monday"},
      {"<div><p class=notranslate>Ulm</div>Monday", "Monday"},
      {"<p class=notranslate>Ulm <button><p>Bonn<p>Mainz</button> Trier<h2>Monday</h2>", "Monday"},
      {"<dl><dt translate=no>Ulm<dd>Monday<dd translate=no>Bonn</dl>", "Monday"},
      {"<table><tr><td translate=no>Ulm<td>Monday</table>", "Monday"},
      {"<table><tr><td translate=no>Ulm<table><tr><td>Bonn<td>Trier</table>Mainz<tr><td>Monday</table>", "Monday"},
      {"<table><tr translate=no><td>Ulm<td>Bonn<tr><td>Monday</table>", "Monday"},
      {"<table><tbody translate=no><tr><td>Ulm<tr><td>Bonn<tfoot><tr><td>Monday</table>", "Monday"},
      {"<table><caption translate=no>Ulm<tr><td>Monday</table>", "Monday"},
      {"<select><option translate=no>Ulm<option>Monday</select>", "Monday"},
      {"<select><option translate=no>Ulm</select>Monday", "Monday"},
      {"<select><optgroup translate=no><option>Ulm<option>Bonn<optgroup><option>Monday</select>", "Monday"}};
  for (const auto& [html, segment] : pages) EXPECT_THAT(segments_of(html), ElementsAre(segment)) << html;
}

TEST(Document, TakesNoTextOfAScriptForAnEndTag) {
  EXPECT_THAT(segments_of("<div translate=no><script>'</div>'</script>Ulm</div>Monday"), ElementsAre("Monday"));
}

TEST(Document, DecodesCharacterReferencesForTheModelAndWritesThemAgain) {
  const Document document("<p>Tom &amp; J&eacute;r&#244;me: 1 &lt; 2 &nosuch; &lt;b&gt;</p>", TextFormat::html, true);
  EXPECT_THAT(document.segments(), ElementsAre("Tom & Jérôme: 1 < 2 &nosuch; &lt;b>"));
  EXPECT_EQ(document.with(document.segments()), "<p>Tom &amp; Jérôme: 1 &lt; 2 &amp;nosuch; &lt;b&gt;</p>");
  EXPECT_THAT(segments_of("<p>Use &amp;nbsp; or &amp;lt; here.</p>"), SizeIs(1)) << "two references as text";
}

TEST(Document, LetsNoTranslationBringMarkupThatABrowserWouldRun) {
  const Document document("<p>text &lt;script&gt;alert(1)&lt;/script&gt;</p>", TextFormat::html, true);
  ASSERT_EQ(document.segments().size(), 1U);
  EXPECT_EQ(document.with(document.segments()).find("<script"), std::string::npos)
      << document.with(document.segments());
}

// Text of the source stays text, however it was written, and an attribute's value stays one.
TEST(Document, MakesNoMarkupOfReferences) {
  for (const char* html :
       {"&lt;&#115;cript&gt;alert(1)&lt;&#47;script&gt;", "&lt;&#105;mg src=x onerror=alert(1)&gt; 9 hours",
        "<&#115;cript>9 hours<&#47;script>", "&#60;script&#62;", "&#x3c;&#x2f;p&gt;", "<b>a</b> &lt;&#98;&gt;c",
        "a&lt;!&#45;- b --&gt;", "a &lt;&#63;php"}) {
    const Document document(html, TextFormat::html, true);
    const std::string written = document.with(document.segments());
    for (const char* markup : {"<s", "<i", "</s", "</p", "<!", "<?"})
      EXPECT_EQ(written.find(markup), std::string::npos) << html << "\n" << written;
    EXPECT_EQ(std::count(written.begin(), written.end(), '<'), std::string(html).find("<b>") == 0 ? 2 : 0) << written;
  }
  for (const char* html :
       {"<a title=\"x &quot; onmouseover=&quot;alert(1)\">9 hours</a>", "<a href=\"?a=1&amp;b=2&lt;\">9 hours</a>",
        "<a title=\"30 > 9\">9 hours</a>", "<a title='a <b>'>9 hours</a>"})
    EXPECT_FALSE(segments_of(html).empty());
}

TEST(Document, KnowsTheReferencesOfHtml5) {
  const Document document("caf&egrave; &Omega; &frac12; &apos; &check; &lsqb;x&rsqb; &NotEqualTilde; &bne;&comma;",
                          TextFormat::html, false);
  EXPECT_THAT(document.segments(), ElementsAre("cafè Ω ½ ' ✓ [x] \u2242\u0338 =\u20E5,"));
  EXPECT_EQ(document.with(document.segments()), "cafè Ω ½ ' ✓ [x] \u2242\u0338 =\u20E5,");
  const std::string about_html = "Write &amp;check; or &amp;lsqb; for them.";
  EXPECT_EQ(Document(about_html, TextFormat::html, false).with({"Write &amp;check; or &amp;lsqb; for them."}),
            about_html);
}

// Section 13.2.5.73 of the standard has "&notit;" and "&notin;" as its example.
TEST(Document, ReadsReferencesWithoutSemicolonsAsABrowserDoes) {
  const Document document("&copy 2020 caf&eacute, 5&times5, &sup2 &#169 &#xe9, A&AMP;T &amp", TextFormat::html, false);
  EXPECT_THAT(document.segments(), ElementsAre("© 2020 café, 5×5, ² © é, A&T &"));
  EXPECT_THAT(Document("I'm &notit; I &notin; it, &notinx", TextFormat::html, false).segments(),
              ElementsAre("I'm ¬it; I ∉ it, ¬inx"));
  for (const char* text : {"caf&eacut &euro 5 &Omega &bull &check &Check; &nosuch;", "&#; &#x; &# 1 & &;"})
    EXPECT_THAT(Document(text, TextFormat::html, false).segments(), ElementsAre(text));
  EXPECT_EQ(document.with({"Tom &copy 5 &lt 6 &amp &notit;"}), "Tom &amp;copy 5 &amp;lt 6 &amp;amp &amp;notit;")
      << "a model's own";
  EXPECT_THAT(segments_of("<p>Use &amp;copy or &amp;lt here.</p>"), SizeIs(1));
}

TEST(Document, ReadsNumbersThatAreNoCharactersAsABrowserDoes) {
  const Document document("a &#0; &#xD800; &#x110000; &#99999999999999999999; b", TextFormat::html, false);
  EXPECT_THAT(document.segments(), ElementsAre("a \uFFFD \uFFFD \uFFFD \uFFFD b"));
}

TEST(Document, ReadsTheNumbersOfOldPagesAsWindows1252) {
  const Document document("it&#146;s 1&#150;2 &#x80; &#160;&#159;", TextFormat::html, false);
  EXPECT_THAT(document.segments(), ElementsAre("it’s 1–2 € \u00A0Ÿ"));
}

TEST(Document, KeepsOnlyTheTagsOfTheSource) {
  const Document document("<p>a <b>red</b> &lt; house</p>", TextFormat::html, true);
  EXPECT_EQ(document.with({"<b>ein</b> <i>rotes</i> <script>Haus</script> <b onclick=x>"}),
            "<p><b>ein</b> &lt;i&gt;rotes&lt;/i&gt; &lt;script&gt;Haus&lt;/script&gt; &lt;b onclick=x&gt;</p>");
}

// The markup that a browser finds: '<' and a letter, '/', '!' or '?', up to the next '>'.
std::vector<std::string> markup_in(const std::string& text) {
  std::vector<std::string> found;
  if (text.empty()) return found;
  for (size_t at = text.find('<'); at < text.size() - 1; at = text.find('<', at + 1))
    if (std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0 ||
        std::string("/!?").find(text[at + 1]) != std::string::npos)
      found.push_back(text.substr(at, text.find('>', at) - at + 1));
  return found;
}

TEST(Document, BringsNoMarkupThatThePageDidNotHave) {
  std::mt19937 random(2);
  const std::vector<std::string> pieces{
      "<",      "</",   "<b>",  "</b>", "<a x=\"", "\"",     "'",     "=",     ">", " ",  ". ",
      "One",    "two",  "&lt;", "&gt;", "&",       "&#115;", "cript", "&#47;", "!", "--", "<img src=x onerror=y>",
      "&quot;", "<!--", "-->",  "<br>", "<p>"};
  for (int round = 0; round < 5000; ++round) {
    std::string page;
    for (int i = 0; i < 20; ++i) page += pieces[random() % pieces.size()];
    const Document document(page, TextFormat::html, round % 2 == 0);
    std::vector<std::string> translations = document.segments();
    for (std::string& segment : translations) segment = "x>" + pieces[random() % pieces.size()] + segment;
    for (const std::string& answer : {document.with(document.segments()), document.with(translations)})
      for (const std::string& markup : markup_in(answer))
        ASSERT_NE(page.find(markup), std::string::npos) << markup << "\n" << page << "\n" << answer;
  }
}

TEST(Document, ReadsTagsAsABrowserDoes) {
  for (const char* html : {"<b title. X <img src=x onerror=alert(1)> y. Z</b>", "<a title= \"30 > 9\">9 hours</a>. W",
                           "<a x\"y>One</a>. Two.", "a <b never closed. <i>x",
                           "<a x==\" y=\"><i>\">One</i></a> two<p title=\" onmouseover=alert(1) \">"})
    EXPECT_FALSE(segments_of(html).empty());
  // The first value is =", the second begins at the next quote.
  EXPECT_THAT(segments_of("<a x==\" y=\"><i>\">One</a>"), ElementsAre("<a x==\" y=\"><i>\">One</a>"));
  EXPECT_THAT(segments_of("One. A <b never closed. <i"), ElementsAre("One.", "A"));
}

}  // namespace
}  // namespace transmute::testing
