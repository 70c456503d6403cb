// SPDX-License-Identifier: Apache-2.0
// benchmark_train: a training step, everything counted, against the time of its matrix products alone, measured in the
// same run. See --help.

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <transmute/benchmarks/conditions.h>
#include <transmute/benchmarks/train_on_device.h>
#include <transmute/benchmarks/training_work.h>
#include <transmute/common/build_info.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/model/autograd/matrix_product.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <tuple>

namespace transmute {
namespace {

using namespace benchmarks;

struct Arguments {
  std::vector<std::string> shapes = {"tiny", "small", "base"};
  std::vector<std::string> precisions = {"float32", "bfloat16"};
  int workers = 2;
  int64_t batch_tokens = 4096;
  int64_t micro_batch_tokens = 0;
  std::string device;  // empty: workers on the CPU, against the roof of their products
  double peak_tflops = 0;
  double seconds = 20;
  int64_t length = 0;
  bool recompute = false;
  bool torch = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
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
  const double cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
  work();
  return {seconds_since(start), cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

// One shape in one precision, in a process of its own, so that its peak memory is its own.
void run_one(const Shape& shape, Precision precision, const Arguments& a) {
  configure_process_for_workers();
  torch::manual_seed(1);
  WorkerCrew workers(a.workers, run_operations_on_this_thread_only);
  const ParallelText text =
      synthetic_text(a.length > 0 ? 4 * a.batch_tokens / a.length + 4 : 20000, shape.vocab_size, a.length);
  Replicas replicas(Transformer(options_of(shape)), torch::kCPU, workers,
                    {precision, a.recompute ? Activations::recomputed : Activations::kept});
  Adam adam(parameters_of(replicas.transformer()), {});
  adam.keep_rounded(replicas.rounded_parameters());
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
      for (const auto& micro_batch : cut_into_micro_batches(text, batch, a.micro_batch_tokens, workers.size()))
        input.micro_batches.push_back(make_batch(text, micro_batch));
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
    std::vector<std::vector<Product>> micro_batches;
    int64_t step_source_tokens = 0;
    for (const Batch& batch : input.micro_batches) {
      micro_batches.push_back(products_of(shape, batch.source.numel(), batch.target_in.numel()));
      step_source_tokens += batch.source_tokens;
    }
    const auto run_products = [&](Multiplier multiplier) {
      workers.run([&](int worker) {
        const torch::NoGradGuard no_grad;
        const auto w = static_cast<size_t>(worker);
        for (size_t i = w; i < micro_batches.size(); i += runners.size())
          for (const auto& product : micro_batches[i]) runners[w].run(product, multiplier);
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
    double operations = 0;
    for (const auto& micro_batch : micro_batches) operations += operations_of(micro_batch);
    product_rates.push_back(operations * a.workers / products.cpu * 1e-9);
    own_rates.push_back(operations * a.workers / own.cpu * 1e-9);
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

Precision precision_of(const std::string& name) {
  return name == "bfloat16" ? Precision::bfloat16 : Precision::float32;
}

void run_on_device(const Arguments& a) {
  std::printf("transmute %s; LibTorch %s; %s; batches of %ld padded target tokens in micro-batches of %ld\n",
              build_version().c_str(), TORCH_VERSION, a.device.c_str(), static_cast<long>(a.batch_tokens),
              static_cast<long>(a.micro_batch_tokens));
  print_device_heading();
  for (const auto& name : a.shapes) {
    const Shape& shape = shape_named(name);
    for (const auto& precision : a.precisions)
      in_a_process_of_its_own([&] {
        train_on_device(
            shape, precision_of(precision),
            {a.device, a.batch_tokens, a.micro_batch_tokens, a.seconds, a.length, a.recompute, a.peak_tflops});
      });
  }
}

void run(const Arguments& a) {
  std::printf(
      "transmute %s; %s; LibTorch %s; CPU, %d workers of 1 thread; batches of %ld padded target tokens in "
      "micro-batches of %ld; warm-up 3 steps; at least %.0f s each; %s\n",
      build_version().c_str(), cpu_name().c_str(), TORCH_VERSION, a.workers, static_cast<long>(a.batch_tokens),
      static_cast<long>(a.micro_batch_tokens), a.seconds,
      a.length > 0 ? fmt::format("sentences of {} tokens", a.length).c_str() : "lengths as Multi30k's");
  std::printf(
      "tokens/s without padding, source and target, by the wall clock; target by CPU time. Roof: the time of the "
      "step's dense products alone, by LibTorch, of the step's; GFLOP/s: LibTorch's, and of our own products. Phases: "
      "share of the step.\n");
  std::printf("%-6s %-9s %8s %8s %10s %8s %8s %8s %8s %7s %7s %7s %7s %8s\n", "shape", "precision", "src/s", "tgt/s",
              "tgt/CPU-s", "roof", "roof/CPU", "GFLOP/s", "own", "data", "forward", "backwd", "optim", "peak MiB");
  for (const auto& name : a.shapes) {
    const Shape& shape = shape_named(name);
    for (const auto& precision : a.precisions)
      in_a_process_of_its_own([&] { run_one(shape, precision_of(precision), a); });
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
  app.add_option("--shape", a.shapes, "of the network")
      ->check(CLI::IsMember(transmute::benchmarks::shape_names()))
      ->capture_default_str();
  app.add_option("--precision", a.precisions)->check(CLI::IsMember({"float32", "bfloat16"}))->capture_default_str();
  app.add_option("--workers", a.workers)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--batch-tokens", a.batch_tokens)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--micro-batch-tokens", a.micro_batch_tokens, "0: as training.micro_batch_tokens has it")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "of each measurement")->capture_default_str();
  app.add_option("--length", a.length, "tokens of every sentence; 0: lengths as Multi30k's")->capture_default_str();
  app.add_flag("--recompute", a.recompute, "as training.recompute");
  app.add_flag("--torch", a.torch, "the same with torch.nn.Transformer, where python3 has torch");
  app.add_option("--device", a.device,
                 "cuda, cuda:N or cpu: one process on that device instead of workers on the CPU, and no phases");
  app.add_option("--peak-tflops", a.peak_tflops,
                 "of the device, dense, as its maker states it for the precision: the share of it that a step reaches");
  CLI11_PARSE(app, argc, argv);
  const bool on_gpu = a.device.rfind("cuda", 0) == 0;
  if (a.micro_batch_tokens == 0) a.micro_batch_tokens = transmute::default_micro_batch_tokens(on_gpu);
  if (a.device.empty())
    transmute::run(a);
  else
    transmute::run_on_device(a);
  return 0;
}
