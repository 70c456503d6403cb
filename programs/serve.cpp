// SPDX-License-Identifier: Apache-2.0
// serve: translations over HTTP. See --help and docs/serving.md.

#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>
#include <transmute/common/json.h>
#include <transmute/common/threads.h>
#include <transmute/model/threading.h>
#include <transmute/programs/program.h>
#include <transmute/serving/api.h>
#include <transmute/serving/http_server.h>
#include <transmute/translation/precision.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace {

struct Arguments {
  std::vector<std::string> models;
  transmute::TranslatorOptions translator;
  std::string precision = "stored", pivot;
  std::string address = "127.0.0.1";
  int port = 5000;
  transmute::HttpLimits http;
  transmute::BatcherOptions batcher;
  transmute::ApiOptions api;
  std::string api_keys;
  double drain_seconds = 30;
  bool quiet = false;
};

// A line of JSON on standard error for each thing that happens.
void log(const transmute::Json& entry) {
  static std::mutex mutex;
  const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  transmute::Json line{{"time", std::round(now * 1000) / 1000}};
  line.update(entry);
  const std::string text = transmute::json_text(line) + "\n";
  const std::lock_guard<std::mutex> lock(mutex);
  std::cerr << text << std::flush;
}

// Each connection takes a descriptor; the system's default of 1024 is for programs that open files.
void allow_descriptors(size_t connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = connections + 256;
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < wanted)
    std::cerr << fmt::format(
        "serve: the system allows {} open files, fewer than the {} connections of --max-connections; raise it with "
        "ulimit -n or systemd's LimitNOFILE=\n",
        limit.rlim_cur, connections);
}

transmute::Models open_models(const Arguments& arguments) {
  transmute::TranslatorOptions options = arguments.translator;
  if (arguments.precision != "stored") options.precision = transmute::precision_from_name(arguments.precision);
  std::vector<transmute::ModelSource> sources;
  for (const std::string& model : arguments.models) sources.push_back(transmute::parse_model_source(model));
  return {sources, options, arguments.pivot};
}

// Opens the models again beside the present ones.
class Reloader {
 public:
  Reloader(transmute::Models& models, transmute::Metrics& metrics) : models_(models), metrics_(metrics) {}
  ~Reloader() {
    if (thread_.joinable()) thread_.join();
  }
  void reload() {
    if (busy_.exchange(true)) return log({{"event", "reload"}, {"result", "one is under way"}});
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this] {
      try {
        models_.reload();
        metrics_.count_reload(true);
        log({{"event", "reload"}, {"result", "done"}});
      } catch (const std::exception& error) {
        metrics_.count_reload(false);
        log({{"event", "reload"}, {"result", "failed; the present models stay"}, {"error", error.what()}});
      }
      busy_ = false;
    });
  }

 private:
  transmute::Models& models_;
  transmute::Metrics& metrics_;
  std::atomic<bool> busy_{false};
  std::thread thread_;
};

int serve(Arguments& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  if (!arguments.api_keys.empty()) arguments.api.keys = transmute::ApiKeys(arguments.api_keys);
  if (!arguments.quiet) arguments.api.log = log;
  arguments.batcher.workers =
      arguments.translator.threads > 0 ? arguments.translator.threads : transmute::available_cores();
  allow_descriptors(arguments.http.connections);
  transmute::Models models = open_models(arguments);
  transmute::Metrics metrics;
  Reloader reloader(models, metrics);
  std::unique_ptr<transmute::Api> api;
  transmute::HttpServer server(arguments.address, arguments.port, arguments.http,
                               [&](auto exchange) { api->handle(std::move(exchange)); });
  // Before the server goes, the batcher ends what it works on.
  transmute::Batcher batcher(arguments.batcher, [&](size_t segments) { metrics.count_batch(segments); });
  api = std::make_unique<transmute::Api>(models, batcher, metrics, std::move(arguments.api));
  api->set_statistics([&] { return server.statistics(); });
  server.catch_signals({SIGTERM, SIGINT, SIGHUP}, [&](int signal) {
    if (signal == SIGHUP) return reloader.reload();
    log({{"event", "draining"}, {"signal", signal}});
    api->set_draining();
    server.drain(arguments.drain_seconds);
  });
  std::cout << fmt::format("serve: http://{}:{}", arguments.address, server.port()) << std::endl;
  server.run();
  log({{"event", "stopped"}});
  return 0;
}

