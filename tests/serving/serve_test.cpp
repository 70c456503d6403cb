// SPDX-License-Identifier: Apache-2.0
// The program serve as its clients see it: a real process, plain sockets, an untrained model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/serving/client.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/serve_fixture.h>
#include <transmute/tests/serving/tiny_model_folder.h>
#include <transmute/translation/translator.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

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
  EXPECT_EQ(post("/detect", {{"q", page}})[0]["language"], "en");
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
  EXPECT_EQ(file.headers["content-disposition"], "attachment; filename=\"a_de.srt\"; filename*=UTF-8''a_de.srt");
  Answer document = client.post("/v1/documents", file_form("a.srt", times + kText + "\n"), "", type);
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.body, file.body);
  EXPECT_EQ(document.headers["content-type"], "application/x-subrip");
  EXPECT_EQ(document.headers["content-disposition"], file.headers["content-disposition"]);
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

TEST_F(Serve, TellsTheNameAndTheCharsetOfAFile) {
  Client client(server_->port());
  const auto headers = [&](const std::string& name) {
    return client.post("/v1/documents", file_form(name, kText), "", "multipart/form-data; boundary=b").headers;
  };
  EXPECT_EQ(headers("M\u00E4rz it''s.txt").at("content-disposition"),
            "attachment; filename=\"M_rz it__s_de.txt\"; filename*=UTF-8''M%C3%A4rz%20it%27%27s_de.txt");
  const auto injected = headers("x\"; filename*=UTF-8''%22a%22%0D%0ASet-Cookie:%20b.txt; x=\"");
  EXPECT_EQ(
      injected.at("content-disposition"),
      "attachment; filename=\"_a___Set-Cookie: b_de.txt\"; filename*=UTF-8''%22a%22%0D%0ASet-Cookie%3A%20b_de.txt");
  EXPECT_EQ(injected.count("set-cookie"), 0U);
  EXPECT_EQ(headers("a.txt").at("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(headers("a.html").at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(headers("a.properties").at("content-type"), "text/x-java-properties") << "may be in ISO-8859-1";
}

TEST_F(Serve, NamesTheAddressOfAFileByTheProxysHeaders) {
  RunningServe server(flags({"--behind-proxy"}));
  const auto address = [](const RunningServe& at, const std::string& headers) {
    const Answer answer = Client(at.port()).post("/translate_file", file_form("a.txt", kText), headers,
                                                 "multipart/form-data; boundary=b");
    const std::string url = parse_json(answer.body)["translatedFileUrl"];
    return url.substr(0, url.find("/download_file/"));
  };
  const std::string host = "X-Forwarded-Host: example.org:8443, 10.0.0.1\r\n";
  const std::string rest = "X-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /mt/\r\n";
  EXPECT_EQ(address(server, host + rest), "https://example.org:8443/mt");
  EXPECT_EQ(address(server, "X-Forwarded-Host: a/b@c\"\r\nX-Forwarded-Prefix: m\"<t\r\n"), "http://abc/mt");
  EXPECT_EQ(address(server, ""), "http://localhost");
  EXPECT_EQ(address(*server_, host + rest), "http://localhost") << "without --behind-proxy anybody could send them";
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
  EXPECT_EQ(Json::parse(client.get("/spec").body)["info"]["title"], "LibreTranslate") << "as Dialect expects";
  EXPECT_EQ(Json::parse(client.get("/openapi.json").body)["info"]["title"], "transmute serve");
  // deep-translator has the text in the address.
  EXPECT_EQ(client.post("/translate?q=a&source=en&target=de&more=" + std::string(60'000, 'a'), "", "", "").status, 200);
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
  const Answer unknown = client.post("/v1/translate", v1_request({{"text", ">>xyz<< A man."}}).dump());
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(unknown.body, HasSubstr("its tag >>xyz<< names no language of the model, which has deu, nld"));
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
  EXPECT_EQ(answer.headers.at("content-type"), "text/event-stream; charset=utf-8");
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
    try_values(name, {Json(nullptr), Json::object(), Json::array({1}), 0.5, -1, "text", "", true});
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

TEST_F(Serve, NamesTheTextThatCannotBeTranslated) {
  std::string prefix;
  for (int i = 0; i < 9000; ++i) prefix += "das ";
  const Json request = v1_request({{"text", {"the red house", "the red house"}}, {"prefix", {"", prefix}}});
  EXPECT_THAT(post("/v1/translate", request, 400)["error"], HasSubstr("text 2: "));
  const Json unknown = v1_request({{"text", {"the red house", "the red house"}}, {"prefix", {"das", "☃"}}});
  EXPECT_THAT(post("/v1/translate", unknown, 400)["error"],
              HasSubstr("text 2: its target prefix \"☃\" has characters"));
}

TEST_F(Serve, ReadsHeadersAsHttpHasThem) {
  RunningServe server(flags());
  Client client(server.port());
  const std::string request = Json{{"q", kText}, {"source", "en"}, {"target", "de"}}.dump();
  EXPECT_EQ(client.post("/translate", request, "", "APPLICATION/JSON").status, 200);
  for (const char* path : {"/translate", "/v1/translate"}) {
    const Answer compressed = client.post(path, "\x1f\x8b", "Content-Encoding: gzip\r\n");
    EXPECT_EQ(compressed.status, 415) << path;
    EXPECT_THAT(compressed.body, HasSubstr("Content-Encoding gzip"));
  }
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
  const auto warnings_with = [&](const char* guard) {
    const Json body{{"text", "the 😀 train"}, {"source", "fr"}, {"target", "de"}, {"protect", "none"}, {"guard", guard}};
    const Answer of_v1 = Client(server.port()).post("/v1/translate", body.dump());
    return parse_json(of_v1.body)["translations"][0]["segments"][0]["warnings"];
  };
  EXPECT_FALSE(warnings_with("warn").empty());
  EXPECT_EQ(warnings_with("off"), Json::array()) << "not from the first model, which drops the emoji, either";
  std::string ligatures;  // of 3 bytes and 6 tokens each
  for (int i = 0; i < 500; ++i) ligatures += "\uFDFA";
  const Json aligned{{"text", ligatures}, {"source", "fr"}, {"target", "de"}, {"alignments", true}};
  EXPECT_EQ(Client(server.port()).post("/v1/translate", aligned.dump()).status, 413);
}

}  // namespace
}  // namespace transmute::testing
