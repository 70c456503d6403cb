// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/serving/http.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// An HTTP/1.1 server on one thread (Boost.Beast): connections cost memory, not threads, so that idle and slow clients
/// hold up nobody. Each phase of a connection has a limit of time and size, see HttpLimits.
class HttpServer {
 public:
  /// Listens from here on. Port 0 takes any free one.
  /// @throws std::runtime_error naming the address that cannot be listened on.
  HttpServer(const std::string& address, int port, const HttpLimits& limits, HttpHandler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

  /// Calls `on_signal` on the server's thread when one of the signals arrives, which then do nothing else.
  void catch_signals(const std::vector<int>& signals, std::function<void(int signal)> on_signal);

  /// Serves until drain() is complete.
  void run();

  /// Takes no new connections, but finishes handshakes that have begun. Every request that arrives on an open
  /// connection is still answered, with "Connection: close"; after 0.9 s idle connections are closed. What is not done
  /// after `seconds` is given up. From any thread.
  void drain(double seconds);

  /// On the server's thread only.
  HttpStatistics statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace transmute