void add_limits(CLI::App& app, Arguments& arguments) {
  const auto add = [&app](const std::string& name, auto& value, const std::string& description) {
    app.add_option(name, value, description)->capture_default_str()->check(CLI::PositiveNumber)->group("Limits");
  };
  add("--max-body-bytes", arguments.http.body_bytes, "of a request's body; more is answered with 413");
  add("--max-characters", arguments.api.limits.characters, "of all texts of a request; more is answered with 400");
  add("--max-texts", arguments.api.limits.texts, "in a request; more are answered with 400");
  add("--max-beam-size", arguments.api.limits.beam_size, "hypotheses and alternatives that a request may ask for");
  add("--max-queue", arguments.batcher.max_segments,
      "sentences that wait to be translated; a request that exceeds it is answered with 503");
  add("--max-queue-bytes", arguments.batcher.max_bytes, "of the texts that wait, likewise");
  add("--max-requests-per-client", arguments.api.requests_per_client,
      "under way at once, by API key, else by address; more are answered with 429");
  add("--max-connections", arguments.http.connections, "open at once; more are closed");
  add("--request-seconds", arguments.api.request_seconds,
      "from a complete request to its answer; one that takes longer is answered with 503");
  add("--header-seconds", arguments.http.header_seconds, "for the headers of a request to arrive");
  add("--body-seconds", arguments.http.body_seconds, "for its body to arrive");
  add("--write-seconds", arguments.http.write_seconds, "for a client to take its answer");
  add("--idle-seconds", arguments.http.idle_seconds, "that a connection stays open without a request");
  add("--drain-seconds", arguments.drain_seconds,
      "that requests may take to end after SIGTERM or SIGINT; then the server stops");
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app("Translates for everybody who speaks HTTP: LibreTranslate's interface, /v1/translate, and a page.",
               "serve");
  Arguments arguments;
  app.add_option("--model", arguments.models,
                 "a model folder, as train makes it, or a file of export_torchscript, with its languages before it: "
                 "en-de=FOLDER; without them they are those by which the files it was trained on are called; several "
                 "for several languages")
      ->required();
  app.add_option("--pivot", arguments.pivot,
                 "a language's code: pairs without a model are translated to this language and from there");
  app.add_option("--address", arguments.address,
                 "IP address to listen on; 0.0.0.0 or :: for all of the machine's, best behind a proxy with TLS")
      ->capture_default_str();
  app.add_option("--port", arguments.port, "0: any that is free")->check(CLI::Range(0, 65535))->capture_default_str();
  app.add_option("--device", arguments.translator.device, "cpu, cuda, cuda:N or auto")->capture_default_str();
  app.add_option(
         "--precision", arguments.precision,
         "of matrix products: float32, bfloat16, half, int8, or stored: what the model's matrices are stored in, "
         "where the device is made for it, else float32")
      ->capture_default_str();
  app.add_option("--threads", arguments.translator.threads, "workers on the CPU; 0: one per core")
      ->capture_default_str();
  app.add_option("--batch-size", arguments.batcher.batch_size,
                 "sentences, of all requests, that a worker decodes together")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--api-keys", arguments.api_keys,
                 "a file with a line for each client: the SHA-256 of its key, and a name; without it everybody may "
                 "translate");
  app.add_flag("--behind-proxy", arguments.api.behind_proxy,
               "a client's address is the last one in X-Forwarded-For; only where a proxy sets that header");
  app.add_flag("--log-texts", arguments.api.log_texts, "write texts and translations into the log, too");
  app.add_flag("--quiet", arguments.quiet, "no log of requests");
  add_limits(app, arguments);
  return transmute::run_program(app, argc, argv, [&] { return serve(arguments); });
}
