// SPDX-License-Identifier: Apache-2.0
// Limits of the server's connections, bodies, answers and memory.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <transmute/tests/serving/http_server.h>
#include <transmute/tests/serving/no_memory.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace transmute::testing {
namespace {

TEST_F(AServerWithLimits, ClosesAConnectionThatIsIdleOrTrickles) {
  limits_.idle_seconds = 0.5;
  start();
  Client idle(port());
  EXPECT_TRUE(idle.is_closed_within(5));
  Client trickling(port());
  const auto begin = std::chrono::steady_clock::now();
  bool open = true;
  for (int i = 0; i < 100 && open; ++i) {  // a byte every 50 ms keeps nothing open
    open = trickling.send(i == 0 ? "GET /echo HTTP/1.1\r\nX: " : "x");
    open = open && !trickling.is_closed_within(0.05);
  }
  EXPECT_FALSE(open);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(AServerWithLimits, ClosesWhatExceedsItsConnections) {
  limits_.connections = 3;
  start();
  std::vector<std::unique_ptr<Client>> open;
  for (int i = 0; i < 3; ++i) {
    open.push_back(std::make_unique<Client>(port()));
    ASSERT_EQ(open.back()->get("/echo").status, 200);
  }
  Client refused(port());
  EXPECT_TRUE(refused.is_closed_within(5));
  EXPECT_EQ(open.front()->get("/echo").status, 200);
  open.pop_back();
  Answer answer;
  for (int i = 0; i < 100 && answer.status == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the server has seen it go
    answer = Client(port()).get("/echo");
  }
  EXPECT_EQ(answer.status, 200);
}

TEST_F(AServerWithLimits, RefusesBodiesThatTogetherAreTooMuch) {
  limits_.body_seconds = 10;
  start();
  Client first(port()), second(port()), third(port());
  const std::string head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n", most(8999, 'x');
  std::vector<std::unique_ptr<Client>> announcing;  // which takes no room
  for (int i = 0; i < 5; ++i) {
    announcing.push_back(std::make_unique<Client>(port()));
    announcing.back()->send(head + "x");
  }
  for (Client* client : {&first, &second}) client->send(head + most);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  third.send(head + most);
  const Answer answer = third.receive();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.headers.at("retry-after"), "1");
  first.send("x");
  EXPECT_EQ(first.receive().status, 200);
}

TEST_F(AServerWithLimits, FreesARefusedBodyBeforeItsClientLeaves) {
  constexpr size_t kBody = size_t{64} << 20;
  limits_.body_bytes = kBody;
  limits_.total_body_bytes = 1000;
  start();
  const auto allocated = [] {
    const auto memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
  };
  const size_t before = allocated();
  Client client(port());
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(kBody) + "\r\n\r\n" +
              std::string(2000, 'x'));
  EXPECT_EQ(client.receive().status, 503);
  EXPECT_LT(allocated(), before + kBody / 2) << "the parser reserves what was announced";
}

TEST_F(AServer, ClosesOneConnectionWhereMemoryIsShort) {
  Client other(port()), client(port());
  EXPECT_EQ(other.get("/echo").status, 200);
  client.send(request_bytes("GET", "/starve"));
  EXPECT_TRUE(client.is_closed_within(5));
  EXPECT_EQ(other.get("/echo").status, 200);
  EXPECT_EQ(Client(port()).get("/echo").status, 200);
}

TEST_F(AServer, AnswersForAHandlerThatForgetsARequest) {
  EXPECT_EQ(client_.get("/forget").status, 500);
  EXPECT_EQ(client_.get("/echo").status, 200);
}

TEST_F(AServer, LetsGoOfARequestWithoutMemory) {
  client_.send(request_bytes("GET", "/keep"));
  auto exchange = next_kept();
  while (exchange.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the server's thread
  {
    const NoMemory none;
    exchange.reset();
  }
  EXPECT_EQ(client_.receive().status, 500);
}

TEST_F(AServer, DropsAStreamThatItsClientDoesNotTake) {
  client_.send(request_bytes("GET", "/stream"));
  const auto exchange = next_kept();
  exchange->begin_stream({200, "text/event-stream"});
  for (int i = 0; i < 2000 && !exchange->is_abandoned(); ++i) {
    exchange->write(std::string(50'000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(is_abandoned_soon(*exchange));
}

const std::string kMoreThanSocketsHold(30'000'000, 'x');

TEST_F(AServer, DropsAnAnswerThatItsClientDoesNotTake) {
  client_.send(request_bytes("GET", "/keep"));
  const auto exchange = next_kept();
  exchange->respond({200, "text/plain", kMoreThanSocketsHold});
  EXPECT_TRUE(is_abandoned_soon(*exchange));
}

TEST_F(AServerWithLimits, DropsTheAnswerThatWaitsLongestWhereAllTakeTooMuch) {
  limits_.total_answer_bytes = 2 * kMoreThanSocketsHold.size() + 10'000;
  limits_.write_seconds = 60;
  start();
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::shared_ptr<HttpExchange>> exchanges;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send(request_bytes("GET", "/keep"));
    exchanges.push_back(next_kept());
    exchanges.back()->respond({200, "text/plain", kMoreThanSocketsHold});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(is_abandoned_soon(*exchanges.front()));
  for (int i = 1; i < 3; ++i) EXPECT_EQ(clients[i]->receive().body.size(), kMoreThanSocketsHold.size());
}

TEST_F(AServerWithLimits, FreesABodyWhileItsAnswerWaits) {
  limits_.write_seconds = 60;
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {  // 36,000 bytes of bodies, of which 20,000 may be held
    clients.push_back(std::make_unique<Client>(port()));
    clients.back()->send(request_bytes("POST", "/keep", std::string(9000, 'x')));
    next_kept()->respond({200, "text/plain", kMoreThanSocketsHold});
  }
  for (const auto& client : clients) EXPECT_EQ(client->receive().status, 200);
}

}  // namespace
}  // namespace transmute::testing
