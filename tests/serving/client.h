// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

namespace transmute::testing {

/// An answer as it came over the wire.
struct Answer {
  int status = 0;                              ///< 0: the connection ended without an answer
  std::map<std::string, std::string> headers;  ///< by name in lower case
  std::string body;                            ///< of a chunked one, the chunks put together
};

/// A client on a plain socket of this machine, which shares no code with the server. It waits 20 seconds for every
/// read.
class Client {
 public:
  /// @throws std::runtime_error where nobody listens.
  explicit Client(int port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False where the server has closed the connection.
  bool send(const std::string& bytes);
  /// Closes its sending half.
  void end_sending();
  /// The next answer, without interim ones such as 100 Continue.
  Answer receive();
  /// Up to and including `mark`; nothing where the connection ends before.
  std::optional<std::string> receive_until(const std::string& mark);
  /// True if the server closes the connection within these seconds; what it sends before is thrown away.
  bool is_closed_within(double seconds);
  void close();

  Answer get(const std::string& path, const std::string& headers = "");
  Answer post(const std::string& path, const std::string& body, const std::string& headers = "",
              const std::string& content_type = "application/json");

 private:
  bool fill();
  std::optional<std::string> take(size_t bytes);
  std::optional<std::string> receive_chunks();

  int socket_ = -1;
  std::string received_;
};

/// The bytes of a request; `headers` are lines that end with \r\n.
std::string request_bytes(const std::string& method, const std::string& path, const std::string& body = "",
                          const std::string& headers = "");

}  // namespace transmute::testing
