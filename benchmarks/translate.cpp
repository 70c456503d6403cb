// SPDX-License-Identifier: Apache-2.0
// benchmark_translate: how fast translation is on this machine, on its CPU against the matrix products that it consists
// of. See --help.

#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>
#include <torch/version.h>
#include <transmute/benchmarks/conditions.h>
#include <transmute/benchmarks/translation_work.h>
#include <transmute/common/files.h>
#include <transmute/common/memory.h>
#include <transmute/common/random.h>
#include <transmute/common/threads.h>
#include <transmute/device/step_models.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/engine/inference_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/module_weights.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/program.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/text/shortlist.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using transmute::Ids;
using transmute::Precision;
using transmute::ShortlistOf;
using namespace transmute::benchmarks;

struct Arguments {
  std::vector<std::string> shapes{"small", "base"};
  std::vector<std::string> precisions;
  std::vector<std::string> modes{"beam", "greedy", "single", "single-greedy"};
  std::string model;
  std::string input;
  int threads = 0;
  int64_t batch_size = 64;
  int64_t sentences = 256;
  int64_t single_sentences = 20;
  std::string shortlist;
  int64_t made_up_shortlist = 0;
  bool plain = false;
  std::string device = "cpu";
};

double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::min<double>(static_cast<double>(values.size()) - 1,
                                                     std::ceil(part * static_cast<double>(values.size())) - 1))];
}

// A network to measure, and what it is given.
struct Subject {
  std::string name;
  transmute::TransformerOptions options;
  std::function<transmute::Weights(Precision, const transmute::ParallelFor&)> load;
  std::vector<Ids> sources{};
  int64_t fixed_length = 0;  // 0: until the end
  ShortlistOf shortlist_of{};
};

// The tokens that a table with this many translations of each source token allows, besides 100 that every source
// allows.
ShortlistOf made_up_shortlists(int64_t translations, int64_t vocabulary) {
  return [=](const Ids& source) {
    Ids list(100);
    std::iota(list.begin(), list.end(), transmute::special_ids::kCount);
    const auto words = static_cast<uint64_t>(vocabulary - transmute::special_ids::kCount);
    for (const int64_t id : source)
      for (int64_t k = 0; k < translations; ++k)
        list.push_back(transmute::special_ids::kCount +
                       static_cast<int64_t>(transmute::combine_keys(static_cast<uint64_t>(id), k) % words));
    return list;
  };
}

// Random weights, stored in `folder` as convert would store them in each precision, for loading is measured too.
Subject random_subject(const std::string& shape, const Arguments& arguments, const std::string& folder) {
  torch::manual_seed(1);
  const transmute::TransformerOptions options = options_of(shape_named(shape));
  const auto file_of = [folder](Precision precision) {
    return transmute::path_in(folder, std::string(transmute::precision_name(precision)) + ".safetensors");
  };
  std::set<Precision> precisions;
  const bool on_cpu = arguments.device == "cpu";
  for (const auto& name : arguments.precisions)
    if (on_cpu) precisions.insert(transmute::precision_from_name(name));
  if (arguments.plain || !on_cpu) precisions.insert(Precision::float32);
  {
    const transmute::Weights weights = transmute::weights_of(transmute::Transformer(options));
    for (const auto precision : precisions) transmute::write_weights(file_of(precision), weights.stored_as(precision));
  }
  transmute::return_freed_memory();
  constexpr int64_t kSource = 20, kTarget = 30;
  Subject subject;
  subject.name = fmt::format("{} (random weights, {} source and {} target tokens)", shape, kSource, kTarget);
  subject.options = options;
  subject.load = [options, file_of](Precision precision, const transmute::ParallelFor& parallel_for) {
    const std::string file = file_of(precision);
    return transmute::Weights(options, transmute::read_tensor_file(file, parallel_for), file);
  };
  subject.fixed_length = kTarget - 1;
  std::mt19937_64 engine(2);
  for (int64_t i = 0; i < arguments.sentences; ++i) {
    Ids ids(static_cast<size_t>(kSource) - 1);  // and the end
    for (auto& id : ids)
      id = transmute::special_ids::kCount +
           static_cast<int64_t>(engine() %
                                static_cast<uint64_t>(options.source_vocab_size - transmute::special_ids::kCount));
    subject.sources.push_back(ids);
  }
  if (arguments.made_up_shortlist > 0)
    subject.shortlist_of = made_up_shortlists(arguments.made_up_shortlist, options.target_vocab_size);
  return subject;
}

