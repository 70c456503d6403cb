// SPDX-License-Identifier: Apache-2.0
// The program serve as its clients see it: a real process, plain sockets, an untrained model.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/common/json.h>
#include <transmute/tests/serving/client.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/schema.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/subprocess.h>
#include <transmute/translation/translator.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr const char* kText = "the old train is here.";

Json v1_request(const Json& more = Json::object()) {
  Json request{{"text", kText}, {"source", "en"}, {"target", "de"}};
  request.update(more);
  return request;
}

constexpr int kWideBeam = 1024;

// A request that takes the untrained model a second, and far longer with kWideBeam: long, wide and with all the tokens
// that it may have.
std::string slow_request(int beam_size = 32) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "the old train is here and the red house is near ";
  return v1_request({{"text", text}, {"beam_size", beam_size}, {"max_extra_length", 500}, {"split_sentences", false}})
      .dump();
}

// Waits until /metrics has this figure, such as "transmute_running_segments 1"; false where that takes 20 seconds.
bool shows(const RunningServe& server, const std::string& figure) {
  Client client(server.port());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) {
    if (client.get("/metrics").body.find("\n" + figure + "\n") != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// The entry of the log for the request with this id; null where there is none.
Json log_entry(const std::string& log, const std::string& id) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (const Json entry = parse_json(line); entry.value("id", "") == id) return entry;
  return nullptr;
}

class Serve : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TinyModelFolder>();
    server_ = std::make_unique<RunningServe>(flags());
    const Answer openapi = Client(server_->port()).get("/openapi.json");
    schemas_ = std::make_unique<Schemas>(parse_json(openapi.body));
  }
  static void TearDownTestSuite() {
    schemas_.reset();
    server_.reset();
    folder_.reset();
  }
  static std::vector<std::string> flags(const std::vector<std::string>& more = {"--threads", "2"}) {
    std::vector<std::string> words{"--model", "en-de=" + folder_->path()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The arguments of a server that a single slow_request with kWideBeam keeps busy.
  static std::vector<std::string> one_worker(std::vector<std::string> more = {}) {
    more.insert(more.end(),
                {"--threads", "1", "--max-beam-size", std::to_string(kWideBeam), "--max-tokens", "1000000000"});
    return flags(more);
  }

  static Json post(const std::string& path, const Json& request, int status = 200) {
    const Answer answer = Client(server_->port()).post(path, request.dump());
    EXPECT_EQ(answer.status, status) << answer.body;
    const Json json = parse_json(answer.body);
    EXPECT_EQ(schemas_->fault(json, schemas_->of_answer(path, "post", status)), "");
    return json;
  }
  static Json get(const std::string& path) {
    const Answer answer = Client(server_->port()).get(path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json json = parse_json(answer.body);
    EXPECT_EQ(schemas_->fault(json, schemas_->of_answer(path, "get", 200)), "");
    return json;
  }
  static std::string translated(const std::string& text, const TranslationOptions& options = {}) {
    return Translator(folder_->path()).translate(text, options);
  }

  static std::unique_ptr<TinyModelFolder> folder_;
  static std::unique_ptr<RunningServe> server_;
  static std::unique_ptr<Schemas> schemas_;
};
std::unique_ptr<TinyModelFolder> Serve::folder_;
std::unique_ptr<RunningServe> Serve::server_;
std::unique_ptr<Schemas> Serve::schemas_;

TEST_F(Serve, TranslatesAsLibreTranslateDoes) {
  const std::string wanted = translated(kText);
  const Json one = post("/translate", {{"q", kText}, {"source", "en"}, {"target", "de"}});
  EXPECT_EQ(one, (Json{{"translatedText", wanted}}));
  const Json list = post("/translate", {{"q", {kText, ""}}, {"source", "en"}, {"target", "de"}, {"alternatives", 2}});
  TranslationOptions once;  // several translations of a text are those of one search
  once.guard = Guard::off;
  EXPECT_EQ(list["translatedText"], (Json{translated(kText, once), ""}));
  EXPECT_THAT(list["alternatives"], SizeIs(2));
  EXPECT_THAT(list["alternatives"][0], SizeIs(2));
  const Json detected = post("/translate", {{"q", kText}, {"source", "auto"}, {"target", "de"}});
  EXPECT_EQ(detected["detectedLanguage"]["language"], "en");
  EXPECT_EQ(detected["translatedText"], wanted);
  const Json mixed = post("/translate", {{"q", {kText, "das Haus", "12"}}, {"source", "auto"}, {"target", "de"}});
  EXPECT_EQ(mixed["translatedText"][0], wanted) << "each in its own language";
  EXPECT_EQ(mixed["translatedText"][1], "das Haus");
  EXPECT_EQ(mixed["detectedLanguage"][0]["language"], "en");
  EXPECT_EQ(mixed["detectedLanguage"][1]["language"], "de");
  EXPECT_EQ(mixed["detectedLanguage"][2]["language"], "en") << "as most of the list";
  EXPECT_EQ(mixed["detectedLanguage"][2]["confidence"], 0);
  const char* text = "A.  B.Then, caf\u00e9 &eacute;";
  const Json same = post("/translate", {{"q", text}, {"source", "en"}, {"target", "en"}, {"format", "html"}});
  EXPECT_EQ(same["translatedText"], text);
  std::string page = "<p>";
  for (int i = 0; i < 2000; ++i) page += "the old train ";
  page += "</p>";
  const Json large = post("/translate", {{"q", page}, {"source", "auto"}, {"target", "en"}, {"format", "html"}});
  EXPECT_EQ(large["translatedText"], page) << "nothing is translated, whatever its size";
}

TEST_F(Serve, LeavesATextThatIsInTheTargetLanguageAsItIs) {
  const char* german = "Ein Mann steht auf der Straße und sieht einem Hund zu.";
  EXPECT_EQ(post("/translate", {{"q", german}, {"source", "de"}, {"target", "de"}})["translatedText"], german);
  const Json detected = post("/translate", {{"q", german}, {"source", "auto"}, {"target", "de"}});
  EXPECT_EQ(detected["detectedLanguage"]["language"], "de");
  EXPECT_EQ(detected["translatedText"], german);
  EXPECT_EQ(post("/detect", {{"q", german}})[0]["language"], "de");
  const Json unknown = post("/translate", {{"q", "1234"}, {"source", "auto"}, {"target", "de"}});
  EXPECT_EQ(unknown["detectedLanguage"]["language"], "en") << "the one that can be translated";
  EXPECT_EQ(post("/detect", {{"q", "1234"}})[0]["language"], "en");
}

TEST_F(Serve, TakesCodesOfLanguagesInCapitals) {
  const Json plain = post("/translate", {{"q", kText}, {"source", "EN"}, {"target", "De"}});
  EXPECT_EQ(plain["translatedText"], translated(kText));
  const Json answer = post("/v1/translate", v1_request({{"source", "Auto"}, {"target", "DE"}}));
  EXPECT_EQ(answer["source"], "en");
  EXPECT_EQ(answer["target"], "de") << "as the server's owner writes it";
}

TEST_F(Serve, QuotesNoMoreThanABitOfWhatItDoesNotKnow) {
  const std::string code = std::string(39, 'z') + "äz";
  const std::string quoted = std::string(39, 'z') + "…";
  for (const char* member : {"source", "target"})
    EXPECT_EQ(post("/v1/translate", v1_request({{member, code}}), 400)["error"], quoted + " is not supported");
  EXPECT_THAT(post("/v1/translate", v1_request({{"format", code}}), 400)["error"].get<std::string>(),
              HasSubstr("not \"" + quoted + "\""));
}

// A proxy may pass /mt/ on to the server's root.
TEST_F(Serve, RefersToNothingByAnAbsoluteAddress) {
  Client client(server_->port());
  EXPECT_THAT(client.get("/").body, AllOf(HasSubstr("src=\"page.js\""), Not(HasSubstr("=\"/"))));
  EXPECT_THAT(client.get("/page.js").body, AllOf(HasSubstr("ask('languages')"), Not(HasSubstr("'/"))));
  EXPECT_THAT(client.get("/page.js").body, HasSubstr("'./choices.js'"));
  EXPECT_THAT(client.get("/choices.js").body, AllOf(HasSubstr("export function open"), Not(HasSubstr("'/"))));
  EXPECT_THAT(client.get("/page.css").body, Not(HasSubstr("url(")));
  EXPECT_EQ(schemas_->document()["servers"], parse_json(R"([{"url":"."}])"));
}

TEST_F(Serve, TakesForms) {
  const Answer answer =
      Client(server_->port())
          .post("/translate", "q=the+old+train+is+here.&source=en&target=de", "", "application/x-www-form-urlencoded");
  EXPECT_EQ(parse_json(answer.body)["translatedText"], translated(kText));
}

// A form with a file, as curl -F sends it.
std::string file_form(const std::string& name, const std::string& content, const std::string& retranslate = "") {
  const std::string field = "--b\r\nContent-Disposition: form-data; name=\"retranslate\"\r\n\r\n";
  return (retranslate.empty() ? "" : field + retranslate + "\r\n") +
         "--b\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n--b\r\nContent-Disposition: form-data; "
         "name=\"target\"\r\n\r\nde\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" +
         name + "\"\r\n\r\n" + content + "\r\n--b--\r\n";
}

TEST_F(Serve, TranslatesFiles) {
  const std::string type = "multipart/form-data; boundary=b", times = "1\n00:00:01,000 --> 00:00:02,000\n";
  Client client(server_->port());
  const Answer answer = client.post("/translate_file", file_form("a.srt", times + kText + "\n"), "", type);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const std::string url = parse_json(answer.body)["translatedFileUrl"];
  ASSERT_THAT(url, MatchesRegex("http://[^/]*/download_file/[0-9a-f]{32}\\.srt"));
  Answer file = client.get(url.substr(url.find("/download_file/")));
  EXPECT_THAT(file.body, StartsWith(times));
  std::string words = file.body.substr(times.size());
  std::replace(words.begin(), words.end(), '\n', ' ');
  EXPECT_EQ(words, translated(kText) + " ");
  EXPECT_EQ(file.headers["content-disposition"], "attachment; filename*=UTF-8''a_de.srt");
  Answer document = client.post("/v1/documents", file_form("a.srt", times + kText + "\n"), "", type);
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.body, file.body);
  EXPECT_EQ(document.headers["content-type"], "application/x-subrip");
  EXPECT_EQ(document.headers["content-disposition"], "attachment; filename*=UTF-8''a_de.srt");
  EXPECT_EQ(client.post("/v1/documents", file_form("a.xyz", "a"), "", type).status, 400);
  EXPECT_EQ(client.get("/v1/documents").status, 405);
  EXPECT_EQ(client.get("/download_file/0123.srt").status, 404);
  EXPECT_EQ(client.post("/translate_file", file_form("a.xyz", "a"), "", type).status, 400);
  EXPECT_EQ(client.post("/translate_file", file_form("a.docx", "PK"), "", type).status, 400);
  EXPECT_EQ(client.post("/translate", file_form("a.srt", times), "", type).status, 400);
  const Json settings = get("/frontend/settings");
  EXPECT_EQ(settings["filesTranslation"], true);
  EXPECT_THAT(settings["supportedFilesFormat"].get<std::vector<std::string>>(), Contains(".docx"));
}

TEST_F(Serve, TranslatesTranslatedEntriesOfACatalogIfAsked) {
  const std::string type = "multipart/form-data; boundary=b";
  const std::string catalog = std::string("msgid \"") + kText + "\"\nmsgstr \"alt\"\n";
  Client client(server_->port());
  const auto answer = [&](const std::string& retranslate) {
    return client.post("/v1/documents", file_form("de.po", catalog, retranslate), "", type);
  };
  EXPECT_EQ(answer("").body, catalog);
  EXPECT_EQ(answer("false").body, catalog);
  EXPECT_EQ(answer("true").body, "#, fuzzy\n" + catalog.substr(0, catalog.find("alt")) + translated(kText) + "\"\n");
  EXPECT_EQ(answer("yes").status, 400);
  EXPECT_THAT(answer("yes").body, HasSubstr("retranslate must be true or false"));
}

TEST_F(Serve, RefusesWithLibreTranslatesStatusAndWords) {
  EXPECT_EQ(post("/translate", {{"source", "en"}, {"target", "de"}}, 400)["error"],
            "Invalid request: missing q parameter");
  EXPECT_EQ(post("/translate", {{"q", "a"}, {"source", "zz"}, {"target", "de"}}, 400)["error"], "zz is not supported");
  EXPECT_EQ(post("/translate", {{"q", "a"}, {"source", "en"}, {"target", "zz"}}, 400)["error"], "zz is not supported");
  EXPECT_EQ(post("/translate", {{"q", "a"}, {"source", "de"}, {"target", "en"}}, 400)["error"],
            "en is not supported as a target of de");
  Client client(server_->port());
  EXPECT_EQ(client.post("/translate", "{", "").status, 400);
  EXPECT_EQ(client.get("/translate").status, 405);
  EXPECT_EQ(client.get("/translate").headers["allow"], "POST, OPTIONS");
  EXPECT_EQ(client.get("/spec").body, client.get("/openapi.json").body);
  EXPECT_EQ(client.get("/nowhere").status, 404);
  EXPECT_EQ(client.get("/../../etc/passwd").status, 404);
  EXPECT_EQ(client.post("/detect", "").status, 400);
}

TEST_F(Serve, SaysItsLanguagesSettingsAndHealth) {
  EXPECT_EQ(get("/languages"), parse_json(R"([{"code":"de","name":"German","targets":["de"]},
                                              {"code":"en","name":"English","targets":["de","en"]}])"));
  const Json settings = get("/frontend/settings");
  EXPECT_EQ(settings["language"]["source"]["name"], "English");
  EXPECT_EQ(settings["language"]["target"]["name"], "German");
  EXPECT_EQ(settings["keyRequired"], false);
  for (const char* path : {"/health", "/health/live", "/health/ready"}) EXPECT_EQ(get(path)["status"], "ok");
  EXPECT_EQ(post("/detect", {{"q", {kText, kText}}})[0]["language"], "en");
  const Json detected = post("/detect", {{"q", kText}});
  EXPECT_EQ(detected[0]["language"], "en");
}

TEST_F(Serve, AllowsPagesOfOtherSitesToAsk) {
  Client client(server_->port());
  client.send(request_bytes("OPTIONS", "/translate", "", "Origin: https://example.org\r\n"));
  const Answer preflight = client.receive();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.at("access-control-allow-origin"), "*");
  EXPECT_THAT(preflight.headers.at("access-control-allow-headers"), HasSubstr("Content-Type"));
  for (const char* path : {"/languages", "/nowhere"})
    EXPECT_EQ(client.get(path).headers.at("access-control-allow-origin"), "*");
}

