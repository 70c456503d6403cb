// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/replicas.h>

#include <ATen/Context.h>
#include <transmute/common/random.h>
#include <transmute/kernels/cpu/rows.h>
#include <transmute/libtorch/device.h>
#include <transmute/libtorch/generator_state.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/torch_compat.h>
#include <transmute/model/autograd/dropout.h>
#include <transmute/model/autograd/kernel_tensors.h>
#include <transmute/model/module_weights.h>

namespace transmute {
inline namespace v0 {

namespace {

// Called when a parameter's gradient has been accumulated.
class AfterAccumulation : public torch::autograd::FunctionPostHook {
 public:
  explicit AfterAccumulation(std::function<void()> call) : call_(std::move(call)) {}
  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    call_();
    return outputs;
  }

 private:
  std::function<void()> call_;
};

// The sums of a loss in the order of PendingLoss::sums.
torch::Tensor parts_of(const TrainingLoss& loss) {
  const torch::Tensor tokens = (loss.cross_entropy.defined() ? loss.cross_entropy : loss.token_loss).detach();
  const torch::Tensor zero = torch::zeros_like(tokens);
  const auto or_zero = [&](const torch::Tensor& part) { return part.defined() ? part.detach() : zero; };
  return torch::stack({tokens, or_zero(loss.guidance), or_zero(loss.divergence)});
}

}  // namespace

void LossSum::add(const LossSum& other) {
  sum += other.sum;
  tokens += other.tokens;
  guidance += other.guidance;
  divergence += other.divergence;
}

void PendingLoss::add(const PendingLoss& other) {
  if (other.sums.defined()) sums = sums.defined() ? sums + other.sums : other.sums;
  tokens += other.tokens;
}

LossSum PendingLoss::read() const {
  return sums.defined() ? read(sums.cpu(), tokens) : LossSum{0, tokens, 0, 0};
}

LossSum PendingLoss::read(const torch::Tensor& values, int64_t tokens) {
  return {values[0].item<double>(), tokens, values[1].item<double>(), values[2].item<double>()};
}

Replicas::Replicas(Transformer transformer, torch::Device device, WorkerCrew& workers, const ReplicaOptions& options)
    : device_(device), workers_(workers), options_(options) {
  replicas_.push_back(std::move(transformer));
  while (static_cast<int>(replicas_.size()) < workers.size())
    replicas_.push_back(replica_of(replicas_.front(), device));
  trained_ = replicas_;
  rounded_.resize(replicas_.front()->parameters().size());
  float_gradients_.resize(replicas_.size());
  if (options.precision == Precision::bfloat16) make_rounded_replicas();
}

// One block of memory for all, in the order of the parameters, which puts matrices side by side that
// kernels::joined_linear wants there. Vectors (biases, norms) stay the float32 ones.
void Replicas::make_rounded_replicas() {
  const torch::NoGradGuard no_grad;
  const auto exact = replicas_.front()->parameters();
  int64_t elements = 0;
  for (const auto& parameter : exact)
    if (parameter.dim() > 1) elements += parameter.numel();
  const torch::Tensor all = torch::empty({elements}, torch::TensorOptions(device_).dtype(torch::kBFloat16));
  int64_t begin = 0;
  for (size_t p = 0; p < exact.size(); ++p) {
    if (exact[p].dim() < 2) continue;
    rounded_[p] = all.narrow(0, begin, exact[p].numel()).view(exact[p].sizes());
    rounded_[p].copy_(exact[p]);
    begin += exact[p].numel();
  }
  for (auto& trained : trained_) {
    trained = replica_of(replicas_.front(), device_);
    const auto own = trained->parameters();
    for (size_t p = 0; p < own.size(); ++p)
      if (rounded_[p].defined()) own[p].set_data(rounded_[p]);
  }
}

TrainingLoss Replicas::batch_loss(Transformer& replica, const Batch& batch, const LossOptions& options) const {
  GuidedAttention guided{{}, options_.guidance.layer, options_.guidance.head};
  const bool is_guided = replica->is_training() && options_.guidance.weight > 0 && batch.alignment.defined();
  if (is_guided) guided.wanted = on_device(batch.alignment, device_);
  return replica->loss(on_device(batch.source, device_), on_device(batch.target_in, device_),
                       on_device(batch.target_out, device_), options, is_guided ? &guided : nullptr);
}

void Replicas::sum_over(ProcessGroup& group) {
  completions_.resize(trained_.size());
  for (size_t w = 0; w < trained_.size(); ++w) {
    Completion& own = completions_[w];
    own.parameters = trained_[w]->parameters();
    own.is_complete.resize(own.parameters.size());
    for (size_t p = 0; p < own.parameters.size(); ++p) {
      own.accumulators.push_back(torch::autograd::impl::grad_accumulator(own.parameters[p]));
      own.accumulators.back()->add_post_hook(std::make_unique<AfterAccumulation>([this, w, p] {
        if (completions_[w].awaited) complete_own(w, p);
      }));
    }
  }
  rank_sum_ = std::make_unique<GradientSum>(replicas_.front()->parameters(), static_cast<int>(trained_.size()), group,
                                            [this](size_t p, torch::Tensor& sum) { add_shares(p, sum); });
}

void Replicas::complete_own(size_t worker, size_t parameter) {
  completions_[worker].is_complete[parameter] = true;
  rank_sum_->complete(parameter);
}

// Completes the gradients that backward has not reached: those of unused parameters, and all of a worker without a
// micro-batch.
void Replicas::complete_rest(size_t worker) {
  Completion& own = completions_[worker];
  own.awaited = false;
  for (size_t p = 0; p < own.parameters.size(); ++p)
    if (!own.is_complete[p]) complete_own(worker, p);
}

// Adds in the order of the workers, which gives the same bits in every run.
void Replicas::add_shares(size_t parameter, torch::Tensor& sum) {
  bool first = true;
  for (size_t w = 0; w < trained_.size(); ++w) {
    torch::Tensor& gradient = completions_[w].parameters[parameter].mutable_grad();
    const bool has_aside = parameter < float_gradients_[w].size() && float_gradients_[w][parameter].defined();
    if (has_aside) set_aside(w, parameter, gradient);
    const torch::Tensor& share = has_aside ? float_gradients_[w][parameter] : gradient;
    if (!share.defined()) continue;
    if (first) {
      sum.copy_(share);
    } else {
      sum.add_(share);
    }
    first = false;
  }
  if (first) sum.zero_();
}

PendingLoss Replicas::accumulate_gradients(const StepInput& input, double label_smoothing, Trace* trace) {
  const double factor = 1.0 / static_cast<double>(input.step_target_tokens);
  const bool completes_step = rank_sum_ && input.is_last_of_step;
  if (completes_step) {
    rank_sum_->start();
    for (auto& own : completions_) own.is_complete.assign(own.parameters.size(), false);
  }
  std::vector<PendingLoss> losses(replicas_.size());
  workers_.run([&](int worker) {
    const auto w = static_cast<size_t>(worker);
    Transformer& replica = trained_[w];
    replica->train();
    std::vector<torch::Tensor> sums_of_micro_batches;
    for (size_t i = w; i < input.micro_batches.size(); i += replicas_.size()) {
      const Batch& batch = input.micro_batches[i];
      const TrainingLoss loss = [&] {
        const Trace::Span span(trace, "forward");
        const uint64_t key = combine_keys(input.dropout_key, i);
        const kernels::DropoutScope scope(key);
        // The scope does not cover LibTorch's own dropout.
        if (!device_.is_cpu()) seed_generator(at::globalContext().defaultGenerator(device_), key);
        return batch_loss(replica, batch, {label_smoothing, factor, options_.activations, options_.consistency});
      }();
      const Trace::Span span(trace, "backward");
      set_gradients_aside(w);
      if (completes_step) completions_[w].awaited = i + replicas_.size() >= input.micro_batches.size();
      (loss.guidance.defined() ? loss.token_loss + options_.guidance.weight * loss.guidance : loss.token_loss)
          .backward();
      sums_of_micro_batches.push_back(parts_of(loss));
      losses[w].tokens += batch.target_tokens;
      ++micro_batches_done_;
    }
    if (!sums_of_micro_batches.empty())
      losses[w].sums = torch::stack(sums_of_micro_batches).to(torch::kDouble).sum(0) / factor;
    if (completes_step) complete_rest(w);
  });
  PendingLoss total;
  for (const auto& loss : losses) total.add(loss);
  return total;
}

// Adds a worker's bfloat16 gradients to its float32 sums: bfloat16 would lose small ones over many micro-batches.
void Replicas::set_gradients_aside(size_t worker) {
  const auto parameters = trained_[worker]->parameters();
  for (size_t p = 0; p < parameters.size(); ++p) {
    torch::Tensor& gradient = parameters[p].mutable_grad();
    if (!gradient.defined() || gradient.scalar_type() != torch::kBFloat16) continue;
    float_gradients_[worker].resize(parameters.size());
    set_aside(worker, p, gradient);
  }
}

void Replicas::set_aside(size_t worker, size_t parameter, torch::Tensor& gradient) {
  if (!gradient.defined() || gradient.scalar_type() != torch::kBFloat16) return;
  torch::Tensor& sum = float_gradients_[worker][parameter];
  if (!sum.defined()) sum = torch::zeros(gradient.sizes(), gradient.options().dtype(torch::kFloat));
  if (gradient.device().is_cpu()) {
    const torch::Tensor share = gradient.contiguous();
    kernels::active_kernels<kernels::RowKernels<uint16_t>>().add_to(sum.data_ptr<float>(),
                                                                    kernels::data_of<uint16_t>(share), share.numel());
  } else {
    const torch::NoGradGuard no_grad;
    sum.add_(gradient);
  }
  gradient.reset();
}

std::vector<std::vector<torch::Tensor>> Replicas::gradients() {
  std::vector<std::vector<torch::Tensor>> gradients(trained_.size());
  workers_.run([&](int worker) {
    const auto w = static_cast<size_t>(worker);
    if (!float_gradients_[w].empty()) set_gradients_aside(w);
    const auto parameters = trained_[w]->parameters();
    for (size_t p = 0; p < parameters.size(); ++p) {
      const bool summed = p < float_gradients_[w].size() && float_gradients_[w][p].defined();
      gradients[w].push_back(summed ? float_gradients_[w][p] : parameters[p].grad());
    }
  });
  return gradients;
}

void Replicas::clear_gradients() {
  for (auto& replica : trained_)
    for (auto& parameter : replica->parameters()) parameter.mutable_grad().reset();
  for (auto& gradients : float_gradients_) gradients.clear();
}

LossSum Replicas::evaluate(const ParallelText& text, int64_t micro_batch_tokens) {
  // Sorts by length, so that there is little padding; the sum does not depend on the order.
  const auto batches = epoch_batches(text, micro_batch_tokens, 0, 0);
  std::vector<double> sums(batches.size());
  workers_.for_each_chunk(batches.size(), 1, [&](size_t b, size_t, int worker) {
    const torch::NoGradGuard no_grad;
    Transformer& replica = replicas_[static_cast<size_t>(worker)];
    replica->eval();
    sums[b] = batch_loss(replica, make_batch(text, batches[b]), {}).token_loss.item<double>();
  });
  LossSum total;
  for (size_t b = 0; b < batches.size(); ++b) {
    total.sum += sums[b];
    total.tokens += count_target_tokens(text, batches[b]);
  }
  return total;
}

}  // namespace v0
}  // namespace transmute
