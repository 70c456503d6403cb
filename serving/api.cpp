// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/api.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/ascii_case.h>
#include <transmute/common/memory.h>
#include <transmute/serving/client_address.h>
#include <transmute/serving/detection.h>
#include <transmute/serving/openapi.h>
#include <transmute/serving/request_cost.h>
#include <transmute/serving/routes.h>
#include <transmute/serving/task.h>
#include <transmute/serving/web_sources.h>
#include <transmute/text/language_codes.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

struct WebFile {
  const char *path, *name, *content_type;
};
constexpr std::array<WebFile, 5> kWebFiles{{{"/", "page.html", "text/html; charset=utf-8"},
                                            {"/page.css", "page.css", "text/css; charset=utf-8"},
                                            {"/page.js", "page.js", "text/javascript; charset=utf-8"},
                                            {"/choices.js", "choices.js", "text/javascript; charset=utf-8"},
                                            {"/icon.svg", "icon.svg", "image/svg+xml"}}};

constexpr const char* kDownloads = "/download_file";  // followed by the name of a file
constexpr std::array<std::pair<const char*, const char*>, 14> kRoutes{{{"/translate", "POST"},
                                                                       {"/translate_file", "POST"},
                                                                       {kDownloads, "GET"},
                                                                       {"/v1/translate", "POST"},
                                                                       {"/v1/documents", "POST"},
                                                                       {"/detect", "POST"},
                                                                       {"/languages", "GET"},
                                                                       {"/frontend/settings", "GET"},
                                                                       {"/openapi.json", "GET"},
                                                                       {"/spec", "GET"},
                                                                       {"/health", "GET"},
                                                                       {"/health/live", "GET"},
                                                                       {"/health/ready", "GET"},
                                                                       {"/metrics", "GET"}}};

// The path without the file name at its end.
std::string route_of(const std::string& path) {
  const std::string_view downloads = kDownloads;
  return path.compare(0, downloads.size() + 1, std::string(downloads) + '/') == 0 ? std::string(downloads) : path;
}

// The method that a route is for; empty if there is no such route.
std::string method_for(const std::string& path) {
  for (const WebFile& file : kWebFiles)
    if (path == file.path) return "GET";
  for (const auto& [route, method] : kRoutes)
    if (path == route) return method;
  return "";
}

HttpResponse web_page(const WebFile& file, std::string text) {
  HttpResponse response;
  response.content_type = file.content_type;
  response.body = std::move(text);
  response.headers = {{"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}};
  return response;
}

HttpResponse preflight_answer() {
  HttpResponse response;
  response.status = 204;
  response.content_type.clear();
  response.headers = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Content-Type, Authorization, X-Request-Id"},
                      {"Access-Control-Max-Age", "86400"}};
  return response;
}

struct Failure {
  int status;
  std::string message;
};

// Returns the status and message for the client. Notes failures of the server itself for the log.
Failure failure_of(Call& call, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ApiError& refused) {
    return {refused.status(), refused.what()};
  } catch (const Cancelled&) {
    return {503, call.is_abandoned() ? "the client has left"
                                     : "the translation took too long (--request-seconds); send less text at a time"};
  } catch (const std::invalid_argument& refused) {
    return {400, std::string("Invalid request: ") + refused.what()};
  } catch (const std::bad_alloc&) {  // memory becomes free when other requests have ended
    call.note("failure", "there is not enough memory");
    return {503, "there is not enough memory for this request at the moment; send less text, or try again later"};
  } catch (const std::exception& failure) {
    call.note("failure", failure.what());
    return {500, "Internal error; the server's log says more about request " + call.id()};
  }
}

// The file name endings that are translated.
Json file_endings() {
  Json endings = Json::array();
  for (const DocumentFormat& format : document_formats()) {
    std::istringstream words(format.endings);
    for (std::string ending; words >> ending;) endings.push_back(ending);
  }
  return endings;
}