TEST_F(Serve, GivesWhatTheLibraryGives) {
  TranslationOptions options;
  options.search.num_hypotheses = 3;
  options.search.alignments = true;
  const Translation expected = Translator(folder_->path()).translate_batch({kText}, options).front();
  const Json answer = post("/v1/translate", v1_request({{"num_hypotheses", 3}, {"alignments", true}}));
  const Json& segment = answer["translations"][0]["segments"][0];
  EXPECT_EQ(segment["source_tokens"], Json(expected.source_tokens));
  ASSERT_EQ(segment["hypotheses"].size(), expected.hypotheses.size());
  for (size_t i = 0; i < expected.hypotheses.size(); ++i) {
    const Json& hypothesis = segment["hypotheses"][i];
    EXPECT_EQ(hypothesis["text"], expected.hypotheses[i].text);
    EXPECT_EQ(hypothesis["score"], expected.hypotheses[i].score);
    EXPECT_EQ(hypothesis["log_probability"], expected.hypotheses[i].log_probability);
    EXPECT_EQ(hypothesis["tokens"], Json(expected.hypotheses[i].tokens));
    EXPECT_EQ(hypothesis["token_scores"], Json(expected.hypotheses[i].token_scores));
    EXPECT_EQ(hypothesis["alignment"], Json(expected.hypotheses[i].alignment));
  }
}