Subject subject_from_files(const Arguments& arguments) {
  const transmute::LoadedModel loaded = transmute::load_model_folder(arguments.model);
  Subject subject;
  subject.name = arguments.model;
  subject.options = loaded.options;
  subject.load = [folder = arguments.model](Precision, const transmute::ParallelFor& parallel_for) {
    return transmute::load_model_folder(folder, parallel_for).weights;
  };
  const auto start = Clock::now();
  const auto lines = transmute::read_input_lines(arguments.input);
  for (const auto& line : lines)
    if (Ids ids = loaded.tokenizer.source().encode(line); !ids.empty()) subject.sources.push_back(ids);
  std::cout << fmt::format("tokenizer: {:.1f} us a sentence\n",
                           1e6 * seconds_since(start) / static_cast<double>(lines.size()));
  std::stable_sort(subject.sources.begin(), subject.sources.end(),
                   [](const Ids& a, const Ids& b) { return a.size() > b.size(); });
  if (!arguments.shortlist.empty()) {
    transmute::ShortlistOptions options;
    options.table = arguments.shortlist;
    const auto shortlist = std::make_shared<const transmute::Shortlist>(options, loaded.tokenizer);
    subject.shortlist_of = [shortlist](const Ids& source) { return shortlist->tokens_for(source); };
  }
  return subject;
}

// One way of computing it.
struct Engine {
  std::string name;
  const transmute::StepModel& model;
  double roof;  // of its matrix products, 0: not known
};

void measure(const Arguments& arguments, const Subject& subject, const Engine& engine, transmute::ThreadPool& pool) {
  const transmute::testing::WatchedModel fixed = transmute::of_fixed_length(engine.model, subject.fixed_length);
  const transmute::StepModel& used =
      subject.fixed_length > 0 ? static_cast<const transmute::StepModel&>(fixed) : engine.model;
  const transmute::Work work = transmute::work_of(subject.options);
  for (const auto& mode : arguments.modes) {
    const bool single = mode.rfind("single", 0) == 0;
    const int64_t beam = mode.find("greedy") == std::string::npos ? 4 : 1;
    std::vector<Ids> sources = subject.sources;
    if (single && static_cast<int64_t>(sources.size()) > arguments.single_sentences) {
      std::mt19937 random(5);
      std::shuffle(sources.begin(), sources.end(), random);
      sources.resize(static_cast<size_t>(arguments.single_sentences));
    }
    const int64_t batch_size = single ? 1 : arguments.batch_size;
    const transmute::SearchRun run{batch_size, beam, subject.shortlist_of, single ? nullptr : &pool};
    // One batch for each thread before the clock starts.
    std::vector<Ids> first(sources.begin(),
                           sources.begin() + std::min<int64_t>(static_cast<int64_t>(sources.size()),
                                                               single ? 2 : batch_size * arguments.threads));
    translate(used, first, run);
    const transmute::RunResult result = translate(used, sources, run);
    double source_tokens = 0;
    for (const auto& source : sources) source_tokens += static_cast<double>(source.size()) + 1;
    const double operations =
        2 * (work.per_source_token * source_tokens + work.per_target_token * static_cast<double>(result.decoded_rows));
    const auto count = static_cast<double>(sources.size());
    std::cout << fmt::format("  {:<9} {:<7} batch {:<3} threads {}: ", engine.name, beam == 1 ? "greedy" : "beam 4",
                             batch_size, single ? 1 : arguments.threads);
    if (single) {
      std::cout << fmt::format("p50 {:.2f} ms, p90 {:.2f} ms, p99 {:.2f} ms; CPU time p50 {:.2f} ms\n",
                               1e3 * percentile(result.latencies, 0.5), 1e3 * percentile(result.latencies, 0.9),
                               1e3 * percentile(result.latencies, 0.99), 1e3 * percentile(result.cpu_latencies, 0.5));
    } else {
      const double busy = result.cpu / static_cast<double>(arguments.threads);  // had the machine been ours alone
      std::cout << fmt::format("{:.1f} sentences/s, {:.0f} tokens/s; by CPU time {:.1f} and {:.0f}, {:.0f} GOP/s",
                               count / result.seconds, static_cast<double>(result.tokens) / result.seconds,
                               count / busy, static_cast<double>(result.tokens) / busy, operations / busy * 1e-9);
      if (engine.roof > 0 && !subject.shortlist_of)
        std::cout << fmt::format(" ({:.0f}% of the roof)", 100 * operations / busy / engine.roof);
      std::cout << '\n';
    }
    std::cout << std::flush;
  }
}

void measure_on_device(const Arguments& arguments, const Subject& subject, transmute::ThreadPool& pool) {
  const torch::Device device = transmute::parse_device(arguments.device);
  for (const auto& name : arguments.precisions) {
    const auto transformer = transmute::make_transformer(subject.load(Precision::float32, pool.parallel_for()), device);
    const auto ready =
        transmute::make_step_model(transformer, device, transmute::precision_from_name(name), pool.parallel_for());
    measure(arguments, subject, {name, *ready.model, 0}, pool);
  }
}

