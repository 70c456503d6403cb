// SPDX-License-Identifier: Apache-2.0
// benchmark_train: a training step, everything counted, against the time of its matrix products alone, measured in the
// same run. See --help.

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <torch/version.h>
#include <transmute/common/random.h>
#include <transmute/model/kernels/row_products.h>
#include <transmute/model/libtorch.h>
#include <transmute/model/threading.h>
#include <transmute/training/optimizer.h>
#include <transmute/training/replicas.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

namespace transmute {
namespace {

struct Shape {
  const char* name;
  int64_t layers, d_model, d_ff, num_heads, vocab_size;
  double dropout;
};

// tiny: configs/multi30k_en_de.yaml; base and big: Table 3 with a vocabulary of 8,000.
constexpr Shape kShapes[] = {{"tiny", 4, 128, 256, 4, 10000, 0.3},
                             {"small", 4, 256, 1024, 4, 8000, 0.1},
                             {"base", 6, 512, 2048, 8, 8000, 0.1},
                             {"big", 6, 1024, 4096, 16, 8000, 0.3}};

struct Arguments {
  std::vector<std::string> shapes = {"tiny", "small", "base"};
  std::vector<std::string> precisions = {"float32", "bfloat16"};
  int workers = 2;
  int64_t batch_tokens = 4096;
  int64_t piece_tokens = BatchStreamOptions().piece_tokens;
  double seconds = 20;
  int64_t length = 0;
  bool recompute = false;
  bool torch = false;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// CPU time of the whole process: other programs on the machine lengthen it less than the wall clock.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Pairs with the lengths of Multi30k's captions (13.6 ± 4 pieces on either side, related), pieces drawn by Zipf's law;
// or all of one length.
ParallelText synthetic_text(int64_t pairs, int64_t vocab_size, int64_t length) {
  uint64_t drawn = 0;
  const auto draw = [&] { return uniform(mix_bits(++drawn)); };
  const auto normal = [&] { return std::sqrt(-2 * std::log(draw() + 1e-300)) * std::cos(6.283185307 * draw()); };
  const auto sentence = [&](int64_t tokens) {
    Ids ids;
    for (int64_t i = 0; i < tokens; ++i) {
      const double rank = std::exp(draw() * std::log(static_cast<double>(vocab_size - 4)));
      ids.push_back(static_cast<int32_t>(std::min<double>(rank + 3, static_cast<double>(vocab_size - 1))));
    }
    return ids;
  };
  ParallelText text;
  for (int64_t i = 0; i < pairs; ++i) {
    const double target = 13.6 + 4 * normal();
    const double source = target + 2 * normal();
    const auto clipped = [&](double tokens) {
      return length > 0 ? length - 1 : static_cast<int64_t>(std::clamp(tokens, 4.0, 40.0));
    };
    text.source.add(sentence(clipped(source)));
    text.target.add(sentence(clipped(target)));
  }
  return text;
}

TransformerOptions options_of(const Shape& shape) {
  TransformerOptions options;
  options.source_vocab_size = options.target_vocab_size = shape.vocab_size;
  options.num_encoder_layers = options.num_decoder_layers = shape.layers;
  options.d_model = shape.d_model;
  options.d_ff = shape.d_ff;
  options.num_heads = shape.num_heads;
  options.dropout = shape.dropout;
  return options;
}

// x [rows,in] · Wᵀ [out,in]: with its two gradients, 6·rows·in·out operations.
struct Product {
  int64_t rows, in, out;
};

// The dense products of one piece with S source and T target rows, padding included; attention's own are left out.
std::vector<Product> products_of(const Shape& s, int64_t source_rows, int64_t target_rows) {
  const int64_t d = s.d_model;
  std::vector<Product> products;
  for (int64_t layer = 0; layer < s.layers; ++layer) {
    for (const int64_t rows : {source_rows, target_rows}) {
      products.push_back({rows, d, 3 * d});
      products.push_back({rows, d, d});
      products.push_back({rows, d, s.d_ff});
      products.push_back({rows, s.d_ff, d});
    }
    products.push_back({target_rows, d, d});
    products.push_back({source_rows, d, 2 * d});
    products.push_back({target_rows, d, d});
  }
  products.push_back({target_rows, d, s.vocab_size});
  return products;
}

double operations_of(const std::vector<std::vector<Product>>& pieces) {
  double operations = 0;
  for (const auto& piece : pieces)
    for (const auto& p : piece)
      operations += 6.0 * static_cast<double>(p.rows) * static_cast<double>(p.in) * static_cast<double>(p.out);
  return operations;
}

// Runs products alone, operands and results in memory of their own: with LibTorch's product, which is the roof, or with
// that of the training step, which on some machines is another.
enum class Multiplier { libtorch, own };
class ProductRunner {
 public:
  explicit ProductRunner(torch::Dtype type) : type_(type) {}

