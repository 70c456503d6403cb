// SPDX-License-Identifier: Apache-2.0
// serve: translations over HTTP. See --help and docs/serving.md.

#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/common/memory.h>
#include <transmute/engine/device_backend.h>
#include <transmute/programs/shared/flag_values.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/signals.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/serving/api.h>
#include <transmute/serving/http_server.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace {

struct Arguments {
  std::vector<std::string> models, shortlists;
  transmute::TranslatorOptions translator;
  std::string precision, pivot;
  std::string address = "127.0.0.1";
  int port = 5000;
  transmute::HttpLimits http;
  transmute::BatcherOptions batcher;
  transmute::ApiOptions api;
  std::string api_keys;
  double drain_seconds = 30;
};

// A line of JSON on standard error for each thing that happens. One that cannot be written, to a full disk for example,
// is lost; the next one is tried again.
void log(const transmute::Json& entry) {
  static std::mutex mutex;
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  transmute::Json line{{"time", std::round(now * 1000) / 1000}};
  line.update(entry);
  const std::string text = transmute::json_text(line) + "\n";
  const std::lock_guard<std::mutex> lock(mutex);
  std::cerr.clear();
  std::cerr << text << std::flush;
}

void warn_of_no_keys(const transmute::CurrentApiKeys& keys) {
  const auto current = keys.current();
  if (current->are_needed() && current->empty())
    log({{"event", "warning"}, {"text", keys.path() + " has no keys: every request will be refused"}});
}

// Each connection takes a descriptor; the system's default of 1024 is for programs that open files.
void allow_descriptors(size_t connections) {
  const size_t wanted = connections + 256, allowed = transmute::allow_open_files(wanted);
  if (allowed < wanted)
    std::cerr << fmt::format(
        "serve: the system allows {} open files, fewer than the {} connections of --max-connections; raise it with "
        "ulimit -n or systemd's LimitNOFILE=\n",
        allowed, connections);
}

transmute::Models open_models(const Arguments& arguments) {
  transmute::TranslatorOptions options = arguments.translator;
  options.precision = transmute::precision_of_flag(arguments.precision);
  std::vector<transmute::ModelSource> sources;
  for (const std::string& model : arguments.models) {
    for (const transmute::ModelSource& source : transmute::parse_model_sources(model)) {
      sources.push_back(source);
      if (const std::string doubt = transmute::doubt_about(source); !doubt.empty())
        log({{"event", "warning"}, {"text", doubt}});
    }
  }
  transmute::give_shortlists(arguments.shortlists, sources);
  return {sources, options, arguments.pivot};
}

// Reads the keys again, and opens the models again beside the present ones.
class Reloader {
 public:
  Reloader(transmute::Models& models, transmute::CurrentApiKeys& keys, transmute::Metrics& metrics)
      : models_(models), keys_(keys), metrics_(metrics) {}
  ~Reloader() {
    if (const std::lock_guard<std::mutex> lock(mutex_); is_wanted_) is_wanted_ = false;
    if (thread_.joinable()) thread_.join();
  }
  bool is_busy() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_wanted_.has_value();
  }
  void reload() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_wanted_.has_value()) {
      is_wanted_ = true;
      return log({{"event", "reload"}, {"result", "one is under way; another follows it"}});
    }
    is_wanted_ = true;
    if (thread_.joinable()) thread_.join();
    try {
      thread_ = std::thread([this] {
        while (takes_a_turn()) read_again();
      });
    } catch (const std::exception& error) {  // the system has no room for a thread
      is_wanted_.reset();
      metrics_.count_reload(false);
      report_failure("API keys and models", error);
    }
  }

 private:
  // False ends the thread.
  bool takes_a_turn() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!*is_wanted_) {
      is_wanted_.reset();
      return false;
    }
    is_wanted_ = false;
    return true;
  }
  // A key that was taken out is refused from then on, even if a model cannot be opened.
  void read_again() {
    const bool has_keys = !keys_.current()->are_needed() || succeeds("API keys", [&] {
      keys_.reload();
      warn_of_no_keys(keys_);
    });
    const bool has_models = succeeds("models", [&] { models_.reload(); });
    metrics_.count_reload(has_keys && has_models);
  }
  static bool succeeds(const char* what, const std::function<void()>& reload) {
    try {
      reload();
      log({{"event", "reload"}, {"result", "done"}, {"what", what}});
      return true;
    } catch (const std::exception& error) {
      report_failure(what, error);
      return false;
    }
  }
  static void report_failure(const char* what, const std::exception& error) {
    try {
      log({{"event", "reload"},
           {"result", "failed; what was read before stays"},
           {"what", what},
           {"error", error.what()}});
    } catch (const std::bad_alloc&) {  // the metrics tell of it; what leaves the thread would end the server
    }
  }

  transmute::Models& models_;
  transmute::CurrentApiKeys& keys_;
  transmute::Metrics& metrics_;
  std::mutex mutex_;
  std::optional<bool> is_wanted_{};  // again, while the thread works
  std::thread thread_;
};

