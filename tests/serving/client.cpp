// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/client.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <stdexcept>

namespace transmute::testing {

namespace {

constexpr int kPatienceMilliseconds = 20'000;

bool is_readable(int socket, int milliseconds) {
  pollfd waiting{socket, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

std::map<std::string, std::string> headers_of(const std::string& head) {
  std::map<std::string, std::string> headers;
  for (size_t at = head.find("\r\n") + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at), colon = head.find(':', at);
    if (colon == std::string::npos || colon > end) break;
    std::string name = head.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    headers[name] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return headers;
}

}  // namespace

Client::Client(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (socket_ < 0 || ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close();
    throw std::runtime_error("nobody listens on port " + std::to_string(port));
  }
}

Client::~Client() {
  close();
}

void Client::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool Client::send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<size_t>(n);
  }
  return true;
}

void Client::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

bool Client::fill() {
  if (!is_readable(socket_, kPatienceMilliseconds)) return false;
  char buffer[16384];
  const ssize_t n = ::recv(socket_, buffer, sizeof buffer, 0);
  if (n <= 0) return false;
  received_.append(buffer, static_cast<size_t>(n));
  return true;
}

std::optional<std::string> Client::receive_until(const std::string& mark) {
  size_t found = received_.find(mark);
  for (; found == std::string::npos; found = received_.find(mark))
    if (!fill()) return std::nullopt;
  return take(found + mark.size());
}

std::optional<std::string> Client::take(size_t bytes) {
  while (received_.size() < bytes)
    if (!fill()) return std::nullopt;
  std::string taken = received_.substr(0, bytes);
  received_.erase(0, bytes);
  return taken;
}

std::optional<std::string> Client::receive_chunks() {
  std::string body;
  while (true) {
    const auto size_line = receive_until("\r\n");
    if (!size_line) return std::nullopt;
    const size_t size = std::stoul(*size_line, nullptr, 16);
    const auto chunk = take(size + 2);
    if (!chunk) return std::nullopt;
    if (size == 0) return body;
    body += chunk->substr(0, size);
  }
}

Answer Client::receive() {
  Answer answer;
  const auto head = receive_until("\r\n\r\n");
  if (!head || head->compare(0, 9, "HTTP/1.1 ") != 0) return answer;
  answer.headers = headers_of(*head);
  std::optional<std::string> body = "";
  if (answer.headers.count("content-length") != 0) body = take(std::stoul(answer.headers["content-length"]));
  if (answer.headers["transfer-encoding"] == "chunked") body = receive_chunks();
  if (!body) return answer;
  answer.status = std::stoi(head->substr(9, 3));
  if (answer.status < 200) return receive();
  answer.body = *body;
  return answer;
}

bool Client::is_closed_within(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (double left = seconds; left > 0;
       left = std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count()) {
    if (!is_readable(socket_, static_cast<int>(left * 1000) + 1)) continue;
    char buffer[4096];
    if (::recv(socket_, buffer, sizeof buffer, 0) <= 0) return true;
  }
  return false;
}

Answer Client::get(const std::string& path, const std::string& headers) {
  send(request_bytes("GET", path, "", headers));
  return receive();
}

Answer Client::post(const std::string& path, const std::string& body, const std::string& headers,
                    const std::string& content_type) {
  send(request_bytes("POST", path, body, "Content-Type: " + content_type + "\r\n" + headers));
  return receive();
}

std::string request_bytes(const std::string& method, const std::string& path, const std::string& body,
                          const std::string& headers) {
  return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace transmute::testing
