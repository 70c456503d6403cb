// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/http_connection.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace transmute {
inline namespace v0 {
namespace http {

namespace beast = boost::beast;
using boost::asio::ip::tcp;

namespace {

constexpr size_t kReadBytes = 4096;
constexpr double kLingerSeconds = 2;
constexpr double kSecondsToCancel = 0.1;
constexpr const char* kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::chrono::steady_clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::string text_of(beast::string_view text) {
  return {text.data(), text.size()};
}

HttpRequest request_of(beast::http::request<beast::http::string_body>&& message, Headers headers, std::string client) {
  HttpRequest request;
  request.client = std::move(client);
  request.headers = std::move(headers);
  request.method = text_of(message.method_string());
  std::string target = text_of(message.target());
  const std::string mark = "://";
  if (const size_t scheme = target.find(mark); scheme < target.find('/'))  // as proxies ask
    target = target.substr(std::min(target.find_first_of("/?", scheme + mark.size()), target.size()));
  if (target.empty() || target.front() == '?') target.insert(0, "/");
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string::npos) request.query = target.substr(question + 1);
  request.body = std::move(message.body());
  return request;
}

}  // namespace

Connection::Connection(tcp::socket socket, Shared& shared)
    : socket_(std::move(socket)),
      shared_(shared),
      timer_(shared.loop),
      buffer_(shared.limits.header_bytes + kReadBytes) {
  shared_.connections.insert(this);
}

Connection::~Connection() {
  release_body();
  shared_.connections.erase(this);
  if (shared_.on_closed) shared_.on_closed();
}

void Connection::release_body() {
  shared_.body_bytes -= std::exchange(held_body_bytes_, 0);
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  if (state_) state_->abandoned = true;
  ticket_ = 0;
  lift_time_limit();
  std::string().swap(waiting_);
  count_answer();
  Error ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

// Sets the time limit of the present phase. There is none while the handler works, which limits itself.
void Connection::limit_time(double seconds) {
  timer_.expires_after(duration_of(seconds));
  timer_.async_wait([weak = weak_from_this(), limit = ++time_limit_](Error error) {
    const auto self = weak.lock();
    if (error || !self || self->phase_ == Phase::closed) return;
    if (self->time_limit_ != limit) return;  // the timer was changed or canceled after this was queued
    const bool can_say_so = self->phase_ == Phase::header || self->phase_ == Phase::body;
    if (!can_say_so) return self->writing_ ? self->give_up() : self->close();
    self->timed_out_ = true;
    Error ignored;
    self->socket_.cancel(ignored);
    // Bytes that have just arrived are not canceled.
    self->attempt([&] { self->limit_time(kSecondsToCancel); });
  });
}

void Connection::lift_time_limit() {
  ++time_limit_;
  timer_.cancel();
}

void Connection::await_request() {
  phase_ = Phase::idle;
  ticket_ = 0;
  state_.reset();
  parser_.reset();
  limit_time(shared_.limits.idle_seconds);
  if (reading_) {
    Error ignored;
    if (buffer_.size() > 0) socket_.cancel(ignored);  // on_read() continues with the bytes in the buffer
    return;
  }
  if (buffer_.size() > 0) return read_header();
  read();
}

void Connection::read() {
  reading_ = true;
  socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](Error error, size_t bytes) {
    self->attempt([&] { self->on_read(error, bytes); });
  });
}

// While a request is handled, to notice the client leaving. What comes after the request waits in the buffer; once
// that is full, the client is not read from.
void Connection::watch() {
  if (!has_ended_ && buffer_.size() + kReadBytes <= buffer_.max_size()) read();
}

