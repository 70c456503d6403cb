// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/source_signal.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/libtorch/libtorch.h>

#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// x: [B,S,D], real: [B,S] of 1 and 0; result: [B].
torch::Tensor position_variance(const torch::Tensor& x, const torch::Tensor& real) {
  const torch::Tensor weight = real.unsqueeze(2);  // [B,S,1]
  const torch::Tensor mean = (x * weight).sum(1, true) / weight.sum(1, true).clamp_min(1);
  return ((x - mean) * weight).square().flatten(1).sum(1) / (x * weight).square().flatten(1).sum(1).clamp_min(1e-30);
}

// weights: [B,H,T,S], lengths: [B] of the sources, real: [B,T] of 1 and 0; result: [H], means over target positions.
torch::Tensor relative_entropy(const torch::Tensor& weights, const torch::Tensor& lengths, const torch::Tensor& real) {
  const torch::Tensor entropy = -(weights * weights.clamp_min(1e-30).log()).sum(3);          // [B,H,T]
  const torch::Tensor relative = entropy / lengths.log().clamp_min(1e-30).view({-1, 1, 1});  // [B,H,T]
  return (relative * real.unsqueeze(1)).sum(2).sum(0) / real.sum().clamp_min(1);
}

}  // namespace

bool SourceSignal::is_collapsed() const {
  // A new network is at 0.96 to 1, one that has begun to attend below 0.7 (Multi30k, 4+4 layers).
  return sharpest_head > 0.95;
}

SourceSignal source_signal(Transformer& transformer, const Batch& batch) {
  TORCH_CHECK_VALUE(!transformer->encoder.is_empty(), "a decoder-only network has no source");
  const torch::NoGradGuard no_grad;
  const bool trains = transformer->is_training();
  transformer->eval();
  const torch::Device device = transformer->parameters().front().device();
  const torch::Tensor source = batch.source.to(device), target = batch.target_in.to(device);
  const EncodedSource encoded = transformer->encode(source);
  const DecoderOutput decoded = transformer->decode(target, encoded, ReturnWeights::yes);
  transformer->train(trains);

  const int64_t padding = transformer->options.padding_id;
  const torch::Tensor in_source = encoded.mask.flatten(1).to(torch::kFloat);  // [B,S]
  const torch::Tensor lengths = in_source.sum(1);                             // [B]
  const torch::Tensor counts = lengths.gt(1).to(torch::kFloat);               // [B]
  if (counts.sum().item<double>() == 0) return {1, 0, 0};
  const torch::Tensor in_target = batch.target_out.to(device).ne(padding).to(torch::kFloat) * counts.unsqueeze(1);

  std::vector<torch::Tensor> heads;
  for (const torch::Tensor& weights : decoded.cross_weights)
    heads.push_back(relative_entropy(weights.to(torch::kFloat), lengths, in_target));
  const torch::Tensor entropies = torch::cat(heads);  // [layers · H]
  const torch::Tensor variances = position_variance(encoded.memory.to(torch::kFloat), in_source);
  return {((variances * counts).sum() / counts.sum()).item<double>(), entropies.mean().item<double>(),
          entropies.min().item<double>()};
}

std::string take_off_remedies(const TransformerOptions& options) {
  std::vector<std::string> remedies;
  if (options.initialization == Initialization::xavier) remedies.push_back("model.initialization: scaled");
  if (options.norm_position != NormPosition::deep) remedies.push_back("model.norm_position: deep");
  if (options.dropout > 0.1) remedies.push_back(fmt::format("a model.dropout below {}", options.dropout));
  remedies.push_back("a lower training.learning_rate_scale (or learning_rate)");
  remedies.push_back("more training.warmup_steps");
  return fmt::format("{}", fmt::join(remedies, ", or "));
}

std::string collapse_warning(const SourceSignal& signal, const TransformerOptions& options) {
  return fmt::format(
      "after the warm-up the decoder still does not see its source: every head of encoder-decoder attention looks at "
      "all source tokens alike (entropy {:.1f}% of its maximum or more), and {:.1f}% of the encoder's output differs "
      "between the positions of a sentence. Translations will be fluent and have little to do with the source. If "
      "this does not pass soon, start again in another --run-folder with {}",
      100 * signal.sharpest_head, 100 * signal.position_variance, take_off_remedies(options));
}

}  // namespace v0
}  // namespace transmute
