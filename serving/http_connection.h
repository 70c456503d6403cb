// SPDX-License-Identifier: Apache-2.0
#pragma once

// Boost's headers: for the files http_*.cpp only.
#include <transmute/serving/http.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <string>
#include <unordered_set>

namespace transmute {
inline namespace v0 {
namespace http {

class Connection;

/// The state of a connection that the threads working on a request may know.
struct RequestState {
  std::atomic<bool> abandoned{false};  // the client has gone
  std::atomic<bool> writing{false};    // chunks of the answer wait
  // The handler that releases the exchange has its memory beforehand: a destructor cannot fail for lack of it.
  alignas(std::max_align_t) std::array<std::byte, 512> room;
  std::pmr::monotonic_buffer_resource for_release{room.data(), room.size(), std::pmr::null_memory_resource()};
};

/// The state that the connections of a server share. Used on the server's thread only.
struct Shared {
  const HttpLimits limits;
  const HttpHandler handler;
  std::unordered_set<Connection*> connections{};
  HttpStatistics statistics{};
  size_t body_bytes = 0;    // bytes of all requests being received or worked on
  size_t answer_bytes = 0;  // bytes that no client has taken yet
  bool draining = false;
  uint64_t tickets = 0;  // one for each request
  std::function<void()> on_closed{};
  boost::asio::io_context loop{1};  // last: what waits in it uses the others when it is thrown away
};

/// One client's connection: reads a request, hands it to the handler, writes the answer, and again. Its phases
/// are idle, header, body, handling (which includes writing the answer), lingering and closed; one timer limits the
/// present one. At most one read is under way; while a request is handled, that read notices a client that leaves, and
/// keeps what comes after the request.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, Shared& shared);
  ~Connection();

  void start() {
    attempt([this] { await_request(); });
  }
  bool is_idle() const { return phase_ == Phase::idle; }
  void close();
  /// Calls `act`. If that runs out of memory, closes this connection; the others continue.
  template <class Act>
  void attempt(Act act) {
    try {
      act();
    } catch (const std::bad_alloc&) {
      close();
    }
  }

  // For Exchange, on the server's thread. `ticket` names the request that is answered: the answer to a request that was
  // given up is ignored.
  void respond(uint64_t ticket, HttpResponse response);
  void begin_stream(uint64_t ticket, const HttpResponse& head);
  void write(uint64_t ticket, const std::string& chunk);
  void end(uint64_t ticket);
  void forsake(uint64_t ticket);

 private:
  enum class Phase { idle, header, body, handling, lingering, closed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  void await_request();
  void read();
  void watch();
  void on_read(Error error, size_t bytes);
  void on_last_byte();
  void read_header();
  void on_header(Error error);
  void read_body();
  void on_body(Error error);
  void hand_over();
  void refuse(int status, const std::string& message);
  void refuse_for(Error error);
  void send(std::string bytes);
  void on_sent(Error error);
  void complete();
  void finish_answer();
  void count_answer();
  void make_room();
  void give_up();
  void linger();
  void limit_time(double seconds);
  void lift_time_limit();
  bool is_answering(uint64_t ticket) const;
  std::string head_of(const HttpResponse& response, bool chunked) const;
  void release_body();

  boost::asio::ip::tcp::socket socket_;
  Shared& shared_;
  boost::asio::steady_timer timer_;
  uint64_t time_limit_ = 0;  // the number of the present one
  Headers headers_;          // headers of the request that arrives
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  Phase phase_ = Phase::idle;
  bool reading_ = false, writing_ = false, timed_out_ = false;
  bool has_ended_ = false;  // the client sends no more
  // The rest is about the request that is handled:
  uint64_t ticket_ = 0;  // 0: none
  std::shared_ptr<RequestState> state_{};
  bool keep_alive_ = false, is_head_ = false, is_http_1_0_ = false;
  bool chunked_ = false, complete_ = false;
  size_t held_body_bytes_ = 0;
  std::string sending_, waiting_;  // bytes of the answer
  size_t longest_waiting_ = 0;     // most bytes of a stream's pieces in waiting_
  size_t held_answer_bytes_ = 0;
  std::chrono::steady_clock::time_point sending_since_{};
};

/// Makes the handler's view of a request. It keeps its connection, and lets go of it on the server's thread.
std::shared_ptr<HttpExchange> make_exchange(std::shared_ptr<Connection> connection, uint64_t ticket,
                                            boost::asio::io_context& loop, HttpRequest request,
                                            std::shared_ptr<RequestState> state);

}  // namespace http
}  // namespace v0
}  // namespace transmute