TEST_F(Serve, TakesPrefixesGlossariesAndSeeds) {
  const Json prefixed = post("/v1/translate", v1_request({{"prefix", "das rote"}}));
  EXPECT_THAT(prefixed["translations"][0]["text"].get<std::string>(), StartsWith("das rote"));
  const Json glossary = Json::array({{{"source", "train"}, {"target", "Brücke"}}});
  EXPECT_THAT(post("/v1/translate", v1_request({{"glossary", glossary}}))["translations"][0]["text"].get<std::string>(),
              HasSubstr("Brücke"));
  const Json sentences =
      post("/v1/translate", v1_request({{"text", "the old. Red house is near. The river is far."},
                                        {"glossary", {{{"source", "old. Red"}, {"target", "Haus"}}}}}));
  EXPECT_THAT(sentences["translations"][0]["segments"], SizeIs(2));
  EXPECT_THAT(sentences["translations"][0]["text"].get<std::string>(), HasSubstr("Haus"));
  const auto sampled = [](int seed) {
    return post("/v1/translate", v1_request({{"sampling", {{"seed", seed}}}}))["translations"][0]["text"];
  };
  EXPECT_EQ(sampled(1), sampled(1));
  EXPECT_NE(sampled(1), sampled(2));
  EXPECT_THAT(post("/v1/translate", v1_request({{"alternatives", 5}}))["translations"][0]["segments"][0]["hypotheses"],
              SizeIs(5));
}

TEST_F(Serve, TranslatesLinesAndSentencesByThemselves) {
  const std::string text = "the red house is near. The blue river is far.\n\nthe green bridge";
  const Json answer = post("/v1/translate", v1_request({{"text", text}}));
  const Json& segments = answer["translations"][0]["segments"];
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(answer["translations"][0]["text"], translated("the red house is near.") + " " +
                                                   translated("The blue river is far.") + "\n\n" +
                                                   translated("the green bridge"));
}

TEST_F(Serve, KeepsMarkup) {
  const Json answer = post("/translate", {{"q", "<ul><li>the <b>red</b> house</li><li>&amp;</li></ul>"},
                                          {"source", "en"},
                                          {"target", "de"},
                                          {"format", "html"}});
  const auto text = answer["translatedText"].get<std::string>();
  EXPECT_THAT(text, StartsWith("<ul><li>"));
  EXPECT_THAT(text, HasSubstr("</li><li>"));
  EXPECT_EQ(text.find("<b>"), text.rfind("<b>"));
  EXPECT_LT(text.find("<b>"), text.find("</b>"));
}

