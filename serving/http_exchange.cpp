// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/http_connection.h>

#include <boost/asio/post.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace http {

namespace {

// Lets go of a request and its connection on the server's thread.
struct Release {
  using allocator_type = std::pmr::polymorphic_allocator<std::byte>;
  allocator_type get_allocator() const noexcept { return &state->for_release; }
  void operator()() const {
    connection->attempt([this] { connection->forsake(ticket); });
  }

  std::shared_ptr<Connection> connection;
  uint64_t ticket;
  std::shared_ptr<RequestState> state;
};

class Exchange : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Connection> connection, uint64_t ticket, boost::asio::io_context& loop, HttpRequest request,
           std::shared_ptr<RequestState> state)
      : connection_(std::move(connection)),
        loop_(loop),
        ticket_(ticket),
        request_(std::move(request)),
        state_(std::move(state)) {}
  ~Exchange() override { boost::asio::post(loop_, Release{std::move(connection_), ticket_, std::move(state_)}); }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override {
    on_connection([response = std::move(response)](Connection& connection, uint64_t ticket) mutable {
      connection.respond(ticket, std::move(response));
    });
  }
  void begin_stream(HttpResponse head) override {
    on_connection(
        [head = std::move(head)](Connection& connection, uint64_t ticket) { connection.begin_stream(ticket, head); });
  }
  void write(std::string chunk) override {
    state_->writing = true;
    on_connection(
        [chunk = std::move(chunk)](Connection& connection, uint64_t ticket) { connection.write(ticket, chunk); });
  }
  void end() override {
    on_connection([](Connection& connection, uint64_t ticket) { connection.end(ticket); });
  }
  bool is_writing() const override { return state_->writing; }
  bool is_abandoned() const override { return state_->abandoned; }

 private:
  template <class Act>
  void on_connection(Act act) {
    boost::asio::post(loop_, [connection = connection_, ticket = ticket_, act = std::move(act)]() mutable {
      connection->attempt([&] { act(*connection, ticket); });
    });
  }

  std::shared_ptr<Connection> connection_;
  boost::asio::io_context& loop_;
  const uint64_t ticket_;
  HttpRequest request_;
  std::shared_ptr<RequestState> state_;
};

}  // namespace

std::shared_ptr<HttpExchange> make_exchange(std::shared_ptr<Connection> connection, uint64_t ticket,
                                            boost::asio::io_context& loop, HttpRequest request,
                                            std::shared_ptr<RequestState> state) {
  return std::make_shared<Exchange>(std::move(connection), ticket, loop, std::move(request), std::move(state));
}

}  // namespace http
}  // namespace v0
}  // namespace transmute
