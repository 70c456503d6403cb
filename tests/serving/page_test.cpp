// SPDX-License-Identifier: Apache-2.0
// The page of serve in a real browser, with a real server behind it. Skipped where there is no Chromium.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/serving/browser.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kTyped = "the old train is here.";
constexpr const char* kShown = "document.querySelector('#target').textContent";
constexpr const char* kIsClosed = "document.querySelector('#choices').hidden";
constexpr const char* kIsReady =
    "document.querySelector('#target .word') && !document.querySelector('#target.working')";

class ServePage : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TinyModelFolder>();
    // The same network in both directions, so that the languages can be swapped, and into a language that is no source.
    const std::string path = folder_->path();
    server_ = std::make_unique<RunningServe>(std::vector<std::string>{
        "--model", "en-de=" + path, "--model", "de-en=" + path, "--model", "de-fr=" + path, "--threads", "2"});
  }
  static void TearDownTestSuite() {
    server_.reset();
    folder_.reset();
  }
  void SetUp() override {
    if (BrowserPage::chromium().empty()) GTEST_SKIP() << "no Chromium is installed (Debian's package: chromium)";
    try {
      page_ = std::make_unique<BrowserPage>();
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
    page_->open(server_->address() + "/");
    ASSERT_TRUE(page_->becomes_true("document.querySelector('#to').options.length"));
    translate_from("en");
  }
  void TearDown() override {
    if (!page_) return;
    EXPECT_THAT(page_->problems(), IsEmpty());
  }

  void translate_from(const std::string& language) {
    page_->evaluate("document.querySelector('#from').value = '" + language +
                    "', document.querySelector('#from').dispatchEvent(new Event('change'))");
  }
  void swap_and_expect_the_translation_as_source() {
    const auto before = page_->evaluate(kShown).get<std::string>();
    page_->press("s", "KeyS", 83, 1);
    EXPECT_EQ(page_->evaluate("document.querySelector('#from').value"), "de");
    EXPECT_EQ(page_->evaluate("document.querySelector('#to').value"), "en");
    EXPECT_EQ(page_->evaluate("document.querySelector('#source').value"), before);
  }
  void type_and_wait(const std::string& text = kTyped) {
    page_->evaluate("document.querySelector('#source').focus()");
    page_->type(text);
    ASSERT_TRUE(page_->becomes_true(kIsReady)) << page_->evaluate("document.body.innerText");
  }
  void open_alternatives() {
    page_->evaluate("document.querySelector('#target .word').focus()");
    page_->press("Enter", "Enter", 13);
    ASSERT_TRUE(page_->becomes_true("document.querySelectorAll('#alternatives li').length > 1"));
  }
  void empty_the_source() {
    page_->evaluate("document.querySelector('#source').select()");
    page_->press("Delete", "Delete", 46);
  }
  // The page streams, and a stream is searched once.
  static std::string translated(const std::string& text) {
    TranslationOptions options;
    options.guard = Guard::off;
    return Translator(folder_->path()).translate(text, options);
  }

  static std::unique_ptr<TinyModelFolder> folder_;
  static std::unique_ptr<RunningServe> server_;
  std::unique_ptr<BrowserPage> page_;
};
std::unique_ptr<TinyModelFolder> ServePage::folder_;
std::unique_ptr<RunningServe> ServePage::server_;

TEST_F(ServePage, TranslatesWhileOneTypesAndAsksNoOtherHost) {
  EXPECT_EQ(page_->evaluate("document.activeElement.id"), "source") << "one can type at once";
  type_and_wait();
  EXPECT_EQ(page_->evaluate(kShown), translated(kTyped));
  EXPECT_THAT(page_->content_types(), Contains("text/event-stream"));
  EXPECT_THAT(page_->requests(), Each(StartsWith(server_->address() + "/")));
  page_->evaluate("document.querySelector('#source').select()");
  page_->type("the red house");
  EXPECT_TRUE(page_->becomes_true(std::string(kShown) + " === " + Json(translated("the red house")).dump()));
  empty_the_source();
  EXPECT_TRUE(page_->becomes_true(std::string(kShown) + " === ''"));
}

