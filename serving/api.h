// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/serving/api_answer.h>
#include <transmute/serving/api_keys.h>
#include <transmute/serving/api_request.h>
#include <transmute/serving/batcher.h>
#include <transmute/serving/call.h>
#include <transmute/serving/file_store.h>
#include <transmute/serving/http.h>
#include <transmute/serving/metrics.h>
#include <transmute/serving/models.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace transmute {
inline namespace v0 {

/// Limits of the requests, and what is logged about them.
struct ApiOptions {
  ApiLimits limits{};
  double request_seconds = 60;      ///< time after which an unfinished request is canceled
  size_t requests_per_client = 64;  ///< concurrent requests by API key, else by address
  bool behind_proxy = false;  ///< X-Forwarded-For, -Host, -Proto and -Prefix are trusted, because a proxy sets them
  bool log_texts = false;     ///< texts, translations and reasons of refusal are logged
  bool log_failures_only = false;                ///< log only the requests in which the server itself failed
  std::function<void(const Json& entry)> log{};  ///< receives one entry for each request
};

/// Answers every request: LibreTranslate's interface, /v1/translate, the page, health and metrics. Keeps no state
/// between requests, but for translated files until they are fetched.
class Api {
 public:
  /// Its arguments outlive it, and it outlives the batcher's work.
  Api(Models& models, const CurrentApiKeys& keys, Batcher& batcher, Metrics& metrics, ApiOptions options);

  /// For HttpServer.
  void handle(std::shared_ptr<HttpExchange> exchange);

  /// Makes /health/ready report that the server takes no new requests.
  void set_draining() { draining_ = true; }
  /// Sets the source of the server's statistics for /metrics.
  void set_statistics(std::function<HttpStatistics()> statistics) { statistics_ = std::move(statistics); }

 private:
  using CallPointer = std::shared_ptr<Call>;
  // JSON, or a finished response; the latter is not for requests that stream.
  using Answer = std::variant<Json, HttpResponse>;
  using MakeAnswer = std::function<Answer(const ApiRequest& request, const ApiResult& result)>;

  void route(const CallPointer& call);
  void admit(const CallPointer& call, const std::string& api_key);
  void count(const CallPointer& call, const std::string& key_name);
  void run_aside(const CallPointer& call, std::function<void()> work);
  void read_aside(const CallPointer& call, std::function<void()> work);
  void read_aside_if_large(const CallPointer& call, std::function<void()> work);
  [[noreturn]] void refuse_for_queue();
  using Parse = ApiRequest (*)(const HttpRequest& request, const ApiLimits& limits);
  void translate(const CallPointer& call, Parse parse, const MakeAnswer& make_answer);
  void translate_file(const CallPointer& call);
  void translate_document(const CallPointer& call);
  using AnswerWithFile = std::function<Answer(StoredFile file)>;
  void begin_file(const CallPointer& call, const AnswerWithFile& answer_with);
  void begin_opened(const CallPointer& call, const AnswerWithFile& answer_with);
  void download_file(const CallPointer& call);
  void begin(const CallPointer& call, const std::shared_ptr<ApiRequest>& request, const MakeAnswer& make_answer);
  void check_room_for(const std::vector<Document>& documents) const;
  void answer(Call& call, const ApiRequest& request, const ApiResult& result, const MakeAnswer& make_answer);
  static void fail_with(Call& call, const std::exception_ptr& error);
  void detect(const CallPointer& call);
  void languages(const CallPointer& call);
  void settings(const CallPointer& call);
  void health(const CallPointer& call, bool readiness);
  void metrics(const CallPointer& call);
  std::string check_key(const std::string& given, const HttpRequest& request) const;
  std::string address_of(const HttpRequest& request) const;

  Models& models_;
  const CurrentApiKeys& keys_;
  Batcher& batcher_;
  Metrics& metrics_;
  const ApiOptions options_;
  ClientCounts clients_;
  FileStore files_;
  std::function<HttpStatistics()> statistics_{};
  std::atomic<bool> draining_{false};
};

}  // namespace v0
}  // namespace transmute