void Connection::on_read(Error error, size_t bytes) {
  reading_ = false;
  if (phase_ == Phase::closed) return;
  const bool is_end = error == boost::asio::error::eof;
  if (phase_ == Phase::idle && buffer_.size() > 0 && (is_end || error == boost::asio::error::operation_aborted))
    return read_header();
  if (phase_ == Phase::handling && is_end) return on_last_byte();
  if (error) return close();
  if (phase_ == Phase::lingering) return read();  // discards the bytes
  buffer_.commit(bytes);
  if (phase_ == Phase::idle) return read_header();
  watch();
}

// The client sends no more, but may wait for what it asked. One that is gone resets the connection at the next bytes
// that come to it: where no answer has begun, those of an interim one, which clients pass over (RFC 9110, section
// 15.2). HTTP/1.0 has none, and proxies that speak it leave this way: their requests count as given up.
void Connection::on_last_byte() {
  const bool has_answer = complete_ || chunked_;
  if (is_http_1_0_ && !has_answer) return close();
  has_ended_ = true;
  socket_.async_wait(tcp::socket::wait_error, [self = shared_from_this()](Error cancelled) {
    if (!cancelled) self->close();
  });
  if (!has_answer) send(kContinue);
}

void Connection::read_header() {
  // Some clients end a body with an empty line (RFC 9112, section 2.2).
  const auto is_line_end = [](const char* byte) { return *byte == '\r' || *byte == '\n'; };
  while (buffer_.size() > 0 && is_line_end(static_cast<const char*>(buffer_.data().data()))) buffer_.consume(1);
  if (buffer_.size() == 0) return read();
  phase_ = Phase::header;
  timed_out_ = false;
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(shared_.limits.header_bytes));
  parser_->body_limit(shared_.limits.body_bytes);
  limit_time(shared_.limits.header_seconds);
  beast::http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
    self->attempt([&] { self->on_header(error); });
  });
}

void Connection::on_header(Error error) {
  if (phase_ == Phase::closed) return;
  if (error) return refuse_for(error);
  timed_out_ = false;
  const auto& head = parser_->get();
  headers_.clear();  // those before the body: trailers are not headers (RFC 9110, section 6.5.1)
  for (const auto& field : head) headers_[lower_case(text_of(field.name_string()))] = text_of(field.value());
  if (head.version() >= 11 && head.count(beast::http::field::host) != 1)
    return refuse(400, "a request of HTTP/1.1 needs one Host header");
  // Beast passes over codings that it does not know: whoever is before this server may read another length.
  const auto coding = head.find(beast::http::field::transfer_encoding);
  if (coding != head.end() && head.version() < 11) return refuse(400, "HTTP/1.0 has no Transfer-Encoding");
  if (coding != head.end() &&
      (head.count(beast::http::field::transfer_encoding) != 1 || !beast::iequals(coding->value(), "chunked")))
    return refuse(501, "chunked is the only Transfer-Encoding that is read");
  phase_ = Phase::body;
  limit_time(shared_.limits.body_seconds);
  // HTTP/1.0 knows no such answer (RFC 9110, section 10.1.1).
  const bool expects_answer = head.version() >= 11 && beast::iequals(head[beast::http::field::expect], "100-continue");
  if (!expects_answer || parser_->is_done()) return read_body();
  sending_ = kContinue;
  boost::asio::async_write(socket_, boost::asio::buffer(sending_), [self = shared_from_this()](Error failed, size_t) {
    if (self->phase_ == Phase::closed) return;
    if (failed) return self->close();
    self->attempt([&] { self->read_body(); });
  });
}

void Connection::read_body() {
  if (parser_->is_done()) return hand_over();
  beast::http::async_read_some(socket_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
    self->attempt([&] { self->on_body(error); });
  });
}

// The bytes that have arrived count, not those announced: announcing costs a client nothing.
void Connection::on_body(Error error) {
  if (phase_ == Phase::closed) return;
  if (error) return refuse_for(error);
  const size_t size = parser_->get().body().size();
  shared_.body_bytes += size - held_body_bytes_;
  held_body_bytes_ = size;
  if (shared_.body_bytes > shared_.limits.total_body_bytes)
    return refuse(503, "too much is being received at once; try again later");
  read_body();
}