TEST_F(ServePage, OffersAlternativesByKeyboardAlone) {
  type_and_wait();
  const auto before = page_->evaluate(kShown).get<std::string>();
  page_->evaluate("document.querySelector('#target .word[tabindex=\"0\"]').focus()");
  page_->press("ArrowRight", "ArrowRight", 39);
  const auto first = page_->evaluate("document.querySelector('#target .word').textContent").get<std::string>();
  EXPECT_NE(page_->evaluate("document.activeElement.textContent"), first) << "the second word has the focus";
  page_->press("Enter", "Enter", 13);
  ASSERT_TRUE(page_->becomes_true("document.querySelectorAll('#alternatives li').length > 1"));
  EXPECT_EQ(page_->evaluate("document.activeElement.id"), "alternatives");
  page_->press("ArrowDown", "ArrowDown", 40);
  const auto chosen =
      page_->evaluate("document.querySelector('#alternatives [aria-selected=true]').textContent").get<std::string>();
  EXPECT_THAT(chosen, StartsWith(first)) << "what is before the word stays";
  EXPECT_NE(chosen, before);
  page_->press("Enter", "Enter", 13);
  EXPECT_TRUE(page_->becomes_true(std::string(kShown) + " === " + Json(chosen).dump()));
  EXPECT_EQ(page_->evaluate(kIsClosed), true);
}

TEST_F(ServePage, ClosesTheListOnEscape) {
  type_and_wait();
  open_alternatives();
  page_->press("Escape", "Escape", 27);
  EXPECT_EQ(page_->evaluate(kIsClosed), true);
  EXPECT_EQ(page_->evaluate("document.activeElement.className"), "word");
  page_->press("Escape", "Escape", 27);
  EXPECT_EQ(page_->evaluate("document.activeElement.id"), "source");
}

struct Window {
  const char* name;
  int width, height;
  bool touch;
};

class ServePageWindow : public ServePage, public ::testing::WithParamInterface<Window> {
 protected:
  void select(const std::string& selector) { GetParam().touch ? page_->tap(selector) : page_->click(selector); }
  // The list lies within the window, below the sticky header, and at most a line's height from the word.
  void expect_the_list_beside(const std::string& word) {
    const Json found = page_->evaluate(
        "(() => { const list = document.querySelector('#choices').getBoundingClientRect(), "
        "word = document.querySelector('" +
        word +
        "').getBoundingClientRect(); "
        "return {inside: list.left >= 0 && list.right <= innerWidth && list.bottom <= innerHeight && "
        "list.top >= document.querySelector('header').getBoundingClientRect().bottom, "
        "distance: Math.max(list.top - word.bottom, word.top - list.bottom)}; })()");
    EXPECT_EQ(found["inside"], true) << word;
    EXPECT_GE(found["distance"].get<double>(), -4) << word << " is covered";
    EXPECT_LE(found["distance"].get<double>(), 12) << word;
  }
};

INSTANTIATE_TEST_SUITE_P(Sizes, ServePageWindow,
                         ::testing::Values(Window{"TouchedPhone", 390, 844, true},
                                           Window{"NarrowWithMouse", 390, 844, false},
                                           Window{"WideWithMouse", 1280, 800, false}),
                         [](const auto& info) { return info.param.name; });

TEST_P(ServePageWindow, OpensAlternativesBesideTheWord) {
  page_->resize(GetParam().width, GetParam().height, GetParam().touch);
  std::string text = kTyped;
  for (int i = 0; i < 5; ++i) text += std::string(" ") + kTyped;
  type_and_wait(text);
  const auto num_words = page_->evaluate("document.querySelectorAll('#target .word').length").get<int>();
  ASSERT_GT(num_words, 6);
  for (int i = 1; i <= num_words; i += (num_words - 1) / 4) {
    const std::string word = "#target .word:nth-of-type(" + std::to_string(i) + ")";
    page_->evaluate("document.querySelector('" + word + "').scrollIntoView({block: 'nearest'})");
    const Json place = page_->evaluate("document.querySelector('" + word + "').getBoundingClientRect().y");
    select(word);
    ASSERT_TRUE(page_->becomes_true("document.querySelector('#alternatives li')")) << word;
    EXPECT_EQ(page_->evaluate("document.querySelector('" + word + "').getBoundingClientRect().y"), place)
        << "the word moves away";
    expect_the_list_beside(word);
    select("#close");
    EXPECT_EQ(page_->evaluate(kIsClosed), true);
    EXPECT_EQ(page_->evaluate("document.activeElement === document.querySelector('" + word + "')"), true);
  }
}