std::vector<Document> make_documents(const ApiRequest& request, const TextRoutes& routes) {
  const Glossary glossary(request.options.glossary), none;
  std::map<const TaskRoute*, SentenceSplitter> splitters;
  std::vector<Document> documents;
  for (size_t i = 0; i < request.texts.size(); ++i) {
    const TaskRoute& route = *routes[i];
    if (route.models.empty() || !request.prefixes.empty()) {
      documents.emplace_back(request.texts[i]);
      continue;
    }
    const Translator& first = *route.models.front().model;
    auto splitter = splitters.find(&route);
    if (splitter == splitters.end()) splitter = splitters.emplace(&route, first.sentence_splitter(route.source)).first;
    // Source terms are in the source language of the last model, which, with a pivot, is not that of these texts.
    documents.emplace_back(request.texts[i], request.format, request.split_sentences.value_or(first.splits_sentences()),
                           route.models.size() == 1 ? glossary : none, splitter->second);
  }
  return documents;
}

// The key of "Authorization: Bearer KEY"; empty if there is none.
std::string key_in_headers(const HttpRequest& request) {
  const std::string authorization = request.header("authorization"), scheme = "bearer ";
  return lower_case(authorization.substr(0, scheme.size())) == scheme ? authorization.substr(scheme.size()) : "";
}

bool is_large(const Call& call) {
  constexpr size_t kLargeBody = 8 * 1024;
  return call.request().body.size() >= kLargeBody;
}

// Even a small body can have many texts, each with a language to detect, and characters of many tokens.
bool has_much_to_prepare(const ApiRequest& request) {
  constexpr size_t kManyTexts = 50, kManyBytes = 32 * 1024;
  size_t bytes = 0;
  for (const std::string& text : request.texts) bytes += most_normalized_bytes(text);
  return request.texts.size() > kManyTexts || bytes > kManyBytes;
}

// The alignments of a request with a sentence of 2000 tokens, or with many shorter ones, take some 100 MB together with
// what is computed from them, and the process would keep that memory.
bool had_large_alignments(const ApiRequest& request, const ApiResult& result) {
  constexpr size_t kLarge = 2000 * 2000;
  if (!request.options.inline_tags && !request.options.search.alignments) return false;
  size_t numbers = 0;
  for (const auto& document : result.translations)
    for (const Translation& translation : document)
      for (const Hypothesis& hypothesis : translation.hypotheses)
        numbers += translation.source_tokens.size() * hypothesis.tokens.size();
  return numbers >= kLarge;
}

}  // namespace

Api::Api(Models& models, const CurrentApiKeys& keys, Batcher& batcher, Metrics& metrics, ApiOptions options)
    : models_(models),
      keys_(keys),
      batcher_(batcher),
      metrics_(metrics),
      options_(std::move(options)),
      clients_(options_.requests_per_client) {}

void Api::handle(std::shared_ptr<HttpExchange> exchange) {
  const std::string path = route_of(exchange->request().path);
  const bool is_known = !method_for(path).empty();
  const auto call =
      std::make_shared<Call>(std::move(exchange), is_known ? path : "other",
                             CallReport{&metrics_, options_.log, options_.log_texts, options_.log_failures_only});
  if (options_.behind_proxy) call->note("client", address_of(call->request()));
  try {
    route(call);
  } catch (...) {
    fail_with(*call, std::current_exception());
  }
}

