// SPDX-License-Identifier: Apache-2.0
// What a real browser displays of the explorer's page. Skipped where there is no Chromium.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/examples/explorer/attention_trace.h>
#include <transmute/examples/explorer/embedding_map.h>
#include <transmute/tests/support/explorer.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/subprocess.h>

#include <cstdio>
#include <optional>
#include <regex>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The text between `begin` and the next `end`, without tags.
std::string text_between(const std::string& html, const std::string& begin, const std::string& end) {
  const size_t from = html.find(begin);
  if (from == std::string::npos) return "(no " + begin + ")";
  const size_t to = html.find(end, from);
  return std::regex_replace(html.substr(from + begin.size(), to - from - begin.size()), std::regex("<[^>]*>"), "");
}

// A page in a real browser: `address` is what follows the '#', `act` JavaScript that is run in the page at its
// end.
class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) chromium_ = name;
    if (chromium_.empty()) GTEST_SKIP() << "no Chromium is installed (Debian's package: chromium)";
    static const bool runs = run("<p>ready</p>", "", "").has_value();
    if (!runs) GTEST_SKIP() << chromium_ << " does not run here " << errors_;
  }

  // The document at the end, as HTML; nothing where the browser does not run.
  std::optional<std::string> run(std::string page, const std::string& address, const std::string& act,
                                 const std::string& window = "1200,900") {
    if (const size_t first = page.find("<script"); first != std::string::npos)
      page.insert(
          first, "<script>addEventListener('error', e => document.documentElement.dataset.fault = e.message)</script>");
    if (!act.empty()) {
      const size_t end = page.rfind("</body>");
      page.insert(end, "<script>" + act + "</script>");
    }
    write_text(folder_ / "page.html", page);
    const Outcome outcome = run_program_with({"timeout", "60", chromium_, "--headless", "--no-sandbox", "--disable-gpu",
                                              "--window-size=" + window, "--user-data-dir=" + (folder_ / "profile"),
                                              "--dump-dom", "file://" + (folder_ / "page.html") + "#" + address});
    errors_ = outcome.errors;
    if (outcome.exit_code != 0 || outcome.output.find("<p") == std::string::npos) return std::nullopt;
    return outcome.output;
  }

  // `act` is JavaScript to run in the page; what it publishes is the text of #result.
  std::string shown(const LoadedModel& shown_model, const std::vector<ExplorerSentence>& sentences,
                    const std::string& address, const std::string& act = "", const std::string& window = "1200,900") {
    const std::string publish = R"(
      const publish = (text) => {
        const result = document.createElement('p');
        result.id = 'result';
        result.textContent = text;
        document.body.append(result);
      };
    )";
    const auto html =
        run(explorer_page(shown_model, modules_of(shown_model), sentences), address, publish + act, window);
    EXPECT_TRUE(html.has_value()) << errors_;
    EXPECT_EQ(text_between(html.value_or(""), " data-fault=\"", "\""), "(no  data-fault=\")") << "a script failed";
    return html.value_or("");
  }

  const LoadedModel model = tiny_model();
  TemporaryFolder folder_;
  std::string chromium_, errors_;
};

std::string to_four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f", value);
  return text;
}

const std::vector<ExplorerSentence> kTwo{{"the red house is near.", "das rote Haus ist nah."},
                                         {"the old train is here.", "der alte Zug ist hier."}};

// Digits after rounding twice, to 1/65535 and to four places, may differ by one in the last.
void expect_shown(const std::string& text, double weight) {
  double said = -1;
  ASSERT_EQ(std::sscanf(text.c_str(), "%lf", &said), 1) << text;
  EXPECT_NEAR(said, weight, 0.5e-4 + kHalfStep);
}

TEST_F(Browser, DisplaysTheModulesWeightsForAToken) {
  const std::string html = shown(model, kTwo, "sentence=2&kind=cross&layer=2&heads=2&token=q3");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[1].source),
                                          model.tokenizer.target().encode(*kTwo[1].target));
  const torch::Tensor row = weights.at("cross")[1][0][1][2];  // layer 2, head 2, query 3: [S]
  const auto [sorted, order] = row.sort(0, true);
  for (int64_t place = 0; place < 5; ++place) {
    if (sorted[place].item<double>() < 0.0001) break;
    const int64_t key = order[place].item<int64_t>();
    const std::string entry = text_between(html, "<li data-index=\"" + std::to_string(key + 1) + "\">", "</li>");
    expect_shown(entry.substr(entry.rfind(' ') + 1), sorted[place].item<double>());
  }
  EXPECT_THAT(html, HasSubstr("<ul data-head=\"2\">"));
  EXPECT_THAT(html, Not(HasSubstr("<ul data-head=\"1\">"))) << "a head that is not chosen";
  EXPECT_EQ(text_between(html, "id=\"source-text\">", "</span>"), kTwo[1].source);
}

