// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/http_server.h>

#include <linux/filter.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <transmute/serving/http_connection.h>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include <chrono>
#include <iterator>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

namespace transmute {
inline namespace v0 {

using boost::asio::ip::tcp;
using Error = boost::system::error_code;

namespace {

// The time after the start of drain() in which open connections may bring one more request and started handshakes may
// end. It is shorter than the second after which a client's system repeats an unanswered SYN: it then finds the port
// closed.
constexpr std::chrono::milliseconds kDrainGrace{900};
constexpr std::chrono::milliseconds kPauseAfterFailedAccept{100};

// Drops the SYN of each new connection. The kernel completes handshakes by itself, and resets those connections that
// nobody accepted when the listening socket closes, requests that they already sent included: so new ones end first.
// Where the kernel refuses the filter, only that last instant is unguarded.
void drop_new_connections(int listening_socket) {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),           // the flags of the TCP header
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),        // SYN and ACK
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),  // SYN alone?
      BPF_STMT(BPF_RET | BPF_K, 0),                     // drop
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),            // keep
  };
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  ::setsockopt(listening_socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

}  // namespace

struct HttpServer::State {
  State(const HttpLimits& limits, HttpHandler handler) : shared{limits, std::move(handler)} {}

  void listen(const std::string& address, int port) {
    Error error;
    const auto ip = boost::asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
    if (error)
      throw std::invalid_argument("\"" + address +
                                  "\" is not an IP address; 0.0.0.0 or :: listens on all of the machine's");
    const tcp::endpoint endpoint(ip, static_cast<unsigned short>(port));
    acceptor.open(endpoint.protocol(), error);
    if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor.bind(endpoint, error);
    if (!error) acceptor.listen(boost::asio::socket_base::max_listen_connections, error);
    if (!error) acceptor.non_blocking(true, error);
    if (error)
      throw std::runtime_error(fmt::format("cannot listen on {} port {}: {}; choose another --port or --address",
                                           address, port, error.message()));
  }

  void accept() {
    try {
      acceptor.async_accept([this](Error error, tcp::socket socket) {
        if (error == boost::asio::error::operation_aborted) return;
        if (error) return accept_later();  // no descriptors are left, or the client is gone again
        accept();                          // accepts the next one, whatever happens to this one
        take(std::move(socket));
      });
    } catch (const std::bad_alloc&) {
      accept_later();
    }
  }

  // Other connections wait a moment, and are served.
  void accept_later() {
    accept_again.expires_after(kPauseAfterFailedAccept);
    accept_again.async_wait([this](Error cancelled) {
      if (!cancelled && acceptor.is_open()) accept();
    });
  }

  void take(tcp::socket socket) {
    if (shared.connections.size() >= shared.limits.connections) {
      ++shared.statistics.refused;
      return;
    }
    Error ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    try {
      const auto connection = std::make_shared<http::Connection>(std::move(socket), shared);
      ++shared.statistics.accepted;
      connection->start();
    } catch (const std::bad_alloc&) {
      ++shared.statistics.refused;
    }
  }

  void drain(double seconds) {
    if (shared.draining) return;
    shared.draining = true;
    shared.on_closed = [this] { stop_if_done(); };
    drop_new_connections(acceptor.native_handle());
    grace.expires_after(kDrainGrace);
    grace.async_wait([this](Error) {
      close_if([](const http::Connection& connection) { return connection.is_idle(); });
      stop_listening();
    });
    deadline.expires_after(std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
    deadline.async_wait([this](Error error) {
      if (!error) shared.loop.stop();
    });
  }

  void stop_listening() {
    for (Error error; !error;) {  // connections that exist already
      tcp::socket socket(shared.loop);
      acceptor.accept(socket, error);
      if (!error) take(std::move(socket));
    }
    acceptor.close();
    accept_again.cancel();
    stop_if_done();
  }

  template <class Predicate>
  void close_if(Predicate predicate) {
    std::vector<std::shared_ptr<http::Connection>> chosen;  // closing a connection removes it from the set
    for (http::Connection* connection : shared.connections)
      if (predicate(*connection)) chosen.push_back(connection->shared_from_this());
    for (const auto& connection : chosen) connection->close();
  }

  void stop_if_done() {
    if (!acceptor.is_open() && shared.connections.empty()) shared.loop.stop();
  }

  http::Shared shared;
  tcp::acceptor acceptor{shared.loop};
  boost::asio::steady_timer accept_again{shared.loop}, grace{shared.loop}, deadline{shared.loop};
  std::optional<boost::asio::signal_set> signals{};
  std::function<void(int)> on_signal{};

  void await_signal() {
    signals->async_wait([this](Error error, int signal) {
      if (error) return;
      await_signal();  // waits for the next one, whatever happens to this one
      on_signal(signal);
    });
  }
};

HttpServer::HttpServer(const std::string& address, int port, const HttpLimits& limits, HttpHandler handler)
    : state_(std::make_unique<State>(limits, std::move(handler))) {
  state_->listen(address, port);
}

HttpServer::~HttpServer() {
  state_->shared.on_closed = nullptr;
}

int HttpServer::port() const {
  return state_->acceptor.local_endpoint().port();
}

void HttpServer::catch_signals(const std::vector<int>& signals, std::function<void(int)> on_signal) {
  state_->signals.emplace(state_->shared.loop);
  for (const int signal : signals) state_->signals->add(signal);
  state_->on_signal = std::move(on_signal);
  state_->await_signal();
}

void HttpServer::run() {
  state_->accept();
  while (true) try {
      state_->shared.loop.run();
      return;
    } catch (const std::bad_alloc&) {  // ends the current operation only
    }
}

void HttpServer::drain(double seconds) {
  boost::asio::post(state_->shared.loop, [this, seconds] { state_->drain(seconds); });
}

HttpStatistics HttpServer::statistics() const {
  HttpStatistics statistics = state_->shared.statistics;
  statistics.connections = state_->shared.connections.size();
  statistics.answer_bytes = state_->shared.answer_bytes;
  return statistics;
}

}  // namespace v0
}  // namespace transmute