TEST_F(Serve, TranslatesTheSentencesBehindATagIntoItsLanguage) {
  const std::string model = TRANSMUTE_TEST_DATA "/formats/marian";
  const Translator library(model);
  const auto into = [&](const std::string& language) {
    TranslationOptions options;
    options.search = library.default_search();
    options.target_language = language;
    return library.translate_batch({"He is old."}, options).front();
  };
  const auto score = [](const Translation& translation) { return translation.hypotheses.front().score; };
  const Translation german = into("deu"), dutch = into("nld");
  ASSERT_NE(score(german), score(dutch));
  RunningServe server({"--model", "en:de/deu=" + model, "--threads", "1"});
  Client client(server.port());
  const auto last_segment = [&](const Json& text, const std::string& format = "text") {
    const Answer answer = client.post("/v1/translate", v1_request({{"text", text}, {"format", format}}).dump());
    EXPECT_EQ(answer.status, 200) << answer.body;
    return parse_json(answer.body)["translations"].back()["segments"].back();
  };
  for (const char* format : {"text", "tags", "html"}) {
    const Json segment = last_segment(">>nld<< A man. He is old.", format);
    EXPECT_EQ(segment["hypotheses"][0]["score"], score(dutch)) << format;
    EXPECT_EQ(segment["source"], "He is old.");
    EXPECT_EQ(segment["source_tokens"], Json(dutch.source_tokens));
    EXPECT_EQ(last_segment("A man. He is old.", format)["hypotheses"][0]["score"], score(german)) << format;
  }
  EXPECT_EQ(last_segment(">>nld<< A man.\nHe is old.")["hypotheses"][0]["score"], score(dutch));
  EXPECT_EQ(last_segment("<p>&gt;&gt;nld&lt;&lt; A man.</p><p>He is old.</p>", "html")["hypotheses"][0]["score"],
            score(dutch));
  EXPECT_EQ(last_segment(">>nld<< A man.\n>>deu<< A dog.\nHe is old.")["hypotheses"][0]["score"], score(german));
  EXPECT_EQ(last_segment({">>nld<< A man.", "He is old."})["hypotheses"][0]["score"], score(german)) << "another text";
  EXPECT_EQ(last_segment(">>xyz<< A man. He is old.")["hypotheses"][0]["score"], score(german)) << "an unknown one";
}

// The events of a stream as "name data".
std::vector<std::pair<std::string, Json>> events_of(const std::string& stream) {
  std::vector<std::pair<std::string, Json>> events;
  std::istringstream lines(stream);
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("event: ", 0) == 0) name = line.substr(7);
    if (line.rfind("data: ", 0) == 0) events.emplace_back(name, parse_json(line.substr(6)));
  }
  return events;
}

TEST_F(Serve, StreamsATranslationThatOnlyGrows) {
  const Answer answer = Client(server_->port()).post("/v1/translate", v1_request({{"stream", true}}).dump());
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("content-type"), "text/event-stream");
  const auto events = events_of(answer.body);
  ASSERT_GE(events.size(), 2U);
  std::string before;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_EQ(events[i].first, "text");
    EXPECT_EQ(schemas_->fault_by_name(events[i].second, "V1TextEvent"), "");
    const auto text = events[i].second["text"].get<std::string>();
    EXPECT_THAT(text, StartsWith(before));
    before = text;
  }
  EXPECT_EQ(events.back().first, "done");
  EXPECT_EQ(schemas_->fault_by_name(events.back().second, "V1Answer"), "");
  EXPECT_EQ(events.back().second, post("/v1/translate", v1_request({{"guard", "warn"}})));
}

TEST_F(Serve, StreamsSentencesAndLinesInTheirOrder) {
  const std::string three = std::string(kText) + "\n" + kText + " " + kText + "\n\n" + kText;
  const Json request = v1_request({{"stream", true}, {"text", three}});
  const Answer answer = Client(server_->port()).post("/v1/translate", request.dump());
  ASSERT_EQ(answer.status, 200);
  const auto events = events_of(answer.body);
  ASSERT_GE(events.size(), 2U);
  std::string before;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    const auto text = events[i].second["text"].get<std::string>();
    EXPECT_THAT(text, StartsWith(before));
    EXPECT_NE(text, before);
    before = text;
  }
  EXPECT_THAT(events.back().second["translations"][0]["text"].get<std::string>(), StartsWith(before));
}

TEST_F(Serve, AgreesWithItsDescriptionOnWhichRequestsAreValid) {
  const Json& schema = schemas_->of_request("/v1/translate");
  const Json& members = schemas_->document()["components"]["schemas"]["V1Request"]["properties"];
  std::vector<Json> requests;
  const auto try_values = [&](const std::string& name, const std::vector<Json>& values) {
    for (const Json& value : values) requests.push_back(v1_request({{name, value}}));
  };
  for (const auto& [name, member] : members.items()) {
    try_values(name, {Json(nullptr), Json::object(), Json::array({1}), 0.5, -1, "text", true});
    if (member.contains("minimum")) {
      const double step = member["type"] == "integer" ? 1 : 0.5;
      if (member["type"] == "integer") {
        const auto low = member["minimum"].get<int64_t>(), high = member["maximum"].get<int64_t>();
        try_values(name, {low, high, low - 1, high + 1});
      } else {
        const double low = member["minimum"], high = member["maximum"];
        try_values(name, {low, high, low - step, high + step});
      }
    }
  }
  for (const auto& [name, member] : schemas_->document()["components"]["schemas"]["Sampling"]["properties"].items())
    for (const Json& value : std::vector<Json>{member["minimum"], member["maximum"], -1, "x", 1e300})
      requests.push_back(v1_request({{"sampling", {{name, value}}}}));
  requests.push_back(v1_request({{"unknown", 1}}));
  requests.push_back({{"text", "a"}, {"source", "en"}});
  // Only the server can know these: languages, and members that exclude each other or count each other.
  const auto is_beyond_schemas = [](const Json& request) {
    return request["source"] != "en" || request.value("target", "") != "de" ||
           (request.contains("format") && request.contains("stream")) || request.contains("prefix");
  };
  Client client(server_->port());
  size_t checked = 0;
  for (Json request : requests) {
    // JSON's null means that a member is absent, in LibreTranslate's clients too.
    bool has_null = false;
    for (const auto& [name, value] : request.items()) has_null = has_null || value.is_null();
    if (has_null) continue;
    if (!request.contains("max_extra_length")) request["max_extra_length"] = 1;
    if (schemas_->fault(request, schema).empty() && is_beyond_schemas(request)) continue;
    const int status = client.post("/v1/translate", request.dump()).status;
    EXPECT_EQ(status, schemas_->fault(request, schema).empty() ? 200 : 400)
        << request.dump() << " " << schemas_->fault(request, schema);
    ++checked;
  }
  EXPECT_GT(checked, 100U);
}

TEST_F(Serve, SurvivesBodiesOfAllKinds) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  for (const std::string& body :
       {std::string(), std::string(100, '\0'), std::string("{\"q\":\"\xff\xfe\",\"source\":\"en\",\"target\":\"de\"}"),
        deep, std::string("{\"q\":\"a\",\"q\":1}"), std::string("null"), std::string("{\"q\":{}}")}) {
    const Answer answer = Client(server_->port()).post("/translate", body);
    EXPECT_EQ(answer.status, 400) << body.substr(0, 50);
    EXPECT_EQ(schemas_->fault_by_name(parse_json(answer.body), "Error"), "");
  }
  for (const char* text : {"a\\u0000b", "\\u202e\\ufeff", "\\ud83d\\ude00", " ", "\\n\\n"}) {
    const std::string body = std::string(R"({"q":")") + text + R"(","source":"en","target":"de"})";
    EXPECT_EQ(Client(server_->port()).post("/translate", body).status, 200) << text;
  }
  EXPECT_EQ(Client(server_->port()).post("/translate", std::string(2'000'000, 'x')).status, 413);
}