TEST_P(ServePageWindow, ClosesTheListWhereSomethingElseIsSelected) {
  page_->resize(GetParam().width, GetParam().height, GetParam().touch);
  type_and_wait();
  select("#target .word");
  ASSERT_TRUE(page_->becomes_true("document.querySelector('#alternatives li')"));
  select("#status");
  EXPECT_EQ(page_->evaluate(kIsClosed), true);
}

TEST_F(ServePage, ShowsTheAttentionOfAWord) {
  type_and_wait();
  page_->evaluate("document.querySelector('#target .word').focus()");
  const auto pieces =
      page_->evaluate("[...document.querySelectorAll('.attended')].map((piece) => piece.textContent).join('').trim()");
  EXPECT_EQ(pieces, kTyped);
  EXPECT_NE(page_->evaluate("document.querySelector('.attended').style.backgroundColor"), "")
      << "the policy must allow the colors";
}

TEST_F(ServePage, UsesTheGlossary) {
  page_->evaluate("document.querySelector('#glossary').value = 'train = Fluss'");
  type_and_wait();
  EXPECT_THAT(page_->evaluate(kShown).get<std::string>(), HasSubstr("Fluss"));
}

TEST_F(ServePage, SaysWhichLinesOfTheGlossaryItIgnores) {
  page_->evaluate(
      "document.querySelector('#glossary').value = 'train = Fluss\\n\\nhouse\\na = b = c\\n = Tor\\ngate =', "
      "document.querySelector('#glossary').dispatchEvent(new Event('input'))");
  ASSERT_TRUE(page_->becomes_true("document.querySelector('#glossary-problems').textContent"));
  EXPECT_EQ(page_->evaluate("document.querySelector('#glossary-problems').textContent"),
            "Line 3 is ignored: there is no “=” between the term and its translation.\n"
            "Line 4 is ignored: there is more than one “=”.\n"
            "Line 5 is ignored: there is no term before the “=”.\n"
            "Line 6 is ignored: there is no translation after the “=”.");
  type_and_wait();
  EXPECT_THAT(page_->evaluate(kShown).get<std::string>(), HasSubstr("Fluss")) << "the good line holds";
  page_->evaluate(
      "document.querySelector('#glossary').value = 'train = Fluss', "
      "document.querySelector('#glossary').dispatchEvent(new Event('input'))");
  EXPECT_TRUE(page_->becomes_true("!document.querySelector('#glossary-problems').textContent"));
}

TEST_F(ServePage, SaysHowSureItIsOfADetectedLanguage) {
  const std::string answer = R"({"source":"de","target":"en","translations":[{"text":"x","segments":[],"detected":)"
                             R"({"language":"de","confidence":CONFIDENCE}}]})";
  for (const auto& [confidence, notice] : std::vector<std::pair<std::string, std::string>>{
           {"0", "Language unclear; taken to be German"}, {"30", "Probably German"}, {"90", "Detected: German"}}) {
    std::string given = answer;
    given.replace(given.find("CONFIDENCE"), 10, confidence);
    page_->evaluate("window.fetch = async () => new Response(" + Json("event: done\ndata: " + given + "\n\n").dump() +
                    "), document.querySelector('#source').value = 'x', "
                    "document.querySelector('#source').dispatchEvent(new Event('input'))");
    EXPECT_TRUE(page_->becomes_true("document.querySelector('#status').textContent === '" + notice + "'")) << notice;
  }
}

TEST_F(ServePage, ShowsAllOfALongText) {
  const std::string heights =
      "[document.querySelector('#source').scrollHeight, document.querySelector('#source').clientHeight]";
  const auto before = page_->evaluate(heights)[1].get<int>();
  std::string text;
  for (int i = 0; i < 30; ++i) text += "the red house\n";
  page_->evaluate("document.querySelector('#source').focus()");
  page_->type(text);
  const Json after = page_->evaluate(heights);
  EXPECT_EQ(after[0], after[1]) << "nothing to scroll within the box";
  EXPECT_GT(after[1].get<int>(), 2 * before);
  empty_the_source();
  EXPECT_TRUE(page_->becomes_true("document.querySelector('#source').clientHeight === " + std::to_string(before)));
}