void Api::route(const CallPointer& call) {
  const HttpRequest& request = call->request();
  const std::string wanted = method_for(route_of(request.path));
  if (wanted.empty()) return call->fail(404, "Not found: " + request.path.substr(0, 100));
  if (request.method == "OPTIONS") return call->answer(preflight_answer());
  if (request.method != wanted && !(request.method == "HEAD" && wanted == "GET")) {
    HttpResponse response;
    response.status = 405;
    response.body = json_text(Json{{"error", request.path + " is for " + wanted}});
    response.headers.emplace_back("Allow", wanted + (wanted == "GET" ? ", HEAD" : "") + ", OPTIONS");
    return call->answer(std::move(response));
  }
  for (const WebFile& file : kWebFiles)
    if (request.path == file.path) return call->answer(web_page(file, serving::source(file.name)));
  if (request.path == "/translate") return translate(call, parse_libretranslate, libretranslate_answer);
  if (request.path == "/v1/translate") return translate(call, parse_v1, v1_answer);
  if (request.path == "/v1/documents") return translate_document(call);
  if (request.path == "/translate_file") return translate_file(call);
  if (route_of(request.path) == kDownloads) return download_file(call);
  if (request.path == "/detect") return detect(call);
  if (request.path == "/languages") return languages(call);
  if (request.path == "/frontend/settings") return settings(call);
  if (request.path == "/openapi.json") return call->answer(openapi(options_.limits));
  if (request.path == "/spec") return call->answer(libretranslate_spec(options_.limits));
  if (request.path == "/metrics") return metrics(call);
  health(call, request.path != "/health/live");
}

// Checks the key that the request brings, in its body or in its headers.
std::string Api::check_key(const std::string& given, const HttpRequest& request) const {
  const auto keys = keys_.current();
  if (!keys->are_needed()) return "";
  const std::string key = given.empty() ? key_in_headers(request) : given;
  if (key.empty()) throw ApiError(403, "Please contact the server operator to get an API key");
  const auto name = keys->name_of(key);
  if (!name) throw ApiError(403, "Invalid API key");
  return *name;
}

std::string Api::address_of(const HttpRequest& request) const {
  const std::string forwarded = request.header("x-forwarded-for");
  if (!options_.behind_proxy || forwarded.empty()) return request.client;
  const size_t comma = forwarded.rfind(',');
  const size_t begin = comma == std::string::npos ? 0 : forwarded.find_first_not_of(" ", comma + 1);
  const size_t end = forwarded.find_last_not_of(' ') + 1;
  return begin == std::string::npos || begin >= end ? request.client : forwarded.substr(begin, end - begin);
}

// Checks the key, and counts the request for its client.
void Api::admit(const CallPointer& call, const std::string& api_key) {
  const std::string key_name = check_key(api_key, call->request());
  if (!key_name.empty()) call->note("key", key_name);
  count(call, key_name);
}

void Api::count(const CallPointer& call, const std::string& key_name) {
  if (!call->enter(clients_, key_name.empty() ? client_of_address(address_of(call->request())) : "key " + key_name)) {
    metrics_.count_rejection("client");
    throw ApiError(429, fmt::format("more than {} of your requests are under way; wait for one to end",
                                    options_.requests_per_client));
  }
}

// Reading a large body, opening a file, or splitting a large text takes up to seconds, in which the network's thread
// must serve the others.
void Api::run_aside(const CallPointer& call, std::function<void()> work) {
  const auto job = [this, call, work = std::move(work)] {
    try {
      try {
        if (call->is_abandoned()) throw Cancelled();
        if (call->age() > options_.request_seconds) refuse_for_queue();  // the request has only waited
        work();
      } catch (...) {
        fail_with(*call, std::current_exception());
      }
    } catch (const std::bad_alloc&) {
      // If the call is destroyed unanswered, the server answers with status 500.
    }
  };
  if (!batcher_.run(job, call->request().body.size())) refuse_for_queue();
}

// No client may fill the queue with more requests than its limit. A key in the body is not known before the body is
// read: until then the request counts for its address.
void Api::read_aside(const CallPointer& call, std::function<void()> work) {
  count(call, keys_.current()->name_of(key_in_headers(call->request())).value_or(""));
  run_aside(call, std::move(work));
}

// A small body is read, and its text split, within milliseconds; several of them shall share a batch.
void Api::read_aside_if_large(const CallPointer& call, std::function<void()> work) {
  is_large(*call) ? read_aside(call, std::move(work)) : work();
}

