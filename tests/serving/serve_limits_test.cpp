// SPDX-License-Identifier: Apache-2.0
// The limits, keys, metrics and log of serve, as clients and operators see them.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <transmute/common/json.h>
#include <transmute/tests/serving/client.h>
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/serving/serve_fixture.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/sanitizers.h>
#include <transmute/tests/support/subprocess.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The entry of the log for the request with this id; null where there is none.
Json log_entry(const std::string& log, const std::string& id) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (const Json entry = parse_json(line); entry.value("id", "") == id) return entry;
  return nullptr;
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
  for (const char* text : {"\\u202e\\ufeff", "\\ud83d\\ude00", " ", "\\n\\n"}) {
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
        "transmute_batch_segments_count ", "transmute_queue_segments ", "transmute_queue_requests ",
        "transmute_running_segments ", "transmute_tokens_total{side=\"target\"} ", "transmute_connections ",
        "transmute_model_info{model=\"en-de\","})
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
  EXPECT_THAT(never.body, HasSubstr("the texts have 3 sentences; a request may have 2 (--max-queue)"));
  for (auto& waiting : busy) {
    const Answer late = waiting->receive();
    EXPECT_EQ(late.status, 503) << "nothing may take longer than five seconds";
    EXPECT_THAT(late.body, HasSubstr("took too long (--request-seconds)"));
  }
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
  std::string brackets, thousand, ligatures;
  for (int i = 0; i < 50; ++i) brackets += "( ";
  for (int i = 0; i < 60; ++i) ligatures += "\uFDFA";
  for (int i = 0; i < 500; ++i) thousand += "( ";
  EXPECT_EQ(status(brackets), 200);
  EXPECT_EQ(status(thousand), 413);
  EXPECT_EQ(status(ligatures), 413) << "180 bytes are 1980 once they are normalized, and 362 tokens";
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

TEST_F(Serve, KeepsNoMemoryOfLargeAlignments) {
#ifndef __GLIBC__
  GTEST_SKIP() << "needs glibc's malloc";
#endif
  if (kHasSanitizer) GTEST_SKIP() << "a sanitizer's heap keeps what is freed";
  const RunningServe server(one_worker());
  std::string tagged, words;
  for (int i = 0; i < 3000; ++i) tagged += "<b>a</b> ";
  for (int i = 0; i < 950; ++i) words += "a ";
  const Json one{{"text", tagged}, {"format", "tags"}};
  const Json several{{"text", std::vector<std::string>(2, words)}, {"alignments", true}, {"split_sentences", false}};
  const int64_t before = server.resident_bytes();
  constexpr int64_t kMegabyte = int64_t{1} << 20;
  // The answer to the second one has 45 MB, which the network's thread frees later.
  for (const auto& [members, most] : {std::pair(one, 40 * kMegabyte), std::pair(several, 150 * kMegabyte)}) {
    Json request = v1_request({{"max_extra_length", 0}, {"beam_size", 1}});
    request.update(members);
    ASSERT_EQ(Client(server.port()).post("/v1/translate", request.dump()).status, 200);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (server.resident_bytes() - before > most && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_LT(server.resident_bytes() - before, most);
  }
}

}  // namespace
}  // namespace transmute::testing