TEST_F(ServePage, SendsTheKeyOfTheForm) {
  type_and_wait();
  page_->evaluate(
      "window.sent = [], window.fetch = async (path, how) => { sent.push(how.headers.Authorization); "
      "return new Response('{}', {status: 403}); }, document.querySelector('#key').closest('details').open = true, "
      "document.querySelector('#key').focus()");
  page_->type("secret");
  page_->call(
      "Input.dispatchKeyEvent",
      {{"type", "keyDown"}, {"key", "Enter"}, {"code", "Enter"}, {"windowsVirtualKeyCode", 13}, {"text", "\r"}});
  EXPECT_TRUE(page_->becomes_true("sent.at(-1) === 'Bearer secret'"));
  EXPECT_EQ(page_->evaluate("location.search"), "") << "the key must not enter the address";
}

TEST_F(ServePage, SwapsTheLanguages) {
  type_and_wait();
  swap_and_expect_the_translation_as_source();
}

// Where Option and a letter type a character.
TEST_F(ServePage, SwapsTheLanguagesOfAMacByControlAndOption) {
  type_and_wait();
  const Json before = page_->evaluate(kShown);
  page_->evaluate("Object.defineProperty(navigator, 'platform', {value: 'MacIntel'}), 0");
  page_->press("ß", "KeyS", 83, 1);
  EXPECT_EQ(page_->evaluate("document.querySelector('#from').value"), "en");
  page_->press("s", "KeyS", 83, 3);
  EXPECT_EQ(page_->evaluate("document.querySelector('#source').value"), before);
}

TEST_F(ServePage, SwapsALanguageThatWasDetected) {
  translate_from("auto");
  page_->press("s", "KeyS", 83, 1);
  EXPECT_TRUE(page_->becomes_true("document.querySelector('#status.problem')?.textContent.includes('not known yet')"));
  EXPECT_EQ(page_->evaluate("document.querySelector('#from').value"), "auto");
  type_and_wait();
  swap_and_expect_the_translation_as_source();
}

TEST_F(ServePage, KeepsATextThatIsNotTranslatedYetWhenItSwapsTheLanguages) {
  type_and_wait();
  page_->evaluate("document.querySelector('#source').value = 'the red house'");
  page_->press("s", "KeyS", 83, 1);
  EXPECT_EQ(page_->evaluate("document.querySelector('#from').value"), "de");
  EXPECT_EQ(page_->evaluate("document.querySelector('#source').value"), "the red house");
}

TEST_F(ServePage, CopiesWhatItShows) {
  type_and_wait();
  page_->evaluate(
      "Object.defineProperty(navigator, 'clipboard', {value: {writeText: (text) => { window.copied = text; }}}), "
      "document.querySelector('#target').textContent = 'Das', 0");
  page_->press("c", "KeyC", 67, 1);
  EXPECT_TRUE(page_->becomes_true("window.copied === 'Das'"));
}

TEST_F(ServePage, TranslatesATextWhoseAlignmentsAreTooLarge) {
  page_->evaluate(
      "window.asked = [], window.send = window.fetch, window.fetch = async (path, how) => { "
      "asked.push(JSON.parse(how.body).alignments); "
      "return asked.at(-1) ? new Response('{\"error\": \"too large\"}', {status: 413}) : send(path, how); }, 0");
  type_and_wait();
  EXPECT_EQ(page_->evaluate("asked.join()"), "true,false");
  EXPECT_EQ(page_->evaluate(kShown), translated(kTyped));
}

TEST_F(ServePage, AsksAboutASentenceInTheLanguageThatWasDetected) {
  translate_from("auto");
  type_and_wait();
  page_->evaluate(
      "window.asked = [], window.send = window.fetch, "
      "window.fetch = (path, how) => { asked.push(JSON.parse(how.body)); return send(path, how); }, 0");
  const std::string languages = "[asked.at(-1).source, asked.at(-1).target].join()";
  open_alternatives();
  EXPECT_EQ(page_->evaluate(languages), "en,de");
  page_->press("Enter", "Enter", 13);
  ASSERT_TRUE(page_->becomes_true("asked.length === 2")) << "the words of the alternative";
  EXPECT_EQ(page_->evaluate(languages), "en,de");
}

TEST_F(ServePage, SaysWhereItCannotCopy) {
  type_and_wait();
  page_->evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined}), 0");
  page_->press("c", "KeyC", 67, 1);
  EXPECT_TRUE(page_->becomes_true("document.querySelector('#status.problem')?.textContent.includes('HTTPS')"));
}