TEST_F(Serve, PutsNoTextIntoItsLogAndPassesRequestIdsOn) {
  Client client(server_->port());
  // Whatever the model says, its translation begins with words that nothing else in the log has.
  const Json request = v1_request({{"text", "zebra7"}, {"prefix", "das rote"}});
  const Answer answer = client.post("/v1/translate", request.dump(), "X-Request-Id: my-id.1\r\n");
  EXPECT_EQ(answer.headers.at("x-request-id"), "my-id.1");
  EXPECT_NE(client.get("/health", "X-Request-Id: bad id\r\n").headers.at("x-request-id"), "bad id");
  ASSERT_TRUE(server_->logs("my-id.1"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_THAT(parse_json(answer.body)["translations"][0]["text"].get<std::string>(), StartsWith("das rote"));
  for (const char* part : {"zebra7", "das rote", "\"texts\":", "\"answer\":"})
    EXPECT_THAT(server_->log(), Not(HasSubstr(part)));
  const Json entry = log_entry(server_->log(), "my-id.1");
  ASSERT_TRUE(entry.is_object());
  EXPECT_EQ(entry["status"], 200);
  EXPECT_EQ(entry["path"], "/v1/translate");
  EXPECT_EQ(entry["languages"], "en-de");
  EXPECT_GT(entry["seconds"], 0);
}

TEST_F(Serve, PutsNothingIntoItsLogThatARefusalQuotes) {
  Client client(server_->port());
  const std::string cut_off = R"({"api_key":"zebra8)";
  const std::string unknown = v1_request({{"source", "zebra8"}}).dump();
  int number = 0;
  for (const std::string& body : {cut_off, unknown}) {
    const std::string id = "refused-" + std::to_string(++number);
    EXPECT_EQ(client.post("/v1/translate", body, "X-Request-Id: " + id + "\r\n").status, 400);
    ASSERT_TRUE(server_->logs(id));
    EXPECT_EQ(log_entry(server_->log(), id)["status"], 400);
  }
  EXPECT_THAT(server_->log(), Not(HasSubstr("zebra8")));
  EXPECT_THAT(client.post("/v1/translate", cut_off).body, Not(HasSubstr("zebra8")));
}

TEST_F(Serve, NamesTheTextThatCannotBeTranslated) {
  std::string prefix;
  for (int i = 0; i < 9000; ++i) prefix += "das ";
  const Json request = v1_request({{"text", {"the red house", "the red house"}}, {"prefix", {"", prefix}}});
  EXPECT_THAT(post("/v1/translate", request, 400)["error"], HasSubstr("text 2: "));
  const Json unknown = v1_request({{"text", {"the red house", "the red house"}}, {"prefix", {"das", "☃"}}});
  EXPECT_THAT(post("/v1/translate", unknown, 400)["error"],
              HasSubstr("text 2: its target prefix \"☃\" has characters"));
}

TEST_F(Serve, LogsTextsAndTheirTranslationsWhereAsked) {
  RunningServe server(flags({"--threads", "1", "--log-texts"}));
  const Answer answer = Client(server.port())
                            .post("/v1/translate", v1_request({{"text", "zebra7"}, {"prefix", "das rote"}}).dump(),
                                  "X-Request-Id: my-id.2\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_TRUE(server.logs("my-id.2"));
  const Json entry = log_entry(server.log(), "my-id.2");
  ASSERT_TRUE(entry.contains("texts") && entry.contains("answer")) << server.log();
  EXPECT_EQ(entry["texts"], Json::array({"zebra7"}));
  EXPECT_EQ(entry["answer"], parse_json(answer.body));
}

TEST_F(Serve, CountsForPrometheus) {
  Client client(server_->port());
  client.post("/translate", R"({"q":"a","source":"en","target":"de"})");
  const Answer answer = client.get("/metrics");
  EXPECT_EQ(answer.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  for (const char* part :
       {"transmute_requests_total{route=\"/translate\",status=\"200\"} ", "transmute_request_seconds_bucket{",
        "transmute_batch_segments_count ", "transmute_queue_segments ", "transmute_running_segments ",
        "transmute_tokens_total{side=\"target\"} ", "transmute_connections ", "transmute_model_info{model=\"en-de\","})
    EXPECT_THAT(answer.body, HasSubstr(part));
  EXPECT_THAT(answer.body, Not(HasSubstr("/nowhere"))) << "a client must not make up labels";
}

TEST_F(Serve, StopsWorkingWhereTheClientLeaves) {
  RunningServe server(one_worker());
  {
    Client client(server.port());
    client.send(request_bytes("POST", "/v1/translate", slow_request(kWideBeam), "Content-Type: application/json\r\n"));
    ASSERT_TRUE(shows(server, "transmute_running_segments 1"));
  }
  ASSERT_TRUE(server.logs("\"status\":499"));
  EXPECT_THAT(server.log(), HasSubstr("the client has left"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Client(server.port()).post("/v1/translate", v1_request({{"max_extra_length", 1}}).dump()).status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "the only worker was still busy";
}

TEST_F(Serve, BoundsTheQueueTheTimeAndEachClient) {
  RunningServe server(one_worker(
      {"--batch-size", "1", "--max-queue", "2", "--max-requests-per-client", "4", "--request-seconds", "5"}));
  const auto head = "Content-Type: application/json\r\n";
  Client client(server.port());
  std::vector<std::unique_ptr<Client>> busy;
  for (int i = 0; i < 3; ++i) {  // one is worked on, two wait
    busy.push_back(std::make_unique<Client>(server.port()));
    busy.back()->send(request_bytes("POST", "/v1/translate", slow_request(kWideBeam), head));
    if (i == 0) {
      ASSERT_TRUE(shows(server, "transmute_running_segments 1"));
    }
  }
  ASSERT_TRUE(shows(server, "transmute_queue_segments 2"));
  const Answer full = client.post("/v1/translate", v1_request().dump());
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.headers.at("retry-after"), "1");
  const Answer never = client.post("/v1/translate", v1_request({{"text", "a\nb\nc"}}).dump());
  EXPECT_EQ(never.status, 413) << "three lines never fit into a queue of two";
  for (auto& waiting : busy) EXPECT_EQ(waiting->receive().status, 503) << "nothing may take longer than five seconds";
  EXPECT_EQ(client.post("/v1/translate", v1_request({{"text", std::string(100'001, 'x')}}).dump()).status, 400);
  EXPECT_EQ(client.post("/v1/translate", v1_request({{"max_extra_length", 1}}).dump()).status, 200);
  const Answer metrics = client.get("/metrics");
  EXPECT_THAT(metrics.body, HasSubstr("transmute_rejected_total{reason=\"queue\"} 1\n"));
}

TEST_F(Serve, BoundsTheRequestsOfAClient) {
  RunningServe server(one_worker({"--max-requests-per-client", "1", "--behind-proxy"}));
  const std::string json = "Content-Type: application/json\r\n";
  Client first(server.port()), second(server.port());
  first.send(
      request_bytes("POST", "/v1/translate", slow_request(kWideBeam), json + "X-Forwarded-For: 9.9.9.9, 10.0.0.1\r\n"));
  ASSERT_TRUE(shows(server, "transmute_running_segments 1"));
  const Answer same = second.post("/v1/translate", v1_request().dump(), "X-Forwarded-For: 10.0.0.1\r\n");
  EXPECT_EQ(same.status, 429);
  EXPECT_EQ(same.headers.at("retry-after"), "1");
  for (const char* also : {"10.0.0.1:4711", "::ffff:10.0.0.1"})
    EXPECT_EQ(
        second.post("/v1/translate", v1_request().dump(), "X-Forwarded-For: " + std::string(also) + "\r\n").status, 429)
        << also;
  first.close();
  EXPECT_EQ(second.post("/v1/translate", v1_request().dump(), "X-Forwarded-For: 10.0.0.2\r\n").status, 200);
}

// A few characters of no language can take as long as a book.
TEST_F(Serve, BoundsTheTokensOfARequest) {
  RunningServe server(flags({"--max-tokens", "200"}));
  Client client(server.port());
  const auto status = [&](const std::string& text, const Json& more = Json::object()) {
    Json request = v1_request(more);
    request["text"] = text;
    const Answer answer = client.post("/v1/translate", request.dump());
    if (answer.status == 413) {
      EXPECT_THAT(answer.body, HasSubstr("a request may have 200 (--max-tokens)"));
    }
    return answer.status;
  };
  std::string brackets, thousand;
  for (int i = 0; i < 50; ++i) brackets += "( ";
  for (int i = 0; i < 500; ++i) thousand += "( ";
  EXPECT_EQ(status(brackets), 200);
  EXPECT_EQ(status(thousand), 413);
  EXPECT_EQ(status(brackets, {{"beam_size", 32}}), 413);
  EXPECT_EQ(status(brackets, {{"max_extra_length", 500}}), 413);
  EXPECT_EQ(status("a", {{"beam_size", 32}}), 200);
  EXPECT_EQ(client.post("/translate", Json{{"q", thousand}, {"source", "en"}, {"target", "en"}}.dump()).status, 200)
      << "nothing to translate";
}

TEST_F(Serve, AsksForKeys) {
  const TemporaryFolder folder;
  const Outcome hashed = run_program_with({"sha256sum"}, "secret-of-alice");
  write_text(folder / "keys", hashed.output.substr(0, 64) + " alice\n");
  RunningServe server(flags({"--api-keys", folder / "keys"}));
  Client client(server.port());
  const Json request{{"q", kText}, {"source", "en"}, {"target", "de"}};
  EXPECT_EQ(client.post("/translate", request.dump()).status, 403);
  EXPECT_EQ(client.post("/translate", request.dump(), "Authorization: Bearer wrong\r\n").status, 403);
  EXPECT_EQ(client.post("/translate", request.dump(), "Authorization: Bearer secret-of-alice\r\n").status, 200);
  EXPECT_EQ(client.post("/translate", request.dump(), "Authorization: bearer secret-of-alice\r\n").status, 200);
  Json with_key = request;
  with_key["api_key"] = "secret-of-alice";
  EXPECT_EQ(client.post("/translate", with_key.dump()).status, 200);
  EXPECT_EQ(client.post("/detect", R"({"q":"a"})").status, 403);
  EXPECT_EQ(client.get("/languages").status, 200);
  EXPECT_EQ(parse_json(client.get("/frontend/settings").body)["keyRequired"], true);
  EXPECT_TRUE(server.logs("\"key\":\"alice\""));
  EXPECT_THAT(server.log(), Not(HasSubstr("secret-of-alice")));
  write_text(folder / "keys", "# nobody\n");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.logs("\"event\":\"reload\",\"result\":\"done\""));
  EXPECT_EQ(client.post("/translate", with_key.dump()).status, 403);
  EXPECT_TRUE(server.logs("keys has no keys: every request will be refused"));
}

TEST_F(Serve, ReloadsModelsWithoutLosingARequest) {
  TinyModelFolder folder(5);
  RunningServe server({"--model", "en-de=" + folder.path(), "--threads", "2"});
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  Client client(server.port());
  const std::string before = client.post("/translate", request).body;
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&] {
      Client mine(server.port());
      while (!stop) ++(mine.post("/translate", request).status == 200 ? answered : failed);
    });
  folder.replace(6);
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("\"event\":\"reload\",\"result\":\"done\""));
  stop = true;
  for (auto& thread : clients) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 0);
  const std::string after = client.post("/translate", request).body;
  EXPECT_NE(after, before);
  write_text(folder.path() + "/weights.safetensors", "damaged");
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("failed; what was read before stays"));
  EXPECT_EQ(client.post("/translate", request).body, after);
}

TEST_F(Serve, ListsItsLanguagesWhileItReloads) {
  std::vector<std::string> words{"--threads", "1", "--quiet"};
  for (char letter = 'a'; letter <= 'z'; ++letter)  // one model, and a list that takes a while
    words.insert(words.end(),
                 {"--model", std::string("en/eng_Latn:q") + letter + "/deu_Latn=" TRANSMUTE_TEST_DATA "/formats/nllb"});
  RunningServe server(words);
  const std::string before = Client(server.port()).get("/languages").body;
  std::atomic<bool> stop{false};
  std::atomic<int> same{0}, other{0};
  std::thread client([&] {
    Client mine(server.port());
    while (!stop && other == 0) ++(mine.get("/languages").body == before ? same : other);
  });
  for (int i = 0; i < 100 && other == 0; ++i) {
    server.signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  stop = true;
  client.join();
  EXPECT_GT(same, 0);
  EXPECT_EQ(other, 0);
}

TEST_F(Serve, RefusesAKeyThatWasTakenOutEvenWhereTheModelsCannotBeReadAgain) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  write_text(folder / "keys", "# nobody\n");
  write_text(model.path() + "/weights.safetensors", "damaged");
  server.signal(SIGHUP);
  ASSERT_TRUE(server.logs("\"result\":\"failed; what was read before stays\",\"what\":\"models\""));
  EXPECT_TRUE(server.logs("\"result\":\"done\",\"what\":\"API keys\""));
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 403);
}

TEST_F(Serve, OpensTheModelsAgainWhereItsKeysCannotBeRead) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  write_text(folder / "keys", "nonsense\n");
  server.signal(SIGHUP);
  EXPECT_TRUE(server.logs("\"result\":\"failed; what was read before stays\",\"what\":\"API keys\""));
  EXPECT_TRUE(server.logs("\"result\":\"done\",\"what\":\"models\""));
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 200);
}

// A key that is taken out while models are read must not stay valid until somebody asks once more.
TEST_F(Serve, ReadsAgainWhatChangedWhileItRead) {
  const TinyModelFolder model(5);
  const TemporaryFolder folder;
  write_text(folder / "keys", run_program_with({"sha256sum"}, "secret").output.substr(0, 64) + " alice\n");
  RunningServe server({"--model", "en-de=" + model.path(), "--threads", "1", "--api-keys", folder / "keys"});
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}, {"api_key", "secret"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request).status, 200);
  for (int i = 0; i < 20; ++i) server.signal(SIGHUP);
  write_text(folder / "keys", "# nobody\n");
  server.signal(SIGHUP);
  int status = 200;
  for (int i = 0; i < 500 && status == 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = Client(server.port()).post("/translate", request).status;
  }
  EXPECT_EQ(status, 403);
}

