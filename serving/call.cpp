// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/call.h>

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// The status that nginx logs: the client closed the connection before there was an answer.
constexpr int kClientGone = 499;
constexpr size_t kLongestId = 64;
// Every event has the whole text so far, so the bytes of a stream would otherwise grow with the square of the text's
// length.
constexpr double kFirstEventBytes = 65536, kEventBytesPerSecond = 1e6;

// The client's own request id, if it is fit for a log and a header.
std::string request_id(const HttpRequest& request) {
  const std::string given = request.header("x-request-id");
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  if (!given.empty() && given.size() <= kLongestId && std::all_of(given.begin(), given.end(), is_plain)) return given;
  thread_local std::mt19937_64 random{std::random_device{}()};
  return fmt::format("{:016x}", random());
}

}  // namespace

bool ClientCounts::enter(const std::string& client) {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t& count = counts_[client];
  if (count >= most_) return false;
  ++count;
  return true;
}

void ClientCounts::leave(const std::string& client) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = counts_.find(client);
  if (found != counts_.end() && --found->second == 0) counts_.erase(found);
}

Call::Call(std::shared_ptr<HttpExchange> exchange, std::string route, CallReport report)
    : exchange_(std::move(exchange)),
      route_(std::move(route)),
      report_(std::move(report)),
      id_(request_id(exchange_->request())),
      notes_(std::make_unique<Json>(Json::object())) {}

Call::~Call() {
  try {
    finish(kClientGone);
  } catch (const std::bad_alloc&) {  // the request is counted, but not logged
  }
}

double Call::age() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool Call::enter(ClientCounts& counts, const std::string& client) {
  if (counts_ != nullptr && client == client_) return true;
  std::string name = client;  // may fail, and therefore comes before the request is counted
  if (!counts.enter(client)) return false;
  if (counts_ != nullptr) counts_->leave(client_);
  client_.swap(name);
  counts_ = &counts;
  return true;
}

void Call::note(const std::string& name, Json value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  (*notes_)[name] = std::move(value);
}

void Call::finish(int status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (std::exchange(finished_, true)) return;
  if (counts_ != nullptr) counts_->leave(client_);
  const double seconds = age();
  if (report_.metrics != nullptr) report_.metrics->count_request(route_, status, seconds);
  if (!report_.log || (report_.logs_failures_only && !notes_->contains("failure"))) return;
  const HttpRequest& request = exchange_->request();
  Json entry{{"id", id_},
             {"client", request.client},
             {"method", request.method},
             {"path", route_},
             {"status", status},
             {"seconds", std::round(seconds * 1e6) / 1e6},
             {"bytes", request.body.size()}};
  entry.update(*notes_);
  report_.log(entry);
}

std::vector<std::pair<std::string, std::string>> Call::common_headers() const {
  return {{"X-Request-Id", id_},
          {"X-Content-Type-Options", "nosniff"},
          {"Access-Control-Allow-Origin", "*"},
          {"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"}};
}

void Call::answer(HttpResponse response) {
  const int status = response.status;
  for (auto& header : common_headers()) response.headers.push_back(std::move(header));
  finish(exchange_->is_abandoned() ? kClientGone : status);
  exchange_->respond(std::move(response));
}

void Call::answer(const Json& json) {
  HttpResponse response;
  response.body = json_text(json);
  response.headers.emplace_back("Cache-Control", "no-store");
  answer(std::move(response));
}

void Call::fail(int status, const std::string& message) {
  HttpResponse response;
  response.status = status;
  response.body = json_text(Json{{"error", message}});
  if (status == 503 || status == 429) response.headers.emplace_back("Retry-After", "1");
  constexpr int kOwnErrors = 500;  // the reason for refusing a request may quote it
  if (report_.logs_texts || status >= kOwnErrors) note("error", message);
  answer(std::move(response));
}

void Call::begin_events() {
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers = common_headers();
  head.headers.emplace_back("Cache-Control", "no-store");
  head.headers.emplace_back("X-Accel-Buffering", "no");  // makes nginx pass each event on at once
  exchange_->begin_stream(std::move(head));
}

void Call::send_event(const std::string& name, const Json& data) {
  if (!has_sent_events_.exchange(true)) begin_events();
  std::string event = "event: " + name + "\ndata: " + json_text(data) + "\n\n";
  event_bytes_ += event.size();
  exchange_->write(std::move(event));
}

bool Call::wants_events() const {
  const double allowed = kFirstEventBytes + kEventBytesPerSecond * age();
  return !exchange_->is_writing() && static_cast<double>(event_bytes_) < allowed;
}

void Call::end_events(int status) {
  finish(exchange_->is_abandoned() ? kClientGone : status);
  exchange_->end();
}

}  // namespace v0
}  // namespace transmute