void Connection::hand_over() {
  phase_ = Phase::handling;
  lift_time_limit();
  auto message = parser_->release();
  parser_.reset();
  keep_alive_ = message.keep_alive();
  is_head_ = message.method() == beast::http::verb::head;
  is_http_1_0_ = message.version() < 11;
  chunked_ = complete_ = false;
  Error ignored;
  const auto address = socket_.remote_endpoint(ignored).address();
  state_ = std::make_shared<RequestState>();
  ticket_ = ++shared_.tickets;
  const auto exchange = make_exchange(shared_from_this(), ticket_, shared_.loop,
                                      request_of(std::move(message), std::move(headers_), address.to_string()), state_);
  watch();
  shared_.handler(exchange);
}

bool Connection::is_answering(uint64_t ticket) const {
  return phase_ == Phase::handling && ticket == ticket_ && !complete_;
}

void Connection::respond(uint64_t ticket, HttpResponse response) {
  if (!is_answering(ticket) || chunked_) return;
  complete();
  std::string bytes = head_of(response, false);
  if (!is_head_) bytes += response.body;  // the body may be large, so it is copied only once
  send(std::move(bytes));
}

void Connection::begin_stream(uint64_t ticket, const HttpResponse& head) {
  if (!is_answering(ticket) || chunked_) return;
  chunked_ = true;
  if (is_http_1_0_) keep_alive_ = false;  // HTTP/1.0 has no chunks: the end of the connection is the end of the stream
  send(head_of(head, true));
}

void Connection::write(uint64_t ticket, const std::string& chunk) {
  if (!is_answering(ticket) || !chunked_ || chunk.empty()) return;
  // One piece of any length may wait: the other pieces show whether the client receives them.
  if (waiting_.size() > shared_.limits.stream_bytes + longest_waiting_) return give_up();
  longest_waiting_ = std::max(longest_waiting_, chunk.size());
  const std::string line_end = "\r\n";
  std::string bytes = is_http_1_0_ ? "" : fmt::format("{:x}\r\n", chunk.size());
  bytes.reserve(bytes.size() + chunk.size() + line_end.size());
  bytes += chunk;
  if (!is_http_1_0_) bytes += line_end;
  send(std::move(bytes));
}

void Connection::end(uint64_t ticket) {
  if (!is_answering(ticket) || !chunked_) return;
  complete();
  send(is_http_1_0_ ? "" : "0\r\n\r\n");
}

// The handler released a request without an answer.
void Connection::forsake(uint64_t ticket) {
  if (!is_answering(ticket)) return;
  if (chunked_) return close();  // in the middle of a stream there is no other way to report a failure
  respond(ticket, {500, "application/json", R"({"error":"Internal error: the request was not answered"})"});
}