void measure(const Arguments& arguments, const Subject& subject) {
  std::cout << fmt::format("{}: {} sentences\n", subject.name, subject.sources.size());
  if (subject.shortlist_of) {
    std::set<int64_t> tokens;
    size_t sum = 0;
    for (const Ids& source : subject.sources) {
      const Ids list = subject.shortlist_of(source);
      tokens.insert(list.begin(), list.end());
      sum += std::set<int64_t>(list.begin(), list.end()).size();
    }
    std::cout << fmt::format(
        "  shortlists of {:.0f} tokens, {} different ones in all; GOP/s count the whole output product\n",
        static_cast<double>(sum) / static_cast<double>(subject.sources.size()), tokens.size());
  }
  transmute::ThreadPool pool(arguments.threads);
  if (arguments.device != "cpu") return measure_on_device(arguments, subject, pool);
  if (arguments.plain) {
    const transmute::TransformerStepModel model(
        transmute::make_transformer(subject.load(Precision::float32, pool.parallel_for()), torch::kCPU), torch::kCPU);
    measure(arguments, subject, {"plain", model, 0}, pool);
  }
  for (const auto& name : arguments.precisions) {
    const Precision precision = transmute::precision_from_name(name);
    const auto start = Clock::now();
    const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
    const transmute::InferenceModel model(subject.load(precision, pool.parallel_for()), precision, pool.parallel_for(),
                                          transmute::WeightUse::taken);
    const double seconds = seconds_since(start);
    const double cpu_time = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    transmute::return_freed_memory();
    const double roof = transmute::measure_roof(subject.options, precision, arguments.threads, 256);
    std::cout << fmt::format("  {:<9} loaded in {:.3f} s, {:.3f} s of CPU time; roof at 256 rows: {:.0f} GOP/s\n", name,
                             seconds, cpu_time, roof * 1e-9);
    measure(arguments, subject, {name, model, roof}, pool);
  }
  std::cout << fmt::format("  peak memory of the process so far: {:.0f} MB\n", peak_megabytes()) << std::flush;
}

int benchmark(Arguments arguments) {
  const bool on_cpu = arguments.device == "cpu";
  if (arguments.threads == 0) arguments.threads = on_cpu ? transmute::available_cores() : 1;
  if (arguments.precisions.empty())
    arguments.precisions = on_cpu ? std::vector<std::string>{"float32", "bfloat16", "int8"}
                                  : std::vector<std::string>{"float32", "bfloat16", "half"};
  if (arguments.model.empty() != arguments.input.empty())
    throw std::invalid_argument("--model and --input go together");
  if (arguments.model.empty() ? !arguments.shortlist.empty() : arguments.made_up_shortlist > 0)
    throw std::invalid_argument("--shortlist is for a --model, --made-up-shortlist for the shapes");
  std::cout << transmute::version_text("benchmark_translate") << '\n'
            << fmt::format("{}, {}, {} threads with a batch each\n", cpu_name(), arguments.device, arguments.threads)
            << "warm-up: one batch for each thread; 0.1 s for the roof\n";
  const torch::NoGradGuard no_grad;
  if (!arguments.model.empty()) {
    measure(arguments, subject_from_files(arguments));
    return 0;
  }
  const transmute::testing::TemporaryFolder folder;
  for (const auto& shape : arguments.shapes) measure(arguments, random_subject(shape, arguments, folder.path()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  transmute::configure_process_for_workers();
  CLI::App app(
      "Measures translation: in batches, where the roof is the speed of the matrix products alone, measured "
      "in the same run; and one sentence at a time, on one thread.",
      "benchmark_translate");
  Arguments arguments;
  app.add_option("--shapes", arguments.shapes, "with random weights and fixed lengths")
      ->delimiter(',')
      ->check(CLI::IsMember(shape_names()))
      ->capture_default_str();
  app.add_option("--model", arguments.model, "a model folder instead of the shapes");
  app.add_option("--input", arguments.input, "and the text that it translates");
  app.add_option("--precisions", arguments.precisions,
                 "float32, bfloat16, int8, half; default: those that the device has")
      ->delimiter(',');
  app.add_option("--device", arguments.device, "cpu, cuda or cuda:N; there is no roof for a GPU")
      ->capture_default_str();
  app.add_option("--modes", arguments.modes, "beam, greedy, single, single-greedy")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--threads", arguments.threads, "workers; 0: one per core")->capture_default_str();
  app.add_option("--batch-size", arguments.batch_size, "sentences that a worker decodes together")
      ->capture_default_str();
  app.add_option("--sentences", arguments.sentences, "for the shapes")->capture_default_str();
  app.add_option("--single-sentences", arguments.single_sentences, "for single and single-greedy")
      ->capture_default_str();
  app.add_option("--shortlist", arguments.shortlist, "a table of make_shortlist for the model");
  app.add_option("--made-up-shortlist", arguments.made_up_shortlist,
                 "for the shapes: as of a table with N translations of each source token; 0: none")
      ->capture_default_str();
  app.add_flag("--plain", arguments.plain, "also LibTorch's operations on the module itself");
  return transmute::run_program(app, argc, argv, [&] { return benchmark(arguments); });
}