  void run(const Product& p, Multiplier multiplier) {
    auto& [x, weight, gradient, result, to_x, to_weight] = operands(p);
    const auto multiply = [&](torch::Tensor& out, const torch::Tensor& a, const torch::Tensor& b) {
      if (multiplier == Multiplier::libtorch)
        torch::mm_out(out, a, b);
      else
        kernels::multiply_into(out, a, b);
    };
    multiply(result, x, weight.t());
    multiply(to_x, gradient, weight);
    multiply(to_weight, gradient.t(), x);
  }

 private:
  using Operands = std::array<torch::Tensor, 6>;
  Operands& operands(const Product& p) {
    Operands& o = cache_[{p.rows, p.in, p.out}];
    if (o[0].defined()) return o;
    const auto random = [&](int64_t rows, int64_t columns) { return torch::randn({rows, columns}).to(type_); };
    o = {random(p.rows, p.in),  random(p.out, p.in),  random(p.rows, p.out),
         random(p.rows, p.out), random(p.rows, p.in), random(p.out, p.in)};
    return o;
  }

  torch::Dtype type_;
  std::map<std::tuple<int64_t, int64_t, int64_t>, Operands> cache_;
};

struct Measured {
  double wall = 0, cpu = 0;
};

template <class Work>
Measured measured(Work work) {
  const auto start = Clock::now();
  const double cpu = cpu_seconds();
  work();
  return {seconds_since(start), cpu_seconds() - cpu};
}

// One shape in one precision, in a process of its own, so that its peak memory is its own.
void run_one(const Shape& shape, Precision precision, const Arguments& a) {
  configure_process_for_workers();
  torch::manual_seed(1);
  WorkerCrew workers(a.workers, run_operations_on_this_thread_only);
  const ParallelText text =
      synthetic_text(a.length > 0 ? 4 * a.batch_tokens / a.length + 4 : 20000, shape.vocab_size, a.length);
  Replicas replicas(Transformer(options_of(shape)), torch::kCPU, workers, precision);
  if (a.recompute) replicas.use(Activations::recomputed);
  Adam adam(parameters_of(replicas.transformer()), {});
  adam.keep_rounded(replicas.rounded_parameters(), workers);
  const auto batches = epoch_batches(text, a.batch_tokens, 1, 0);
  const torch::Dtype type = precision == Precision::bfloat16 ? torch::kBFloat16 : torch::kFloat;
  std::vector<ProductRunner> runners(static_cast<size_t>(a.workers), ProductRunner(type));

  int64_t step = 0;
  std::vector<double> wall_rates, cpu_rates, shares, cpu_shares, product_rates, own_rates;
  double source_tokens = 0, target_tokens = 0, wall = 0;
  Trace trace;
  const auto take_step = [&](Trace* spans) {
    const auto& batch = batches[static_cast<size_t>(step) % batches.size()];
    StepInput input;
    {
      const Trace::Span span(spans, "data");
      input = {{}, count_target_tokens(text, batch), static_cast<uint64_t>(step)};
      for (const auto& piece : cut_into_pieces(text, batch, a.piece_tokens, workers.size()))
        input.pieces.push_back(make_batch(text, piece));
    }
    ++step;
    replicas.accumulate_gradients(input, 0.1, spans);
    const Trace::Span span(spans, "optimizer");
    adam.update(replicas.gradients(), 1e-4, workers);
    replicas.clear_gradients();
    return input;
  };

  constexpr int kWarmUp = 3;
  for (int i = 0; i < kWarmUp; ++i) take_step(nullptr);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double peak_mebibytes = static_cast<double>(usage.ru_maxrss) / 1024;

  const auto start = Clock::now();
  while (seconds_since(start) < a.seconds || shares.size() < 5) {
    StepInput input;
    const Measured whole = measured([&] { input = take_step(&trace); });
    std::vector<std::vector<Product>> pieces;
    int64_t step_source_tokens = 0;
    for (const Batch& batch : input.pieces) {
      pieces.push_back(products_of(shape, batch.source.numel(), batch.target_in.numel()));
      step_source_tokens += batch.source_tokens;
    }
    const auto run_products = [&](Multiplier multiplier) {
      workers.run([&](int worker) {
        const torch::NoGradGuard no_grad;
        const auto w = static_cast<size_t>(worker);
        for (size_t i = w; i < pieces.size(); i += runners.size())
          for (const auto& product : pieces[i]) runners[w].run(product, multiplier);
      });
    };
    run_products(Multiplier::libtorch);  // makes the operands, and oneDNN's kernels for these sizes
    const Measured products = measured([&] { run_products(Multiplier::libtorch); });
    const Measured own = measured([&] { run_products(Multiplier::own); });
    const auto tokens = static_cast<double>(input.step_target_tokens);
    wall_rates.push_back(tokens / whole.wall);
    cpu_rates.push_back(tokens * a.workers / whole.cpu);
    shares.push_back(products.wall / whole.wall);
    cpu_shares.push_back(products.cpu / whole.cpu);
    product_rates.push_back(operations_of(pieces) * a.workers / products.cpu * 1e-9);
    own_rates.push_back(operations_of(pieces) * a.workers / own.cpu * 1e-9);
    source_tokens += static_cast<double>(step_source_tokens);
    target_tokens += tokens;
    wall += whole.wall;
  }

  const double per_worker = 1.0 / a.workers;
  const double data = trace.seconds("data"), forward = trace.seconds("forward") * per_worker;
  const double backward = trace.seconds("backward") * per_worker, optimizer = trace.seconds("optimizer");
  std::printf("%-6s %-9s %8.0f %8.0f %10.0f %7.0f%% %7.0f%% %8.0f %8.0f %6.1f%% %6.1f%% %6.1f%% %6.1f%% %8.0f\n",
              shape.name, precision == Precision::bfloat16 ? "bfloat16" : "float32", source_tokens / wall,
              target_tokens / wall, median(cpu_rates), 100 * median(shares), 100 * median(cpu_shares),
              median(product_rates), median(own_rates), 100 * data / wall, 100 * forward / wall, 100 * backward / wall,
              100 * optimizer / wall, peak_mebibytes);
}

std::string output_of(const std::string& command) {
  std::string text;
  if (FILE* pipe = popen(command.c_str(), "r")) {
    std::array<char, 256> buffer{};
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
    pclose(pipe);
  }
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "unknown" : text;
}

void in_a_process_of_its_own(const std::function<void()>& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) throw std::runtime_error("a measurement ended early");
}

void run(const Arguments& a) {
  std::printf(
      "commit %s; %s; LibTorch %s; CPU, %d workers of 1 thread; batches of %ld padded target tokens in pieces "
      "of %ld; warm-up 3 steps; at least %.0f s each; %s\n",
      output_of("git -C " TRANSMUTE_SOURCE_FOLDER " describe --always --dirty 2>/dev/null").c_str(),
      output_of("sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1").c_str(), TORCH_VERSION, a.workers,
      static_cast<long>(a.batch_tokens), static_cast<long>(a.piece_tokens), a.seconds,
      a.length > 0 ? fmt::format("sentences of {} tokens", a.length).c_str() : "lengths as Multi30k's");
  std::printf(
      "tokens/s without padding, source and target, by the wall clock; target by CPU time. Roof: the time of the "
      "step's dense products alone, by LibTorch, of the step's; GFLOP/s: LibTorch's, and of our own products. Phases: "
      "share of the step.\n");
  std::printf("%-6s %-9s %8s %8s %10s %8s %8s %8s %8s %7s %7s %7s %7s %8s\n", "shape", "precision", "src/s", "tgt/s",
              "tgt/CPU-s", "roof", "roof/CPU", "GFLOP/s", "own", "data", "forward", "backwd", "optim", "peak MiB");
  for (const auto& shape : kShapes) {
    if (std::find(a.shapes.begin(), a.shapes.end(), shape.name) == a.shapes.end()) continue;
    for (const auto& precision : a.precisions)
      in_a_process_of_its_own(
          [&] { run_one(shape, precision == "bfloat16" ? Precision::bfloat16 : Precision::float32, a); });
    if (!a.torch) continue;
    std::fflush(stdout);
    const std::string command = fmt::format(
        "python3 " TRANSMUTE_SOURCE_FOLDER
        "/benchmarks/train_torch.py --name {} --layers {} --d-model {} --d-ff {} --heads {} --vocabulary {} "
        "--dropout {} --batch-tokens {} --seconds {} --threads {}",
        shape.name, shape.layers, shape.d_model, shape.d_ff, shape.num_heads, shape.vocab_size, shape.dropout,
        a.batch_tokens, a.seconds, a.workers);
    if (std::system(command.c_str()) != 0) std::printf("python3 with torch.nn.Transformer: not measured\n");
  }
}

}  // namespace
}  // namespace transmute

int main(int argc, char** argv) {
  CLI::App app("A training step on synthetic text: tokens a second, share of the roof, phases, peak memory.",
               "benchmark_train");
  transmute::Arguments a;
  app.add_option("--shape", a.shapes, "tiny, small, base, big")
      ->check(CLI::IsMember({"tiny", "small", "base", "big"}))
      ->capture_default_str();
  app.add_option("--precision", a.precisions)->check(CLI::IsMember({"float32", "bfloat16"}))->capture_default_str();
  app.add_option("--workers", a.workers)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch-tokens", a.batch_tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--piece-tokens", a.piece_tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seconds", a.seconds, "of each measurement")->capture_default_str();
  app.add_option("--length", a.length, "tokens of every sentence; 0: lengths as Multi30k's")->capture_default_str();
  app.add_flag("--recompute", a.recompute, "as training.recompute");
  app.add_flag("--torch", a.torch, "the same with torch.nn.Transformer, where python3 has torch");
  CLI11_PARSE(app, argc, argv);
  transmute::run(a);
  return 0;
}