TEST_F(Browser, DisplaysTheMeanOfTheHeadsInTheMatrix) {
  const std::string html = shown(model, kTwo, "kind=encoder&layer=1&heads=1,2&cell=2,4");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[0].source),
                                          model.tokenizer.target().encode(*kTwo[0].target));
  const std::string cell = text_between(html, "id=\"cell\" aria-live=\"polite\">", "</span>");
  expect_shown(cell.substr(cell.rfind(' ') + 1), weights.at("encoder")[0][0].mean(0)[1][3].item<double>());
}

TEST_F(Browser, DisplaysTheStatisticsAndSortsThem) {
  const std::string html = shown(model, kTwo, "view=statistics&kind=decoder&sort=entropy");
  const AttentionTrace trace = trace_attention(modules_of(model), model.tokenizer.source().encode(kTwo[0].source),
                                               model.tokenizer.target().encode(*kTwo[0].target));
  std::vector<double> entropies;
  for (const auto& layer : trace.decoder)
    for (int64_t head = 0; head < 2; ++head) entropies.push_back(head_statistics(layer[head]).entropy);
  std::sort(entropies.begin(), entropies.end());
  size_t at = 0;
  for (const double entropy : entropies) {
    at = html.find("data-name=\"entropy\">", at) + 1;
    ASSERT_NE(at, std::string::npos + 1);
    EXPECT_EQ(text_between(html.substr(at), "\">", "</td>"), to_four_digits(entropy));
  }
}

TEST_F(Browser, ListsTheNeighborsOfAToken) {
  const int64_t id = model.tokenizer.source().encode(kTwo[0].source)[1];
  const std::string html = shown(model, kTwo, "view=embeddings&piece=" + std::to_string(id));
  const auto near = nearest_neighbors(modules_of(model)->named_parameters()["embedding.weight"], {id}, 8).front();
  const std::string list = text_between(html, "<ol id=\"neighbors\">", "</ol>");
  size_t at = 0;
  for (const auto& neighbor : near) {
    at = list.find(model.tokenizer.source().piece(neighbor.id) + to_four_digits(neighbor.cosine), at);
    ASSERT_NE(at, std::string::npos) << list;
  }
}

TEST_F(Browser, SeparateVocabulariesAndLearnedPositionsAreTwoEach) {
  TokenizerOptions separate = tiny_tokenizer_options();
  separate.vocabulary = VocabularySharing::separate;
  separate.vocab_size = 60;
  TransformerOptions options = tiny_transformer_options();
  options.embedding_tying = EmbeddingTying::none;
  options.positional_encoding = PositionalEncodingKind::learned;
  options.max_positions = 50;
  options.norm_position = NormPosition::pre;
  const LoadedModel model = tiny_model(separate, options);
  const std::string html = shown(model, kTwo, "view=embeddings&vocabulary=2", "update({view: 'positions'});");
  EXPECT_THAT(html, HasSubstr("of the 60 embeddings (target)"));
  const int64_t first = model.tokenizer.target().encode(*kTwo[0].target).front();
  EXPECT_THAT(text_between(html, "id=\"neighbors-of\">", "</b>"),
              HasSubstr("Nearest to " + model.tokenizer.target().piece(first) + ","));
  EXPECT_THAT(html, HasSubstr("Position vectors, learned, of source"));
  EXPECT_THAT(html, HasSubstr("Position vectors, learned, of target"));
}

TEST_F(Browser, ObeysTheKeyboardAndTheTokens) {
  // From the first view: next sentence, cross attention, next layer, without head 1, all; then along the queries.
  const std::string act = R"(
    const press = (key, on) => on.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}));
    for (const key of ['n', 'c', '.', '1']) press(key, document.body);
    const said = [location.hash];
    const tokens = document.querySelectorAll('#queries .token');
    tokens[0].focus();
    press('ArrowRight', document.activeElement);
    said.push(document.querySelector('#readout .said').textContent);
    document.activeElement.click();
    said.push(location.hash);
    press('Escape', document.body);
    said.push(location.hash);
    document.getElementById('matrix').focus();
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) press(key, document.activeElement);
    said.push(document.getElementById('cell').textContent.split(':')[0]);
    document.getElementById('tab-positions').click();
    said.push(String(document.getElementById('attention').hidden), location.hash);
    publish(said.join('|'));
  )";
  const std::string html = shown(model, kTwo, "", act);
  const Ids target = model.tokenizer.target().encode(*kTwo[1].target);
  const std::string second = model.tokenizer.target().piece(target[1]);
  std::vector<std::string> said;
  std::istringstream stream(std::regex_replace(text_between(html, "id=\"result\">", "</p>"), std::regex("&amp;"), "&"));
  for (std::string part; std::getline(stream, part, '|');) said.push_back(part);
  ASSERT_EQ(said.size(), 7U) << html.substr(html.size() > 3000 ? html.size() - 3000 : 0);
  EXPECT_EQ(said[0], "#view=attention&sentence=2&kind=cross&layer=2&heads=2");
  EXPECT_THAT(said[1], HasSubstr("query 2 “" + second + "”"));
  EXPECT_EQ(said[2], "#view=attention&sentence=2&kind=cross&layer=2&heads=2&token=q2");
  EXPECT_EQ(said[3], said[0]);
  EXPECT_THAT(said[4], HasSubstr("Query 2 “" + second + "” to key 2"));
  EXPECT_EQ(said[5], "true");
  EXPECT_THAT(said[6], HasSubstr("view=positions"));
}