// It reads its keys from a pipe, where it waits until the test has sent the signal.
TEST_F(Serve, ReloadsOnceItListensWhereItWasAskedToWhileItStarted) {
  const TemporaryFolder folder;
  const std::string script = R"(mkfifo "$3/keys"
"$1" --model "$2" --threads 1 --port 0 --api-keys "$3/keys" >"$3/out" 2>"$3/log" &
{ kill -HUP $!; echo "# nobody"; } >"$3/keys"
until grep -q http "$3/out"; do sleep 0.05; done
echo "# nobody" >"$3/keys"
until grep -q '"event":"reload","result":"done"' "$3/log"; do sleep 0.05; done
kill -TERM $!
wait $!)";
  const std::string program = std::string(TRANSMUTE_PROGRAMS) + "/serve", model = "en-de=" + folder_->path();
  const Outcome outcome = run_program_with({"timeout", "60", "sh", "-c", script, "sh", program, model, folder.path()});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors << read_text(folder / "log");
}

// The same happens as process 1 of a container, which the system protects from signals that it does not handle.
TEST_F(Serve, EndsWhereAContainerIsStoppedWhileItStarts) {
  if (run_program_with({"unshare", "--pid", "--fork", "true"}).exit_code != 0)
    GTEST_SKIP() << "this process may not make another PID namespace";
  const TemporaryFolder folder;
  const std::string script = R"(mkfifo "$3/keys"
unshare --pid --fork --kill-child "$1" --model "$2" --threads 1 --port 0 --api-keys "$3/keys" &
exec 3>"$3/keys"
kill -TERM $(cat /proc/$!/task/$!/children)
wait $!)";
  const std::string program = std::string(TRANSMUTE_PROGRAMS) + "/serve", model = "en-de=" + folder_->path();
  const Outcome outcome = run_program_with({"timeout", "20", "sh", "-c", script, "sh", program, model, folder.path()});
  EXPECT_EQ(outcome.exit_code, 128 + SIGTERM) << outcome.errors;
}

