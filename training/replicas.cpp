#include <transmute/training/replicas.h>

#include <torch/torch.h>
#include <transmute/common/random.h>
#include <transmute/model/kernels/cross_entropy.h>
#include <transmute/model/kernels/dropout.h>
#include <transmute/model/torch_compat.h>

#include <optional>

namespace transmute {

namespace {

// A second network on the same numbers: its parameters are other variables over the same storage.
Transformer share_parameters(const Transformer& original, torch::Device device) {
  Transformer replica(original->options);
  replica->to(device);
  const auto own = replica->parameters();
  const auto shared = original->parameters();
  for (size_t p = 0; p < own.size(); ++p) own[p].set_data(shared[p].detach());
  return replica;
}

}  // namespace

Replicas::Replicas(Transformer transformer, torch::Device device, WorkerCrew& workers)
    : device_(device), workers_(workers) {
  replicas_.push_back(std::move(transformer));
  while (static_cast<int>(replicas_.size()) < workers.size())
    replicas_.push_back(share_parameters(replicas_.front(), device));
}

torch::Tensor Replicas::batch_loss(Transformer& replica, const Batch& batch, double label_smoothing,
                                   Precision precision) const {
  std::optional<AutocastScope> autocast;
  if (precision == Precision::bfloat16) autocast.emplace(device_.type(), torch::kBFloat16);
  const torch::Tensor logits = replica(batch.source.to(device_), batch.target_in.to(device_));  // [B,T,V]
  return kernels::smoothed_cross_entropy(logits.flatten(0, 1), batch.target_out.to(device_).flatten(), label_smoothing,
                                         replica->options.padding_id);
}

LossSum Replicas::accumulate_gradients(const ParallelText& text, const StepInput& input, double label_smoothing) {
  std::vector<LossSum> losses(replicas_.size());
  workers_.run([&](int worker) {
    const auto w = static_cast<size_t>(worker);
    Transformer& replica = replicas_[w];
    replica->train();
    for (size_t i = w; i < input.pieces.size(); i += replicas_.size()) {
      const Batch batch = make_batch(text, input.pieces[i]);
      const kernels::DropoutScope scope(combine_keys(input.dropout_key, i));
      const torch::Tensor loss = batch_loss(replica, batch, label_smoothing, input.precision);
      (loss / static_cast<double>(input.step_target_tokens)).backward();
      losses[w].sum += loss.item<double>();
      losses[w].tokens += batch.target_tokens;
    }
  });
  LossSum total;
  for (const auto& loss : losses) {
    total.sum += loss.sum;
    total.tokens += loss.tokens;
  }
  return total;
}

std::vector<std::vector<torch::Tensor>> Replicas::gradients() const {
  std::vector<std::vector<torch::Tensor>> gradients;
  for (const auto& replica : replicas_) {
    gradients.emplace_back();
    for (const auto& parameter : replica->parameters()) gradients.back().push_back(parameter.grad());
  }
  return gradients;
}

void Replicas::clear_gradients() {
  for (auto& replica : replicas_)
    for (auto& parameter : replica->parameters()) parameter.mutable_grad().reset();
}

LossSum Replicas::evaluate(const ParallelText& text, int64_t piece_tokens) {
  // In order of length, so that there is little padding; the sum does not mind the order.
  const auto batches = epoch_batches(text, piece_tokens, 0, 0);
  std::vector<double> sums(batches.size());
  workers_.for_each_piece(batches.size(), 1, [&](size_t b, size_t, int worker) {
    const torch::NoGradGuard no_grad;
    Transformer& replica = replicas_[static_cast<size_t>(worker)];
    replica->eval();
    sums[b] = batch_loss(replica, make_batch(text, batches[b]), 0.0, Precision::float32).item<double>();
  });
  LossSum total;
  for (size_t b = 0; b < batches.size(); ++b) {
    total.sum += sums[b];
    total.tokens += count_target_tokens(text, batches[b]);
  }
  return total;
}

}  // namespace transmute
