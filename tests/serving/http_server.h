// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/serving/http_server.h>
#include <transmute/tests/serving/client.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace transmute::testing {

inline HttpLimits small_limits() {
  HttpLimits limits;
  limits.header_bytes = 1024;
  limits.body_bytes = 10'000;
  limits.total_body_bytes = 20'000;
  limits.stream_bytes = 100'000;
  limits.connections = 20;
  limits.idle_seconds = 10;
  limits.header_seconds = limits.body_seconds = 0.5;
  limits.write_seconds = 1;
  return limits;
}

/// True if it comes to that within seconds.
inline bool is_abandoned_soon(const HttpExchange& exchange) {
  for (int i = 0; i < 500 && !exchange.is_abandoned(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return exchange.is_abandoned();
}

/// Answers /echo with the body, and /pieces with a stream that is there at once; finds no memory for /starve; keeps the
/// requests to other paths for the test to answer. start() returns the port.
class AServerWithLimits : public ::testing::Test {
 protected:
  int start() {
    server_ =
        std::make_unique<HttpServer>("127.0.0.1", 0, limits_, [this](auto exchange) { handle(std::move(exchange)); });
    thread_ = std::thread([this] { server_->run(); });
    return port();
  }
  void TearDown() override {
    if (!server_) return;
    server_->drain(2);
    kept_.clear();
    thread_.join();
  }
  int port() const { return server_->port(); }

  std::shared_ptr<HttpExchange> next_kept() {
    std::unique_lock<std::mutex> lock(mutex_);
    arrived_.wait_for(lock, std::chrono::seconds(20), [&] { return !kept_.empty(); });
    if (kept_.empty()) throw std::runtime_error("no request arrived");
    auto exchange = kept_.front();
    kept_.erase(kept_.begin());
    return exchange;
  }

  HttpLimits limits_ = small_limits();
  std::unique_ptr<HttpServer> server_;

 private:
  void handle(std::shared_ptr<HttpExchange> exchange) {
    const HttpRequest& request = exchange->request();
    if (request.path == "/forget") return;
    if (request.path == "/starve") throw std::bad_alloc();
    if (request.path == "/echo")
      return exchange->respond({200, "text/plain", request.method + " " + request.query + " " + request.body});
    if (request.path == "/pieces") {  // on the server's thread: all but the first wait for it to be written
      exchange->begin_stream({200, "text/plain", ""});
      for (const auto& piece : {std::string("a"), std::string(500'000, 'x'), std::string("b"), std::string("c")})
        exchange->write(piece);
      return exchange->end();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.push_back(std::move(exchange));
    arrived_.notify_all();
  }

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::shared_ptr<HttpExchange>> kept_;
};

/// Such a server with the small limits, and a client.
class AServer : public AServerWithLimits {
 protected:
  void TearDown() override {
    client_.close();
    AServerWithLimits::TearDown();
  }

  Client client_{start()};
};

}  // namespace transmute::testing