TEST_F(Serve, LogsAgainAfterALineCouldNotBeWritten) {
  const TemporaryFolder folder;
  const std::string log = folder / "log";
  ASSERT_EQ(::mkfifo(log.c_str(), 0600), 0);
  const auto open_log = [&] { return ::open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); };
  const int first = open_log();
  RunningServe server(flags({"--threads", "1"}), log);
  Client client(server.port());
  ::close(first);
  EXPECT_EQ(client.get("/health").status, 200) << "whose line nobody reads";
  const int second = open_log();
  EXPECT_EQ(client.get("/health", "X-Request-Id: my-id.3\r\n").status, 200);
  std::string text(4096, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, ::read(second, text.data(), text.size()))));
  ::close(second);
  EXPECT_THAT(text, HasSubstr("my-id.3"));
}

TEST_F(Serve, NamesTheClientBehindTheProxyInItsLog) {
  RunningServe server(flags({"--threads", "1", "--behind-proxy"}));
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  EXPECT_EQ(Client(server.port()).post("/translate", request, "X-Forwarded-For: 9.9.9.9, 192.0.2.7\r\n").status, 200);
  EXPECT_TRUE(server.logs("\"client\":\"192.0.2.7\""));
}

TEST_F(Serve, ReadsHeadersAsHttpHasThem) {
  RunningServe server(flags());
  Client client(server.port());
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  EXPECT_EQ(client.post("/translate", request, "", "APPLICATION/JSON").status, 200);
  const Answer compressed = client.post("/translate", request, "Content-Encoding: gzip\r\n");
  EXPECT_EQ(compressed.status, 415);
  EXPECT_THAT(compressed.body, HasSubstr("Content-Encoding gzip"));
  ASSERT_TRUE(client.send(request_bytes("POST", "/translate", request)));  // without a type
  EXPECT_EQ(client.receive().status, 200);
  ASSERT_TRUE(client.send(request_bytes("GET", "http://a.example/health?x=1")));
  EXPECT_EQ(client.receive().status, 200);
  ASSERT_TRUE(client.send(request_bytes("OPTIONS", "/nowhere")));
  EXPECT_EQ(client.receive().status, 404);
  ASSERT_TRUE(client.send(request_bytes("OPTIONS", "/translate")));
  const Answer preflight = client.receive();
  EXPECT_EQ(preflight.status, 204);
  EXPECT_EQ(preflight.headers.count("content-length"), 0U);
}

