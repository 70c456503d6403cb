// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A server's response, after redirects.
struct Response {
  int status = 0;                              ///< 0: there was none
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string error;                           ///< what cut the exchange; empty: it is complete
  bool may_recover = false;                    ///< the error is one that another attempt may not meet
  double retry_after = 0;                      ///< seconds that the server asks to wait

  /// The value of a header; empty if it is missing.
  std::string header(const std::string& name) const;
  /// The length of the body that is announced; nothing if the server does not say.
  std::optional<uint64_t> content_length() const;
};

struct Request {
  std::string url;                   ///< http or https
  std::vector<std::string> headers;  ///< "Name: value"
  bool wants_body = true;            ///< GET, or else HEAD
};

/// An HTTP client over libcurl, which keeps connections open between requests. Follows redirects; from https only to
/// https. `http_proxy`, `https_proxy`, `no_proxy` and so on count as they do for curl, and `SSL_CERT_FILE` names
/// certificates.
class Connection {
 public:
  Connection();
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Takes bytes of the body. The response has its status and headers.
  using TakeBytes = std::function<void(const Response&, const char*, size_t)>;
  /// Performs a request. What `take` throws ends it and is passed on.
  Response perform(const Request& request, const TakeBytes& take);

 private:
  struct Exchange;
  static size_t take_header(char* line, size_t size, size_t count, void* exchange);
  static size_t take_body(char* bytes, size_t size, size_t count, void* exchange);

  std::unique_ptr<void, void (*)(void*)> handle_;
};

}  // namespace v0
}  // namespace transmute