TEST_F(ServePage, OffersOnlyLanguagesThatCanBeTranslated) {
  EXPECT_EQ(page_->evaluate("[...document.querySelector('#from').options].map((option) => option.value).join()"),
            "auto,de,en");
  translate_from("en");
  EXPECT_EQ(page_->evaluate("[...document.querySelector('#to').options].map((option) => option.value).join()"), "de");
}

TEST_F(ServePage, CallsLanguagesByTheirNames) {
  translate_from("de");
  EXPECT_EQ(page_->evaluate("[...document.querySelector('#to').options].map((option) => option.text).join()"),
            "English,French");
}

TEST_F(ServePage, ReadsDroppedFiles) {
  page_->evaluate(R"((async () => {
    const packed = new Response(new Blob(['the red house']).stream().pipeThrough(new CompressionStream('gzip')));
    const transfer = new DataTransfer();
    transfer.items.add(new File([await packed.blob()], 'text.txt.gz'));
    document.querySelector('#source').dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true}));
  })())");
  EXPECT_TRUE(page_->becomes_true(std::string(kShown) + " === " + Json(translated("the red house")).dump()));
}

TEST_F(ServePage, TranslatesDroppedDocuments) {
  page_->evaluate(R"((() => {
    window.saved = [];
    const blobs = [];
    URL.createObjectURL = (blob) => '#' + blobs.push(blob);
    HTMLAnchorElement.prototype.click = function () { saved.push([this.download, blobs[this.hash.slice(1) - 1]]); };
    const transfer = new DataTransfer();
    transfer.items.add(new File(['1\n00:00:01,000 --> 00:00:02,000\nthe red house\n'], 'größe.srt'));
    document.querySelector('#source').dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true}));
  })())");
  ASSERT_TRUE(page_->becomes_true("saved.length === 1"));
  EXPECT_EQ(page_->evaluate("saved[0][0]"), "größe_de.srt");
  const std::string film = page_->evaluate("saved[0][1].text()").get<std::string>();
  const std::string times = "1\n00:00:01,000 --> 00:00:02,000\n";
  ASSERT_THAT(film, StartsWith(times));
  std::string words = film.substr(times.size());
  std::replace(words.begin(), words.end(), '\n', ' ');
  EXPECT_EQ(words, Translator(folder_->path()).translate("the red house") + " ");  // a file is not streamed
}

TEST_F(ServePage, TellsScreenReadersWhatEverythingIs) {
  type_and_wait();
  const auto nodes = page_->accessible_nodes();
  for (const char* node : {"heading Translate", "combobox From", "combobox To", "textbox Text", "button Copy",
                           "button Swap the languages", "group Translation"})
    EXPECT_THAT(nodes, Contains(StartsWith(node)));
  EXPECT_THAT(nodes, Contains(StartsWith("status")));
  open_alternatives();
  const auto with_list = page_->accessible_nodes();
  EXPECT_THAT(with_list, Contains(StartsWith("listbox 6 alternatives")));
  EXPECT_THAT(with_list, Contains(StartsWith("option ")));
}

TEST_F(ServePage, ShowsProblemsAndRunsNoMarkupOfTexts) {
  type_and_wait("<img src=x onerror=alert(1)> <script>document.title = 'run'</script>");
  EXPECT_EQ(page_->evaluate("document.querySelectorAll('#target img, #target script').length"), 0);
  EXPECT_EQ(page_->evaluate("document.title"), "Translate");
  const std::string policy =
      page_->evaluate("fetch('/').then((answer) => answer.headers.get('Content-Security-Policy'))").get<std::string>();
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  page_->evaluate(
      "document.querySelector('#source').value = 'x'.repeat(100001), "
      "document.querySelector('#source').dispatchEvent(new Event('input'))");
  EXPECT_TRUE(page_->becomes_true("document.querySelector('#status.problem')?.textContent.includes('text limit')"));
}

TEST_F(ServePage, FitsAPhone) {
  page_->resize(360, 700, true);
  type_and_wait();
  EXPECT_LE(page_->evaluate("document.documentElement.scrollWidth").get<int>(), 360) << "nothing is cut off";
  EXPECT_GT(page_->evaluate("document.querySelector('#target').getBoundingClientRect().top").get<double>(),
            page_->evaluate("document.querySelector('#source').getBoundingClientRect().bottom").get<double>());
}

}  // namespace
}  // namespace transmute::testing
