// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/serving/http.h>
#include <transmute/serving/metrics.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Counts the concurrent requests of each client.
class ClientCounts {
 public:
  explicit ClientCounts(size_t most) : most_(most) {}
  /// False if it has as many as it may.
  bool enter(const std::string& client);
  void leave(const std::string& client);

 private:
  const size_t most_;
  std::mutex mutex_;
  std::map<std::string, size_t> counts_;
};

/// The places to which all calls report.
struct CallReport {
  Metrics* metrics = nullptr;
  std::function<void(const Json& entry)> log{};  ///< one object for each request; may be empty
  bool logs_texts = false;                       ///< whether the log may quote what a client sent
  bool logs_failures_only = false;               ///< whether it has only the requests with the note "failure"
};

/// One request from its arrival to its answer: counts it, logs it, and gives every answer the headers that all have.
/// Answers from any thread; the first counts.
class Call {
 public:
  Call(std::shared_ptr<HttpExchange> exchange, std::string route, CallReport report);
  /// If there was no answer, logs that the client has gone.
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const HttpRequest& request() const { return exchange_->request(); }
  const std::string& id() const { return id_; }
  bool is_abandoned() const { return exchange_->is_abandoned(); }
  /// Seconds since the request was complete.
  double age() const;

  /// Counts the request for `client`, and no longer for another client, until it is answered.
  bool enter(ClientCounts& counts, const std::string& client);
  /// Adds a member to the entry of the log.
  void note(const std::string& name, Json value);

  void answer(HttpResponse response);
  void answer(const Json& json);
  /// {"error": message}. 503 comes with Retry-After.
  void fail(int status, const std::string& message);

  /// A stream of server-sent events, which the first one begins.
  void send_event(const std::string& name, const Json& data);
  void end_events(int status = 200);
  bool has_sent_events() const { return has_sent_events_; }
  /// Returns false while the client has not received the earlier events, or if events already come at a megabyte per
  /// second. Events that only report progress can then be left out.
  bool wants_events() const;

 private:
  std::vector<std::pair<std::string, std::string>> common_headers() const;
  void begin_events();
  void finish(int status);

  std::shared_ptr<HttpExchange> exchange_;
  const std::string route_;
  const CallReport report_;
  const std::string id_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  bool finished_ = false;
  std::atomic<bool> has_sent_events_{false};
  std::atomic<size_t> event_bytes_{0};
  std::unique_ptr<Json> notes_;
  ClientCounts* counts_ = nullptr;
  std::string client_;
};

}  // namespace v0
}  // namespace transmute