std::string Connection::head_of(const HttpResponse& response, bool chunked) const {
  const auto reason = beast::http::obsolete_reason(static_cast<beast::http::status>(response.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, text_of(reason));
  const auto add = [&head](const std::string& name, const std::string& value) {
    head += name + ": ";
    // A header has one line, whatever its value consists of.
    std::copy_if(value.begin(), value.end(), std::back_inserter(head),
                 [](char c) { return c != '\r' && c != '\n' && c != '\0'; });
    head += "\r\n";
  };
  if (!response.content_type.empty()) add("Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) add(name, value);
  constexpr int kNoContent = 204;
  if (!chunked && response.status != kNoContent) add("Content-Length", std::to_string(response.body.size()));
  if (chunked && !is_http_1_0_) add("Transfer-Encoding", "chunked");
  if (!keep_alive_ || shared_.draining) add("Connection", "close");
  if (keep_alive_ && is_http_1_0_ && !shared_.draining) add("Connection", "keep-alive");
  return head + "\r\n";
}

// The response has been produced: releases the request's memory.
void Connection::complete() {
  complete_ = true;
  release_body();
}

// Only one write is in progress at a time; further bytes wait for its end.
void Connection::send(std::string bytes) {
  if (waiting_.empty()) {
    waiting_ = std::move(bytes);
  } else {
    waiting_ += bytes;
  }
  count_answer();
  make_room();
  if (writing_) return;
  if (waiting_.empty()) return finish_answer();
  writing_ = true;
  sending_.swap(waiting_);
  waiting_.clear();
  longest_waiting_ = 0;
  sending_since_ = std::chrono::steady_clock::now();
  limit_time(shared_.limits.write_seconds);
  boost::asio::async_write(socket_, boost::asio::buffer(sending_), [self = shared_from_this()](Error error, size_t) {
    self->attempt([&] { self->on_sent(error); });
  });
}

void Connection::on_sent(Error error) {
  writing_ = false;
  if (phase_ == Phase::closed) return;
  if (error) return close();
  lift_time_limit();
  sending_.clear();
  if (sending_.capacity() > kReadBytes) std::string().swap(sending_);
  count_answer();
  if (!waiting_.empty()) return send("");
  if (state_) state_->writing = false;
  if (complete_) finish_answer();
}

void Connection::count_answer() {
  const size_t size = phase_ == Phase::closed ? 0 : sending_.size() + waiting_.size();
  shared_.answer_bytes += size - held_answer_bytes_;
  held_answer_bytes_ = size;
}

// Makes room for this connection's answer: closes the connections whose answers have waited longest.
void Connection::make_room() {
  while (shared_.answer_bytes > shared_.limits.total_answer_bytes) {
    Connection* slowest = nullptr;
    for (Connection* other : shared_.connections) {
      if (other == this || other->phase_ == Phase::closed || !other->writing_) continue;
      if (slowest == nullptr || other->sending_since_ < slowest->sending_since_) slowest = other;
    }
    if (slowest == nullptr) return;
    slowest->give_up();
  }
}

// Closes the connection of a client that does not take its answer.
void Connection::give_up() {
  ++shared_.statistics.given_up;
  close();
}

void Connection::finish_answer() {
  if (!keep_alive_ || shared_.draining) return linger();
  await_request();
}

// The end of the connection must not overtake the answer: a socket closed with unread bytes resets the connection.
void Connection::linger() {
  phase_ = Phase::lingering;
  ticket_ = 0;
  Error ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  limit_time(kLingerSeconds);
  buffer_.consume(buffer_.size());
  if (!reading_) read();
}

void Connection::refuse_for(Error error) {
  namespace http = beast::http;
  if (timed_out_) return refuse(408, "the request took too long to arrive");
  if (error == http::error::end_of_stream || error == http::error::partial_message) return close();
  if (error == http::error::body_limit)
    return refuse(413, fmt::format("the body is larger than {} bytes", shared_.limits.body_bytes));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(431, fmt::format("the headers are larger than {} bytes", shared_.limits.header_bytes));
  if (error.category() == http::make_error_code(http::error::bad_method).category())
    return refuse(400, "this is no HTTP request: " + error.message());
  close();
}

void Connection::refuse(int status, const std::string& message) {
  phase_ = Phase::handling;
  ticket_ = 0;
  keep_alive_ = is_head_ = chunked_ = is_http_1_0_ = false;
  ++shared_.statistics.answered_by_server[status];
  // The read of the request has ended. A lingering client must not keep memory of a body that no longer counts.
  parser_.reset();
  complete();
  HttpResponse response{status, "application/json", "{\"error\":\"" + message + "\"}"};
  response.headers = {{"Access-Control-Allow-Origin", "*"}, {"X-Content-Type-Options", "nosniff"}};
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  send(head_of(response, false) + response.body);
}

}  // namespace http
}  // namespace v0
}  // namespace transmute