TEST_F(Serve, RefusesAlignmentsThatWouldFillTheMemory) {
  std::string words;
  for (int i = 0; i < 8000; ++i) words += "a ";
  const Json long_line = v1_request({{"text", words}, {"alignments", true}});
  EXPECT_THAT(post("/v1/translate", long_line, 413)["error"], HasSubstr("alignments of so much text"));
  const Json short_lines = v1_request({{"text", std::vector<std::string>(600, "a")},
                                       {"alignments", true},
                                       {"num_hypotheses", 32},
                                       {"max_extra_length", 500}});
  EXPECT_THAT(post("/v1/translate", short_lines, 413)["error"], HasSubstr("alignments of so much text"))
      << "each translation may have 500 tokens more than its text";
  std::string parts;
  for (int i = 0; i < 1700; ++i) parts += "a ";
  const Json long_parts =
      v1_request({{"text", parts}, {"alignments", true}, {"min_length", 500}, {"max_extra_length", 500}});
  EXPECT_THAT(post("/v1/translate", long_parts, 413)["error"], HasSubstr("alignments of so much text"))
      << "each part of a long text may have 500 more";
  const Json long_prefix =
      v1_request({{"text", parts.substr(0, 2800)}, {"prefix", words}, {"alignments", true}, {"max_extra_length", 0}});
  EXPECT_THAT(post("/v1/translate", long_prefix, 413)["error"], HasSubstr("alignments of so much text"));
  std::string name(1000, 'x');
  const std::string error = post("/v1/translate", v1_request({{name, 1}}), 400)["error"];
  EXPECT_THAT(error, HasSubstr("its name has 1000 bytes"));
}

TEST_F(Serve, TranslatesByWayOfAPivotOnlyWhereAsked) {
  const TinyModelFolder second(6);
  const std::vector<std::string> models{"--model", "fr-en=" + folder_->path(), "--model", "en-de=" + second.path()};
  const Json request{{"q", kText}, {"source", "fr"}, {"target", "de"}};
  {
    RunningServe server(models);
    EXPECT_EQ(Client(server.port()).post("/translate", request.dump()).status, 400);
  }
  std::vector<std::string> with_pivot = models;
  with_pivot.insert(with_pivot.end(), {"--pivot", "en"});
  RunningServe server(with_pivot);
  const Answer answer = Client(server.port()).post("/translate", request.dump());
  EXPECT_EQ(parse_json(answer.body)["translatedText"], Translator(second.path()).translate(translated(kText)));
  EXPECT_THAT(Client(server.port()).get("/languages").body, HasSubstr(R"("targets":["de","en","fr"])"));
}

TEST_F(Serve, LosesNoAcceptedRequestWhenItIsTerminated) {
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  for (int round = 0; round < 5; ++round) {
    RunningServe server(flags({"--quiet"}));
    std::atomic<int> answered{0}, lost{0};
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i)
      clients.emplace_back([&] {
        try {
          while (true) {
            Client client(server.port());  // throws once nobody listens any more
            if (!client.send(request_bytes("POST", "/translate", request, "Content-Type: application/json\r\n")))
              return;
            ++(client.receive().status == 200 ? answered : lost);
          }
        } catch (const std::runtime_error&) {
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 30 * round));
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
    for (auto& thread : clients) thread.join();
    EXPECT_GT(answered, 0);
    EXPECT_EQ(lost, 0) << "of " << answered + lost << " in round " << round;
  }
}

TEST_F(Serve, IsAliveButNotReadyWhileItDrains) {
  RunningServe server(one_worker({"--request-seconds", "2"}));
  Client busy(server.port()), probe(server.port());
  busy.send(request_bytes("POST", "/v1/translate", slow_request(), "Content-Type: application/json\r\n"));
  EXPECT_EQ(probe.get("/health/ready").status, 200);
  server.signal(SIGTERM);
  ASSERT_TRUE(server.logs("\"event\":\"draining\""));
  EXPECT_EQ(probe.get("/health/ready").status, 503);
  EXPECT_NE(busy.receive().status, 0) << "its request was accepted";
  EXPECT_EQ(server.wait(), 0);
}

TEST_F(Serve, EndsAfterItsTimeToDrain) {
  RunningServe server(one_worker({"--drain-seconds", "0.2"}));
  Client busy(server.port());
  busy.send(request_bytes("POST", "/v1/translate", slow_request(kWideBeam), "Content-Type: application/json\r\n"));
  ASSERT_TRUE(shows(server, "transmute_running_segments 1"));
  const auto begin = std::chrono::steady_clock::now();
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15)) << "the default is 30";
  EXPECT_NE(busy.receive().status, 200) << "the request was to take longer";
}

TEST(ServeUsage, NamesWhatIsWrong) {
  const auto errors = [](const std::vector<std::string>& flags, int code) {
    std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/serve"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Outcome outcome = run_program_with(words);
    EXPECT_EQ(outcome.exit_code, code) << outcome.errors;
    return outcome.errors;
  };
  EXPECT_THAT(errors({}, 2), HasSubstr("--model"));
  EXPECT_THAT(errors({"--model", "en-de=/nowhere"}, 1), HasSubstr("/nowhere"));
  EXPECT_THAT(errors({"--model", "english=/nowhere"}, 2), HasSubstr("write en-de=FOLDER"));
  EXPECT_THAT(errors({"--model", "/nowhere"}, 1), HasSubstr("/nowhere: no such model folder"));
  EXPECT_THAT(errors({"--model", "/etc/passwd"}, 1), HasSubstr("/etc/passwd: no model"));
  const TinyModelFolder folder;
  EXPECT_THAT(errors({"--model", folder.path()}, 2), HasSubstr("--model en-de="));
  const std::string model = "en-de=" + folder.path();
  EXPECT_THAT(errors({"--model", model, "--model", model}, 2), HasSubstr("two models are given for en-de"));
  EXPECT_THAT(errors({"--model", model, "--pivot", "de"}, 2),
              HasSubstr("--pivot de: a model into this language and one from it are needed"));
  EXPECT_THAT(errors({"--model", model, "--api-keys", ""}, 2), HasSubstr("--api-keys: needs the name of a file"));
  EXPECT_THAT(errors({"--model", model, "--address", "example.org"}, 2), HasSubstr("is not an IP address"));
  EXPECT_THAT(errors({"--model", model, "--max-queue", "0"}, 2), HasSubstr("--max-queue: must be at least 1, not 0"));
  for (const char* number : {"1e3", "0.5"})
    EXPECT_THAT(errors({"--model", model, "--max-texts", number}, 2),
                HasSubstr("--max-texts: needs a whole number, not '" + std::string(number) + "'"));
  for (const char* seconds : {"1e10", "0", "1e-9"})
    EXPECT_THAT(errors({"--model", model, "--idle-seconds", seconds}, 2),
                HasSubstr("--idle-seconds: must be a number from 0.001 to 1000000000, not"));
}

}  // namespace
}  // namespace transmute::testing
