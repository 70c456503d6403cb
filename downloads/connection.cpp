// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/connection.h>

#include <curl/curl.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/build_info.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// Enough for any server's headers; a hostile one does not fill the memory.
constexpr size_t kMaxHeaders = 200;

// Failures of a connection that was made, or of one server among several.
bool is_transient(CURLcode code) {
  const CURLcode codes[] = {CURLE_PARTIAL_FILE,       CURLE_RECV_ERROR,        CURLE_SEND_ERROR, CURLE_GOT_NOTHING,
                            CURLE_OPERATION_TIMEDOUT, CURLE_SSL_CONNECT_ERROR, CURLE_HTTP2,      CURLE_HTTP2_STREAM};
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

void restrict_protocols(CURL* handle, bool is_https) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, is_https ? "https" : "http,https");
#else
  const long any = CURLPROTO_HTTP | CURLPROTO_HTTPS;
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS, any);
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS, is_https ? static_cast<long>(CURLPROTO_HTTPS) : any);
#endif
}

}  // namespace

std::string Response::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::optional<uint64_t> Response::content_length() const {
  const std::string text = header("content-length");
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoull(text);
}

struct Connection::Exchange {
  const TakeBytes& take;
  Response response;
  std::exception_ptr failure;
};

Connection::Connection() : handle_(nullptr, curl_easy_cleanup) {
  if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::runtime_error("libcurl cannot be used");
  handle_.reset(curl_easy_init());
  if (!handle_) throw std::bad_alloc();
}

Connection::~Connection() = default;

size_t Connection::take_header(char* line, size_t size, size_t count, void* to) {
  Response& response = static_cast<Exchange*>(to)->response;
  const std::string text(line, size * count);
  const size_t colon = text.find(':');
  if (text.compare(0, 5, "HTTP/") == 0) {
    response = {};  // of the next response, after a redirect
    if (const size_t space = text.find(' '); space != std::string::npos)
      response.status = std::atoi(text.c_str() + space);
  } else if (colon != std::string::npos && response.headers.size() < kMaxHeaders) {
    const std::string name = lower_case(text.substr(0, colon));
    const size_t begin = text.find_first_not_of(" \t", colon + 1), end = text.find_last_not_of(" \t\r\n");
    response.headers[name] = begin == std::string::npos || begin > end ? "" : text.substr(begin, end + 1 - begin);
  }
  return size * count;
}

size_t Connection::take_body(char* bytes, size_t size, size_t count, void* to) {
  Exchange& exchange = *static_cast<Exchange*>(to);
  try {
    exchange.take(exchange.response, bytes, size * count);
    return size * count;
  } catch (...) {  // passes through no C
    exchange.failure = std::current_exception();
    return size * count + 1;
  }
}

Response Connection::perform(const Request& request, const TakeBytes& take) {
  CURL* const handle = handle_.get();
  curl_easy_reset(handle);
  Exchange exchange{take, {}, nullptr};
  char reason[CURL_ERROR_SIZE] = {};
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr, curl_slist_free_all);
  for (const std::string& header : request.headers) {
    curl_slist* const longer = curl_slist_append(headers.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)headers.release();  // `longer` begins with it
    headers.reset(longer);
  }
  const std::string agent = std::string("transmute/") + build_version();
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(handle, CURLOPT_USERAGENT, agent.c_str());
  curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle, CURLOPT_NOBODY, request.wants_body ? 0L : 1L);
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 10L);
  restrict_protocols(handle, request.url.compare(0, 6, "https:") == 0);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 30L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);  // bytes per second,
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 60L);  // for so many seconds: the server is stuck
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, reason);
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Connection::take_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Connection::take_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
  if (const char* certificates = std::getenv("SSL_CERT_FILE")) curl_easy_setopt(handle, CURLOPT_CAINFO, certificates);
  const CURLcode code = curl_easy_perform(handle);
  if (exchange.failure) std::rethrow_exception(exchange.failure);
  Response response = std::move(exchange.response);
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &seconds);
  response.retry_after = static_cast<double>(seconds);
  if (code != CURLE_OK) {
    response.error = *reason ? reason : curl_easy_strerror(code);
    response.may_recover = is_transient(code);
  }
  return response;
}

}  // namespace v0
}  // namespace transmute