void Api::refuse_for_queue() {
  metrics_.count_rejection("queue");
  throw ApiError(503, "too many texts wait to be translated; try again later");
}

void Api::translate(const CallPointer& call, Parse parse, const MakeAnswer& make_answer) {
  read_aside_if_large(call, [this, call, parse, make_answer] {
    const auto request = std::make_shared<ApiRequest>(parse(call->request(), options_.limits));
    admit(call, request->api_key);
    const auto work = [this, call, request, make_answer] { begin(call, request, make_answer); };
    has_much_to_prepare(*request) && !is_large(*call) ? run_aside(call, work) : work();
  });
}

// The client must not be told to retry a request that can never be accepted.
void Api::check_room_for(const std::vector<Document>& documents) const {
  size_t segments = 0, bytes = 0;
  for (const Document& document : documents) {
    segments += document.segments().size();
    for (const std::string& segment : document.segments()) bytes += segment.size();
  }
  const BatcherOptions& limits = batcher_.options();
  if (segments > limits.max_segments)
    throw ApiError(
        413, fmt::format("the texts have {} sentences; a request may have {} (--max-queue); send less text at a time",
                         segments, limits.max_segments));
  if (bytes > limits.max_bytes)
    throw ApiError(
        413, fmt::format("the texts have {} bytes; a request may have {} (--max-queue-bytes); send less text at a time",
                         bytes, limits.max_bytes));
}

void Api::begin(const CallPointer& call, const std::shared_ptr<ApiRequest>& request, const MakeAnswer& make_answer) {
  const auto result = std::make_shared<ApiResult>();
  TaskRequest task;
  task.routes = routes_of(*models_.current(), *request, *result);
  result->documents = make_documents(*request, task.routes);
  check_room_for(result->documents);
  check_alignments(*request, result->documents, task.routes);
  task.documents = result->documents;
  task.prefixes = request->prefixes;
  check_tokens(*request, result->documents, task.routes, options_.limits);
  task.is_unwanted = [call, seconds = options_.request_seconds] {
    return call->is_abandoned() || call->age() > seconds;
  };
  if (request->stream) {
    task.wants_text = [call] { return call->wants_events(); };
    task.on_text = [call](size_t document, const std::string& so_far) {
      call->send_event("text", {{"index", document}, {"text", so_far}});
    };
  }
  task.on_done = [this, call, request, result, make_answer](std::vector<std::vector<Translation>> translations) {
    result->translations = std::move(translations);
    answer(*call, *request, *result, make_answer);
    if (!had_large_alignments(*request, *result)) return;
    result->translations.clear();
    return_freed_memory();
  };
  task.on_failed = [call](const std::exception_ptr& error) { fail_with(*call, error); };
  if (!start_task(std::move(task), batcher_)) refuse_for_queue();
}

void Api::answer(Call& call, const ApiRequest& request, const ApiResult& result, const MakeAnswer& make_answer) {
  size_t source = 0, target = 0;
  for (const auto& document : result.translations)
    for (const Translation& translation : document) {
      source += translation.source_tokens.size();
      target += translation.hypotheses.front().tokens.size();
    }
  metrics_.count_tokens(source, target);
  call.note("languages", request.source + "-" + request.target);
  call.note("source_tokens", source);
  call.note("target_tokens", target);
  Answer answer = make_answer(request, result);
  const Json* const json = std::get_if<Json>(&answer);
  if (options_.log_texts) {
    call.note("texts", request.texts);
    if (json != nullptr) call.note("answer", *json);
  }
  if (json == nullptr) return call.answer(std::get<HttpResponse>(std::move(answer)));
  if (!request.stream) return call.answer(*json);
  call.send_event("done", *json);
  call.end_events();
}

// Reports the failure as an answer or, if a stream has started, as its last event.
void Api::fail_with(Call& call, const std::exception_ptr& error) {
  const Failure failure = failure_of(call, error);
  if (!call.has_sent_events()) return call.fail(failure.status, failure.message);
  call.send_event("error", {{"error", failure.message}});
  call.end_events(failure.status);
}

