// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

using Headers = std::map<std::string, std::string>;

/// A complete request.
struct HttpRequest {
  std::string method;  ///< "GET"
  std::string path;    ///< before the question mark, percent-encoding left as it is
  std::string query;   ///< after it
  Headers headers;     ///< by name in lower case; of repeated ones the last
  std::string body;    ///< as it was sent
  std::string client;  ///< the address that the connection comes from

  /// Empty if it is missing. `name` in lower case.
  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string() : found->second;
  }
};

/// The answer to a request, or the beginning of a stream.
struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";               ///< type of the body
  std::string body{};                                          ///< UTF-8, or empty
  std::vector<std::pair<std::string, std::string>> headers{};  ///< further ones
};

/// One request and the way to its client. Everything but request() may be called from any thread; what comes after the
/// answer, or after the client has gone, has no effect.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  /// The whole answer.
  virtual void respond(HttpResponse response) = 0;
  /// The head of an answer whose body comes in chunks with write() and ends with end().
  virtual void begin_stream(HttpResponse head) = 0;
  /// Closes the connection of a client that leaves too many bytes waiting.
  virtual void write(std::string chunk) = 0;
  /// True while chunks wait to be received by the client.
  virtual bool is_writing() const = 0;
  virtual void end() = 0;
  /// True if the client has disconnected: nobody waits for the answer.
  virtual bool is_abandoned() const = 0;
};

/// Called on the server's thread for every request; must not block.
using HttpHandler = std::function<void(std::shared_ptr<HttpExchange> exchange)>;

/// Limits of what one client, or all of them, may take of the server.
struct HttpLimits {
  size_t header_bytes = 64 * 1024;                ///< most bytes of a request's line and headers
  size_t body_bytes = 1024 * 1024;                ///< most bytes of a request's body
  size_t total_body_bytes = 256 * 1024 * 1024;    ///< most bytes of all bodies that are being received or worked on
  size_t stream_bytes = 1024 * 1024;              ///< most bytes of a stream that its client has not taken yet
  size_t total_answer_bytes = 256 * 1024 * 1024;  ///< most bytes of answers not taken; beyond, the oldest is given up
  size_t connections = 10000;                     ///< open at once; more are closed at once
  double idle_seconds = 75;                       ///< without a request
  double header_seconds = 10;                     ///< from a request's first byte to the end of its headers
  double body_seconds = 30;                       ///< from there to the end of its body
  double write_seconds = 30;                      ///< for an answer, or a chunk of a stream, to be taken
};

/// Requests that never reached the handler, by reason, and connections.
struct HttpStatistics {
  size_t connections = 0;                      ///< open now
  size_t accepted = 0;                         ///< since the start
  size_t refused = 0;                          ///< requests refused for lack of room
  size_t given_up = 0;                         ///< connections whose client did not take its answer
  size_t answer_bytes = 0;                     ///< bytes that clients have not taken yet
  std::map<int, size_t> answered_by_server{};  ///< by status: 400, 408, 413, 431, 501, 503
};

}  // namespace v0
}  // namespace transmute