volatile std::sig_atomic_t asked_to_reload = 0;

// Until the server catches SIGHUP, which otherwise ends a process. A blocked signal would still end it by way of a
// thread that a library started before main().
void remember_to_reload(int /*signal*/) {
  asked_to_reload = 1;
}

int serve(Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, remember_to_reload);
  transmute::end_at_once_on_stop_signals();
  arguments.api.log = log;
  arguments.batcher.workers =
      transmute::worker_count(arguments.translator.threads, transmute::find_device(arguments.translator.device));
  allow_descriptors(arguments.http.connections);
  transmute::Models models = open_models(arguments);
  transmute::CurrentApiKeys keys(arguments.api_keys);
  warn_of_no_keys(keys);
  transmute::Metrics metrics;
  Reloader reloader(models, keys, metrics);
  std::unique_ptr<transmute::Api> api;
  transmute::HttpServer server(arguments.address, arguments.port, arguments.http,
                               [&](auto exchange) { api->handle(std::move(exchange)); });
  // Before the server goes, the batcher ends what it works on.
  transmute::Batcher batcher(arguments.batcher, [&](size_t segments) { metrics.count_batch(segments); });
  api = std::make_unique<transmute::Api>(models, keys, batcher, metrics, std::move(arguments.api));
  api->set_statistics([&] { return server.statistics(); });
  server.catch_signals({SIGTERM, SIGINT, SIGHUP}, [&](int signal) {
    if (signal == SIGHUP) return reloader.reload();
    log({{"event", "draining"}, {"signal", signal}});
    api->set_draining();
    server.drain(arguments.drain_seconds);
  });
  if (asked_to_reload != 0) reloader.reload();
  const bool is_ipv6 = arguments.address.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + arguments.address + "]" : arguments.address;
  std::cout << fmt::format("serve: http://{}:{}", host, server.port()) << std::endl;
  server.run();
  log({{"event", "stopped"}});
  if (reloader.is_busy()) std::_Exit(0);  // nobody waits for the models, which may take minutes to open
  return 0;
}

