// SPDX-License-Identifier: Apache-2.0
// The server's side of HTTP against clients that send what they should not, by a handler that echoes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/serving/http_server.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(AServer, AnswersRequestsOneAfterTheOtherOnOneConnection) {
  EXPECT_EQ(client_.get("/echo?a=b").body, "GET a=b ");
  EXPECT_EQ(client_.post("/echo", "text").body, "POST  text");
  EXPECT_EQ(client_.get("/echo").headers.count("connection"), 0U);
}

TEST_F(AServer, AnswersPipelinedRequestsInOrder) {
  std::string all;
  for (int i = 0; i < 50; ++i) all += request_bytes("POST", "/echo", "number " + std::to_string(i));
  ASSERT_TRUE(client_.send(all));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client_.receive().body, "POST  number " + std::to_string(i));
}

TEST_F(AServer, ReadsChunkedBodiesAndRequestsThatComeByteByByte) {
  for (const char byte : std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                                     "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"))
    ASSERT_TRUE(client_.send(std::string(1, byte)));
  EXPECT_EQ(client_.receive().body, "POST  abcde");
}

TEST_F(AServer, TakesNoHeaderFromATrailer) {
  client_.send(
      "POST /kept HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n"
      "3\r\nabc\r\n0\r\nX-Forwarded-For: 9.9.9.9\r\nAuthorization: Bearer x\r\n\r\n");
  const auto exchange = next_kept();
  EXPECT_EQ(exchange->request().body, "abc");
  EXPECT_EQ(exchange->request().header("x-forwarded-for"), "1.2.3.4");
  EXPECT_EQ(exchange->request().header("authorization"), "");
  exchange->respond({200, "text/plain", "done"});
  EXPECT_EQ(client_.receive().body, "done");
}

