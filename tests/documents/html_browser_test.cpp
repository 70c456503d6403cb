// SPDX-License-Identifier: Apache-2.0
// Wild HTML and its translations in a real browser's parser, with and without scripts. Skipped where there is no
// Chromium.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/documents/document.h>
#include <transmute/tests/serving/browser.h>
#include <transmute/text/inline_tags.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::IsEmpty;

// Pieces of pages, and what a model might write of its own.
const std::vector<std::string> kPieces{"<",
                                       "</",
                                       ">",
                                       "=",
                                       "\"",
                                       "'",
                                       " ",
                                       "/",
                                       "--",
                                       "--!>",
                                       "-->",
                                       "<!--",
                                       "<!-->",
                                       "<!--->",
                                       "<![CDATA[",
                                       "]]>",
                                       "<!x",
                                       "<?",
                                       "</ ",
                                       "<b>",
                                       "</b>",
                                       "<b ",
                                       "<i>",
                                       "</i>",
                                       "<a href=x>",
                                       "</a>",
                                       "<a x==\"",
                                       "<a title=\"",
                                       "<img src=x onerror=y>",
                                       "<img alt='",
                                       "<br>",
                                       "</br>",
                                       "<p>",
                                       "</p>",
                                       "<p title=\"",
                                       "<div>",
                                       "</div>",
                                       "<u class=a>",
                                       "</u>",
                                       "<code>",
                                       "</code>",
                                       "<b translate=no>",
                                       "<p translate=no>",
                                       "<li translate=no>",
                                       "<ul>",
                                       "</ul>",
                                       "<script",
                                       "</script",
                                       "<script>",
                                       "</script>",
                                       "<script>a<b>c</script>",
                                       "<script><!--<script></script>",
                                       "<style>p > a {}</style>",
                                       "<style><b x='</style>",
                                       "<textarea><b title=\"</textarea>",
                                       "<title>a</title>",
                                       "<title><i></title>",
                                       "<xmp><b></xmp>",
                                       "<iframe><a href=\"</iframe>",
                                       "<noembed><!-- </noembed>",
                                       "</title>",
                                       "<noframes><b></noframes>",
                                       "<noscript>One <b>x</b></noscript>",
                                       "<noscript><a title=\"</noscript>\">",
                                       "<svg>",
                                       "</svg>",
                                       "<svg/>",
                                       "<math>",
                                       "</math>",
                                       "<desc>",
                                       "</desc>",
                                       "<font color=x>",
                                       "<g>",
                                       "</g>",
                                       "<svg><title>a</title><path/></svg>",
                                       "<svg><style>a{}</style></svg>",
                                       "<svg><![CDATA[<b>]]></svg>",
                                       "<svg><foreignObject><div>a</div></foreignObject></svg>",
                                       "<math><mi>x</mi></math>",
                                       "<select>",
                                       "</select>",
                                       "<select><option>a <b>c</b></select>",
                                       "<select><style><img title=\"</style>",
                                       "<input>",
                                       "<template>",
                                       "</template>",
                                       "<col>",
                                       "<table>",
                                       "<td>",
                                       "</td>",
                                       "</table>",
                                       "<form>",
                                       "<button>",
                                       "<!-- a --!>",
                                       "&lt;",
                                       "&gt;",
                                       "&amp;",
                                       "&",
                                       "&#115;",
                                       "&lt;b&gt;",
                                       "&quot;",
                                       "&check;",
                                       "&#60;",
                                       "onmouseover=alert(1) ",
                                       "x=y ",
                                       "One two three. ",
                                       "Four five. ",
                                       "six ",
                                       "seven\n",
                                       "\r\n",
                                       "\f",
                                       "a",
                                       "b "};
const std::vector<std::string> kOwnWords{"<",    ">",           "\"",  "--!>",     "</script>", "<img src=q onerror=q>",
                                         "&lt;", "</noscript>", "]]>", "</title>", "-->"};

// A segment with its words in another order, tags with theirs, and some words more.
std::string reordered(const std::string& segment, std::mt19937& random) {
  const TaggedText tagged(segment);
  const std::string& plain = tagged.plain();
  std::vector<ByteSpan> words;
  for (size_t at = 0; at < plain.size(); at = words.back().second)
    words.emplace_back(at, std::min(plain.find(' ', at + 1), plain.size()));
  std::vector<size_t> order(words.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::string translation;
  std::vector<ByteSpan> translated_words;
  std::vector<std::vector<float>> alignment;
  for (const size_t word : order) {
    const size_t begin = translation.size();
    translation += ' ' + plain.substr(words[word].first, words[word].second - words[word].first);
    if (random() % 4 == 0) translation += kOwnWords[random() % kOwnWords.size()];
    translated_words.emplace_back(begin, translation.size());
    alignment.emplace_back(words.size(), 0.0F);
    alignment.back()[word] = 0.9F;
  }
  return tagged.restore(translation, words, translated_words, alignment);
}

// The elements, attributes and values of documents[i][1…] that documents[i][0] does not have. Values for people may be
// others.
constexpr const char* kFindNew = R"((documents => {
  const isForPeople = attribute => attribute === 'title' || attribute === 'alt';
  const parts = root => {
    const found = new Set;
    const walk = node => {
      for (const element of node.children) {
        const name = element.namespaceURI + ' ' + element.localName;
        found.add(name);
        for (const {name: attribute, value} of element.attributes)
          found.add(name + ' ' + attribute + '=' + (isForPeople(attribute) ? '' : value));
        walk(element);
        if (element.content) walk(element.content);
      }
    };
    walk(root);
    return found;
  };
  const withoutScripts = html => new DOMParser().parseFromString(html, 'text/html');
  const withScripts = html => { const place = document.createElement('div'); place.innerHTML = html; return place; };
  const problems = [];
  for (const [page, ...answers] of documents)
    for (const parse of [withoutScripts, withScripts]) {
      const known = parts(parse(page));
      for (const answer of answers)
        for (const part of parts(parse(answer))) if (!known.has(part)) problems.push([part, page, answer]);
    }
  return problems;
}))";

TEST(HtmlInABrowser, HasNoElementAttributeOrValueThatThePageLacks) {
  if (BrowserPage::chromium().empty()) GTEST_SKIP() << "no Chromium is installed (Debian's package: chromium)";
  std::unique_ptr<BrowserPage> browser;
  try {
    browser = std::make_unique<BrowserPage>();
  } catch (const std::runtime_error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_FALSE(browser->evaluate(kFindNew + std::string("([['<p>', '<p x=1>']])")).empty()) << "finds nothing";
  std::mt19937 random(3);
  for (int batch = 0; batch < 20; ++batch) {
    Json documents = Json::array();
    for (int i = 0; i < 100; ++i) {
      std::string page;
      for (size_t pieces = 5 + random() % 40; pieces > 0; --pieces) page += kPieces[random() % kPieces.size()];
      const Document document(page, TextFormat::html, i % 2 == 0);
      std::vector<std::string> translations = document.segments();
      for (std::string& segment : translations) segment = reordered(segment, random);
      documents.push_back({page, document.with(document.segments()), document.with(translations)});
    }
    const Json problems = browser->evaluate(kFindNew + ('(' + documents.dump() + ')'));
    ASSERT_THAT(problems, IsEmpty()) << problems.dump(2);
  }
}

}  // namespace
}  // namespace transmute::testing