void Api::detect(const CallPointer& call) {
  read_aside_if_large(call, [this, call] {
    const std::string text = parameter(call->request(), "q");
    admit(call, keys_.current()->are_needed() ? parameter(call->request(), "api_key") : "");
    if (text.empty()) throw ApiError(400, "Invalid request: missing q parameter");
    ApiRequest request;
    request.texts = {text};
    check_texts(request, options_.limits);
    Json answer = Json::array();
    for (const DetectedLanguage& language : detect_language(text, languages_to_detect(*models_.current())))
      answer.push_back(json_of(language));
    call->answer(answer);
  });
}

void Api::languages(const CallPointer& call) {
  const auto models = models_.current();  // keeps them open during a reload
  Json answer = Json::array();
  for (const auto& [code, targets] : models->targets())
    answer.push_back({{"code", code}, {"name", language_name(code)}, {"targets", targets}});
  call->answer(answer);
}

void Api::settings(const CallPointer& call) {
  const auto models = models_.current();
  const std::string source = languages_to_detect(*models).front();
  const std::set<std::string>& targets = models->targets().at(source);
  const std::string target =
      *std::find_if(targets.begin(), targets.end(), [&](const auto& code) { return code != source; });
  const auto language = [](const std::string& code) { return Json{{"code", code}, {"name", language_name(code)}}; };
  const bool needs_key = keys_.current()->are_needed();
  call->answer({{"apiKeys", needs_key},
                {"keyRequired", needs_key},
                {"charLimit", options_.limits.characters},
                {"frontendTimeout", 500},
                {"filesTranslation", true},
                {"supportedFilesFormat", file_endings()},
                {"suggestions", false},
                {"language", {{"source", language(source)}, {"target", language(target)}}}});
}

void Api::health(const CallPointer& call, bool readiness) {
  if (readiness && draining_) return call->fail(503, "the server is shutting down");
  call->answer({{"status", "ok"}});
}

void Api::metrics(const CallPointer& call) {
  MetricsPage page;
  metrics_.write(page);
  const BatcherState state = batcher_.state();
  const auto add = [&page](const std::string& name, const std::string& type, const std::string& help, size_t value) {
    page.begin(name, type, help);
    page.add(name, "", static_cast<double>(value));
  };
  add("transmute_queue_segments", "gauge", "Segments that wait to be translated.", state.waiting_segments);
  add("transmute_queue_bytes", "gauge", "Bytes of text that wait to be translated.", state.waiting_bytes);
  add("transmute_running_segments", "gauge", "Segments that are being translated.", state.running_segments);
  add("transmute_queue_requests", "gauge", "Files and large bodies that wait to be read.", state.waiting_jobs);
  if (statistics_) {
    const HttpStatistics http = statistics_();
    add("transmute_connections", "gauge", "Open connections.", http.connections);
    add("transmute_connections_total", "counter", "Connections accepted.", http.accepted);
    add("transmute_connections_refused_total", "counter", "Connections closed for lack of room.", http.refused);
    add("transmute_connections_given_up_total", "counter", "Connections closed because an answer was not taken.",
        http.given_up);
    add("transmute_answer_bytes", "gauge", "Bytes of answers that clients have not taken yet.", http.answer_bytes);
    page.begin("transmute_bad_requests_total", "counter", "Requests that never became complete, by status.");
    for (const auto& [status, count] : http.answered_by_server)
      page.add("transmute_bad_requests_total", metric_label("status", std::to_string(status)),
               static_cast<double>(count));
  }
  page.begin("transmute_model_info", "gauge", "The models that are served.");
  for (const ModelSource& model : models_.sources())
    page.add("transmute_model_info", metric_label("model", model_name(model)) + "," + metric_label("path", model.path),
             1);
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = page.text();
  call->answer(std::move(response));
}

}  // namespace v0
}  // namespace transmute