// The amount that the client has not taken counts, not the size of one piece.
TEST_F(AServer, StreamsAPieceThatIsLargerThanWhatMayWait) {
  EXPECT_EQ(client_.get("/pieces").body, "a" + std::string(500'000, 'x') + "bc");
}

TEST_F(AServer, AnswersExpectContinueBeforeTheBody) {
  client_.send("POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_THAT(client_.receive_until("\r\n\r\n").value_or(""), HasSubstr("100 Continue"));
  client_.send("body");
  EXPECT_EQ(client_.receive().body, "POST  body");
}

TEST_F(AServer, SaysNothingOfContinuingToHttp10) {
  client_.send("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nbody");
  const Answer answer = client_.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "POST  body");
}

TEST_F(AServer, ReadsTargetsWithTheirScheme) {
  EXPECT_EQ(client_.get("http://example.org/echo?a").body, "GET a ");
  EXPECT_EQ(client_.get("HTTPS://example.org/echo?a=b://c").body, "GET a=b://c ");
  EXPECT_EQ(client_.get("/echo?a=http://b/c").body, "GET a=http://b/c ");
}

TEST_F(AServer, ClosesTheConnectionWhereTheClientAsksForIt) {
  EXPECT_EQ(client_.get("/echo", "Connection: close\r\n").headers["connection"], "close");
  EXPECT_TRUE(client_.is_closed_within(5));
}

TEST_F(AServer, PassesOverEmptyLinesBeforeARequest) {
  client_.send(request_bytes("POST", "/echo", "body") + "\r\n" + request_bytes("GET", "/echo") + "\r\n\r");
  EXPECT_EQ(client_.receive().body, "POST  body");
  EXPECT_EQ(client_.receive().body, "GET  ");
  client_.send("\n" + request_bytes("GET", "/echo?a"));
  EXPECT_EQ(client_.receive().body, "GET a ");
}

TEST_F(AServer, SendsNoBodyForHead) {
  client_.send(request_bytes("HEAD", "/echo"));
  EXPECT_THAT(client_.receive_until("\r\n\r\n").value_or(""), HasSubstr("Content-Length: 6\r\n"));
  EXPECT_EQ(client_.get("/echo").body, "GET  ") << "bytes of a body were left";
}

struct Hostile {
  const char* name;
  std::string bytes;
  int status;
};

class HostileRequests : public AServer, public ::testing::WithParamInterface<Hostile> {};

TEST_P(HostileRequests, GetTheirStatusAndTheServerServesOn) {
  client_.send(GetParam().bytes);
  const Answer answer = client_.receive();
  EXPECT_EQ(answer.status, GetParam().status);
  if (answer.status != 0) {
    EXPECT_EQ(answer.headers.at("connection"), "close");
    EXPECT_THAT(answer.body, HasSubstr("{\"error\":\""));
  }
  EXPECT_TRUE(client_.is_closed_within(5));
  EXPECT_EQ(Client(port()).get("/echo").status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileRequests,
    ::testing::Values(
        Hostile{"NoHttp", "hello server\r\n\r\n", 400},  //
        Hostile{"Tls", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15), 400},
        Hostile{"NulInTheLine", std::string("GET /e\0cho HTTP/1.1\r\n\r\n", 23), 400},
        Hostile{"NulInAHeader", std::string("GET /echo HTTP/1.1\r\nA: b\0c\r\n\r\n", 30), 400},
        Hostile{"NoColon", "GET /echo HTTP/1.1\r\nHost\r\n\r\n", 400},
        Hostile{"SpaceBeforeColon", "GET /echo HTTP/1.1\r\nHost : x\r\n\r\n", 400},
        Hostile{"NegativeLength", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        Hostile{"LengthIsNoNumber", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n\r\n", 400},
        Hostile{"LengthOverflows", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                400},
        Hostile{"TwoLengths", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
        Hostile{"LengthAndChunks",
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                400},
        Hostile{"BadChunk", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
        Hostile{"BodyIsAnnouncedTooLarge", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10001\r\n\r\n", 413},
        Hostile{"ChunksGrowTooLarge",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2711\r\n" +
                    std::string(10001, 'x') + "\r\n",
                413},
        Hostile{"HeadersTooLarge", "GET /echo HTTP/1.1\r\nA: " + std::string(5000, 'x') + "\r\n\r\n", 431},
        Hostile{"LineTooLong", "GET /" + std::string(5000, 'x') + " HTTP/1.1\r\n\r\n", 431},
        Hostile{"ManyHeaders",
                [] {
                  std::string text = "GET /echo HTTP/1.1\r\n";
                  for (int i = 0; i < 500; ++i) text += "A" + std::to_string(i) + ": b\r\n";
                  return text + "\r\n";
                }(),
                431},
        Hostile{"NoHost", "GET /echo HTTP/1.1\r\n\r\n", 400},
        Hostile{"TwoHosts", "GET /echo HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
        Hostile{"UnknownCoding", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        Hostile{"AlmostChunked", "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
        Hostile{
            "TwoCodings",
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            501},
        Hostile{"ChunksOfHttp10", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Hostile{"HeadersNeverEnd", "GET /echo HTTP/1.1\r\nHost: x\r\n", 408},
        Hostile{"BodyNeverEnds", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc", 408}),
    [](const auto& test) { return test.param.name; });

TEST_F(AServer, SurvivesClientsThatLeaveInTheMiddle) {
  for (const char* part : {"", "GE", "GET /echo HTTP/1.1\r\nHo", "POST /echo HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"})
    Client(port()).send(part);
  EXPECT_EQ(Client(port()).get("/echo").status, 200);
}

TEST_F(AServer, TellsTheHandlerThatItsClientHasLeft) {
  client_.send(request_bytes("POST", "/keep", "x"));
  const auto exchange = next_kept();
  EXPECT_FALSE(exchange->is_abandoned());
  client_.close();
  EXPECT_TRUE(is_abandoned_soon(*exchange));
  exchange->respond({});  // has no effect
}

TEST_F(AServer, NoticesAClientThatLeavesBehindFurtherBytes) {
  for (const std::string& behind : {std::string("\r\n"), request_bytes("GET", "/echo")}) {
    Client client(port());
    client.send(request_bytes("POST", "/keep", "x") + behind);
    const auto exchange = next_kept();
    EXPECT_FALSE(exchange->is_abandoned());
    client.close();
    EXPECT_TRUE(is_abandoned_soon(*exchange)) << behind;
  }
}

TEST_F(AServer, AnswersAllRequestsOfAClientThatSendsNoMore) {
  client_.send(request_bytes("GET", "/keep") + request_bytes("GET", "/keep") + request_bytes("GET", "/echo"));
  client_.end_sending();
  for (const char* answer : {"one", "two"}) {
    const auto exchange = next_kept();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_FALSE(exchange->is_abandoned());
    exchange->respond({200, "text/plain", answer});
    EXPECT_EQ(client_.receive().body, answer);
  }
  EXPECT_EQ(client_.receive().body, "GET  ");
  EXPECT_TRUE(client_.is_closed_within(5));
}

TEST_F(AServer, StreamsToAClientThatSendsNoMore) {
  client_.send(request_bytes("GET", "/pieces"));
  client_.end_sending();
  EXPECT_EQ(client_.receive().body, "a" + std::string(500'000, 'x') + "bc");
}

// HTTP/1.0 has no interim answers that would show whether it is still there.
TEST_F(AServer, TakesAClientOfHttp10ThatSendsNoMoreForGone) {
  client_.send("GET /keep HTTP/1.0\r\n\r\n");
  client_.end_sending();
  EXPECT_TRUE(is_abandoned_soon(*next_kept()));
}

TEST_F(AServer, AnswersWhatCameWhileARequestWasHandled) {
  client_.send(request_bytes("POST", "/keep", "x") + "\r\n");
  const auto exchange = next_kept();
  // The beginning of a request, then more than the buffer holds, and the rest after the answer.
  std::string all;
  for (int i = 0; i < 100; ++i) all += request_bytes("POST", "/echo", "number " + std::to_string(i));
  client_.send(all.substr(0, 50));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  client_.send(all.substr(50, 6000));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  exchange->respond({200, "text/plain", "kept"});
  EXPECT_EQ(client_.receive().body, "kept");
  client_.send(all.substr(6050));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client_.receive().body, "POST  number " + std::to_string(i));
}

TEST_F(AServer, StreamsInChunksFromAnotherThread) {
  client_.send(request_bytes("GET", "/stream"));
  const auto exchange = next_kept();
  exchange->begin_stream({200, "text/event-stream"});
  exchange->write("one ");
  EXPECT_THAT(client_.receive_until("one \r\n").value_or(""), HasSubstr("Transfer-Encoding: chunked"));
  exchange->write("two");
  exchange->end();
  EXPECT_EQ(client_.receive_until("0\r\n\r\n").value_or(""), "3\r\ntwo\r\n0\r\n\r\n");
  EXPECT_EQ(client_.get("/echo").status, 200) << "the connection stays usable";
}

TEST_F(AServer, WritesNoLineBreaksIntoHeaders) {
  client_.send(request_bytes("GET", "/keep"));
  HttpResponse response;
  response.headers = {{"X-Name", "a\r\nSet-Cookie: b"}};
  next_kept()->respond(std::move(response));
  const Answer answer = client_.receive();
  EXPECT_EQ(answer.headers.at("x-name"), "aSet-Cookie: b");
  EXPECT_EQ(answer.headers.count("set-cookie"), 0U);
}

TEST_F(AServer, FinishesWhatItHasAcceptedWhileItDrains) {
  Client busy(port()), idle(port()), late(port());
  busy.send(request_bytes("GET", "/keep"));
  const auto exchange = next_kept();
  server_->drain(20);
  late.send(request_bytes("GET", "/echo"));
  EXPECT_EQ(late.receive().headers["connection"], "close") << "a request on an open connection is still answered";
  EXPECT_TRUE(idle.is_closed_within(5));
  exchange->respond({200, "text/plain", "late"});
  EXPECT_EQ(busy.receive().body, "late");
  EXPECT_TRUE(busy.is_closed_within(5));
}

TEST(HttpServer, NamesTheAddressThatItCannotListenOn) {
  const HttpHandler none = [](auto) {};
  const HttpServer first("127.0.0.1", 0, {}, none);
  try {
    HttpServer second("127.0.0.1", first.port(), {}, none);
    FAIL() << "two servers listen on one port";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot listen on 127.0.0.1 port " + std::to_string(first.port())));
    EXPECT_THAT(error.what(), HasSubstr("choose another --port or --address"));
  }
  EXPECT_THROW(HttpServer("no address", 0, {}, none), std::invalid_argument);
}

}  // namespace
}  // namespace transmute::testing
