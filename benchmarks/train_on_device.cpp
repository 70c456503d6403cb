// SPDX-License-Identifier: Apache-2.0
#include <transmute/benchmarks/conditions.h>
#include <transmute/benchmarks/train_on_device.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>

#include <cstdio>
#include <utility>
#include <vector>

namespace transmute::benchmarks {

namespace {

// The operations per second that LibTorch reaches there with one large product.
double roof_of(torch::Device device, torch::Dtype type) {
  const torch::NoGradGuard no_grad;
  constexpr int kRounds = 10;
  const int64_t size = device.is_cpu() ? 1024 : 8192;
  const torch::Tensor a = torch::randn({size, size}, device).to(type), b = torch::randn({size, size}, device).to(type);
  torch::Tensor c;
  const auto wait = [&] { return c.flatten()[0].item(); };
  for (int i = 0; i < 3; ++i) c = torch::mm(a, b);
  wait();
  const auto start = Clock::now();
  for (int i = 0; i < kRounds; ++i) c = torch::mm(a, b);
  wait();
  return kRounds * 2.0 * static_cast<double>(size * size * size) / seconds_since(start);
}

class Steps {
 public:
  Steps(const Shape& shape, Precision precision, const DeviceRun& run)
      : shape_(shape),
        run_(run),
        device_(parse_device(run.device)),
        text_(synthetic_text(run.length > 0 ? 4 * run.batch_tokens / run.length + 4 : 40000, shape.vocab_size,
                             run.length)),
        replicas_(on_device(shape, device_), device_, workers_,
                  {precision, run.recompute ? Activations::recomputed : Activations::kept}),
        adam_(parameters_of(replicas_.transformer()), {}) {
    prepare();
  }

  void take() {
    const Prepared& step = prepared_[steps_++ % prepared_.size()];
    operations_ += step.operations;
    source_tokens_ += step.source_tokens;
    target_tokens_ += step.input.step_target_tokens;
    const PendingLoss loss = replicas_.accumulate_gradients(step.input, 0.1);
    last_ = adam_.start_update(replicas_.gradients().front(), 1e-4, loss.sums[0]).norms;
    replicas_.clear_gradients();
  }

  void wait() const { last_.cpu(); }

  void start_counting() { operations_ = 0, source_tokens_ = 0, target_tokens_ = 0; }
  double operations() const { return operations_; }
  int64_t source_tokens() const { return source_tokens_; }
  int64_t target_tokens() const { return target_tokens_; }
  torch::Device device() const { return device_; }

 private:
  struct Prepared {
    StepInput input;
    double operations = 0;
    int64_t source_tokens = 0;
  };

  // Ahead of the clock, as other threads do it while training.
  void prepare() {
    constexpr size_t kSteps = 50;
    for (const auto& batch : epoch_batches(text_, run_.batch_tokens, 1, 0)) {
      if (prepared_.size() == kSteps) break;
      Prepared step;
      step.input = {{}, count_target_tokens(text_, batch), prepared_.size()};
      for (const auto& micro_batch : cut_into_micro_batches(text_, batch, run_.micro_batch_tokens, 1)) {
        step.input.micro_batches.push_back(make_batch(text_, micro_batch));
        const Batch& made = step.input.micro_batches.back();
        step.operations += operations_of(products_of(shape_, made.source.numel(), made.target_in.numel())) +
                           attention_operations_of(shape_, made);
        step.source_tokens += made.source_tokens;
      }
      prepared_.push_back(std::move(step));
    }
  }

  static Transformer on_device(const Shape& shape, torch::Device device) {
    Transformer transformer(options_of(shape));
    transformer->to(device);
    return transformer;
  }

  const Shape& shape_;
  const DeviceRun& run_;
  torch::Device device_;
  WorkerCrew workers_{1};
  ParallelText text_;
  Replicas replicas_;
  Adam adam_;
  std::vector<Prepared> prepared_;
  torch::Tensor last_;
  size_t steps_ = 0;
  int64_t source_tokens_ = 0, target_tokens_ = 0;
  double operations_ = 0;
};

}  // namespace

void train_on_device(const Shape& shape, Precision precision, const DeviceRun& run) {
  torch::manual_seed(1);
  Steps steps(shape, precision, run);
  for (int i = 0; i < 10; ++i) steps.take();
  steps.wait();
  steps.start_counting();
  const auto start = Clock::now();
  int64_t count = 0;
  while (seconds_since(start) < run.seconds || count < 5) {
    steps.take();
    // So that the clock is looked at while the device works on what it has, and no more than that is waiting.
    if (++count % 5 == 0) steps.wait();
  }
  steps.wait();
  const double seconds = seconds_since(start);
  const double rate = steps.operations() / seconds;
  const double roof = roof_of(steps.device(), precision == Precision::bfloat16 ? torch::kBFloat16 : torch::kFloat);
  std::printf("%-6s %-9s %10.0f %10.0f %9.2f %9.1f %8.1f %8.1f%%", shape.name, precision_name(precision).c_str(),
              static_cast<double>(steps.source_tokens()) / seconds,
              static_cast<double>(steps.target_tokens()) / seconds, 1e3 * seconds / static_cast<double>(count),
              1e-12 * rate, 1e-12 * roof, 100 * rate / roof);
  if (run.peak_tflops > 0)
    std::printf(" %8.1f%%\n", 100 * 1e-12 * rate / run.peak_tflops);
  else
    std::printf(" %9s\n", "-");
}

void print_device_heading() {
  std::printf(
      "tokens/s without padding, by the wall clock, steps without waiting for the device; model TFLOP/s: products and "
      "attention with their gradients, padding included; roof: one large product of LibTorch's; peak: as named by "
      "--peak-tflops\n%-6s %-9s %10s %10s %9s %9s %8s %9s %9s\n",
      "shape", "precision", "src/s", "tgt/s", "ms/step", "TFLOP/s", "roof", "of roof", "of peak");
}

}  // namespace transmute::benchmarks