TEST_F(Browser, PointingAtAKeyShowsWhoLooksAtItUntilThePointerLeaves) {
  const std::string act = R"(
    const keys = document.getElementById('keys');
    const said = [];
    const read = () => said.push(document.getElementById('readout').textContent);
    keys.children[1].dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
    read();
    keys.dispatchEvent(new PointerEvent('pointerleave', {pointerType: 'mouse'}));
    read();
    publish(said.join('|'));
  )";
  const std::string html = shown(model, kTwo, "kind=encoder&layer=1&heads=1", act);
  const std::string said = text_between(html, "id=\"result\">", "</p>");
  const auto weights = weights_of_modules(model, model.tokenizer.source().encode(kTwo[0].source),
                                          model.tokenizer.target().encode(*kTwo[0].target));
  const torch::Tensor column = weights.at("encoder")[0][0][0].select(1, 1);  // over the queries
  const std::string piece = model.tokenizer.source().segment(kTwo[0].source).pieces[1];
  EXPECT_THAT(said, ::testing::StartsWith("key 2 “" + piece + "” is looked at byhead 1"));
  EXPECT_THAT(said, HasSubstr(to_four_digits(column.max().item<double>()).substr(0, 4)));
  EXPECT_THAT(said, HasSubstr("|All tokens:head 1entropy "));
}

TEST_F(Browser, NoViewIsWiderThanANarrowWindow) {
  // The window is as narrow as it can be; what is wider scrolls in its own box.
  std::string act = "const said = [];";
  for (const char* view : {"attention", "statistics", "positions", "embeddings"})
    act += "update({view: '" + std::string(view) +
           "'}); said.push(document.documentElement.scrollWidth - document.documentElement.clientWidth);";
  act += "publish(said.join(' '));";
  const std::string html = shown(model, kTwo, "kind=cross", act, "500,800");
  EXPECT_EQ(text_between(html, "id=\"result\">", "</p>"), "0 0 0 0");
}

TEST_F(Browser, ShowsHostileTextAsText) {
  const std::string hostile = "</script><img src=x onerror=\"document.title='broken'\"> & <b>bold</b>";
  const std::string html = shown(model, {{hostile, hostile}}, "token=q1");
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<title>broken")));
  EXPECT_THAT(html, HasSubstr("id=\"source-text\">&lt;/script&gt;&lt;img src=x onerror="));
}

TEST_F(Browser, DoesNotOfferTheSelfAttentionThatRecurrentUnitsReplace) {
  TransformerOptions options = tiny_transformer_options();
  options.decoder_self_attention = DecoderSelfAttention::ssru;
  const std::string html = shown(tiny_model(tiny_tokenizer_options(), options), kTwo, "kind=decoder", R"(
    const offered = [...element('kind').options].filter(option => !option.hidden).map(option => option.value);
    publish([state.kind, ...offered].join(' '));
  )");
  EXPECT_EQ(text_between(html, "<p id=\"result\">", "</p>"), "encoder encoder cross");
}

TEST_F(Browser, AnAddressOfWhatIsNotThereShowsWhatIs) {
  const std::string html =
      shown(model, kTwo,
            "sentence=99&layer=-3&heads=7,x&kind=other&token=q999&cell=0,5&view=nothing&piece=none&theme=x&sort=y",
            "update({}); publish(location.hash);");
  EXPECT_EQ(text_between(html, "id=\"result\">", "</p>"),
            "#view=attention&amp;sentence=2&amp;kind=encoder&amp;layer=1&amp;heads=");
  EXPECT_EQ(text_between(html, "id=\"source-text\">", "</span>"), kTwo[1].source);
  EXPECT_THAT(html, HasSubstr("<canvas id=\"matrix\""));
  EXPECT_THAT(html, HasSubstr("data-side=\"key\""));
}

}  // namespace
}  // namespace transmute::testing