void add_limits(CLI::App& app, Arguments& arguments) {
  constexpr double kShortest = 1e-3, kLongest = 1e9;  // the clock's nanoseconds end at 9e9 seconds
  const auto add = [&app](const std::string& name, auto& value, const std::string& description) {
    const bool is_time = std::is_floating_point_v<std::remove_reference_t<decltype(value)>>;
    app.add_option(name, value, description)
        ->capture_default_str()
        ->check(is_time ? transmute::between(kShortest, kLongest) : transmute::at_least(1))
        ->group("Limits");
  };
  add("--max-body-bytes", arguments.http.body_bytes, "maximum size of a request's body (else 413)");
  add("--max-characters", arguments.api.limits.characters,
      "maximum length of all texts of a request together (else 400)");
  add("--max-tokens", arguments.api.limits.tokens,
      "maximum number of tokens of all texts of a request; counts more for beams wider than 4 and longer translations "
      "(else 413)");
  add("--max-texts", arguments.api.limits.texts, "maximum number of texts in a request (else 400)");
  add("--max-beam-size", arguments.api.limits.beam_size,
      "maximum number of hypotheses or alternatives that a request may ask for");
  add("--max-queue", arguments.batcher.max_segments, "maximum number of waiting sentences (else 503)");
  add("--max-queue-bytes", arguments.batcher.max_bytes, "maximum size of the waiting texts (else 503)");
  add("--max-requests-per-client", arguments.api.requests_per_client,
      "maximum number of concurrent requests per API key or, without keys, per address (else 429)");
  add("--max-connections", arguments.http.connections, "maximum number of open connections; further ones are closed");
  add("--request-seconds", arguments.api.request_seconds, "time from the end of a request to its answer (else 503)");
  add("--header-seconds", arguments.http.header_seconds, "time for the headers of a request to arrive (else 408)");
  add("--body-seconds", arguments.http.body_seconds, "time for the body of a request to arrive (else 408)");
  add("--write-seconds", arguments.http.write_seconds, "time for a client to receive its answer");
  add("--idle-seconds", arguments.http.idle_seconds, "time that an idle connection stays open");
  add("--drain-seconds", arguments.drain_seconds, "time for requests to finish after SIGTERM or SIGINT");
}

void add_flags(CLI::App& app, Arguments& arguments) {
  app.add_option(
         "-m,--model", arguments.models,
         "a model in any format that translate reads, preceded by its languages: en-de=MODEL, or en:ar/arb_Arab=MODEL "
         "with a name in a multilingual model's vocabulary; for a model folder alone, the languages come from its "
         "data.train_languages or the names of its training files (train.en, train.de), for a package of Argos "
         "Translate from the package, for a model of Firefox from its name; repeat for more languages, also with the "
         "same model")
      ->type_name("MODEL")
      ->required();
  app.add_option("--pivot", arguments.pivot,
                 "language through which to translate between pairs that have no model of their own")
      ->type_name("LANGUAGE");
  app.add_option("--shortlist", arguments.shortlists,
                 "a table written by make_shortlist, which makes single sentences faster, preceded by its model's "
                 "languages if there are several models: en-de=FILE; repeat for more models")
      ->type_name("FILE");
  app.add_option("--address", arguments.address,
                 "IP address to listen on; 0.0.0.0 or :: for all of the machine's addresses, preferably behind a proxy "
                 "with TLS")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--port", arguments.port, "port to listen on; 0: any free port")
      ->check(transmute::whole_between(0, 65535))
      ->capture_default_str();
  transmute::add_device_flag(app, arguments.translator.device);
  transmute::add_precision_flag(app, arguments.precision);
  transmute::add_threads_flag(app, arguments.translator.threads);
  app.add_option("--batch-size", arguments.batcher.batch_size,
                 "maximum number of sentences, of any requests, in a batch")
      ->check(transmute::at_least(1))
      ->capture_default_str();
  app.add_option(
         "--api-keys", arguments.api_keys,
         "a file with one line per client: the SHA-256 of its key and a name; without this flag, no key is needed")
      ->type_name("FILE");
  app.add_flag("--behind-proxy", arguments.api.behind_proxy,
               "take the client's address from the end of X-Forwarded-For, and the server's own from X-Forwarded-Host, "
               "-Proto and -Prefix; use it only behind a proxy that sets them");
  app.add_flag("--log-texts", arguments.api.log_texts,
               "also log texts, translations, and why a request is refused, which may quote it");
  app.add_flag("--quiet", arguments.api.log_failures_only, "log only the requests in which the server itself failed");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Serves translations over HTTP: LibreTranslate's API, /v1/translate with many more options, and "
      "a web page.",
      "serve");
  app.footer("{} -m runs/demo/model\n{} -m en-de=models/en-de -m de-fr=models/de-fr --pivot de --port 8080");
  Arguments arguments;
  add_flags(app, arguments);
  add_limits(app, arguments);
  return transmute::run_program(app, argc, argv, [&] {
    transmute::keep_freed_memory();
    return serve(arguments);
  });
}
