// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/step_timing.h>

#include <transmute/common/random.h>
#include <transmute/common/stopwatch.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/libtorch/threading.h>
#include <transmute/training/data/batcher.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>
#include <transmute/training/resolved_options.h>
#include <transmute/training/run_text.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Enough pairs of random tokens for one batch, and one at least. All are of one length, for batches are made of pairs
// of similar lengths.
ParallelText made_up_batch(const TrainingConfig& config, const TextSize& size) {
  const auto pairs = static_cast<double>(std::max<int64_t>(1, size.pairs));
  const double tokens_per_pair = kTokensPerWord * static_cast<double>(size.words) / pairs;
  const LengthLimits limits = length_limits(config);
  const int64_t most = std::max<int64_t>(1, std::min(limits.source_tokens, limits.target_tokens));
  const auto mean = std::clamp<int64_t>(static_cast<int64_t>(tokens_per_pair), std::min<int64_t>(2, most), most);
  const int64_t known = config.model.tokenizer.vocab_size - special_ids::kCount;
  ParallelText text;
  uint64_t key = 1;
  const auto sentence = [&] {
    Ids ids(static_cast<size_t>(mean));
    for (int64_t& id : ids)
      id = special_ids::kCount + static_cast<int64_t>(uniform(mix_bits(++key)) * static_cast<double>(known));
    return ids;
  };
  int64_t tokens = 0;
  do {
    text.source.add(config.is_language_model() ? Ids() : sentence());
    text.target.add(sentence());
    tokens += mean + 1;
  } while (static_cast<double>(tokens) < kBatchFill * static_cast<double>(config.training.batch_tokens));
  return text;
}

}  // namespace

double measure_seconds_per_step(const TrainingConfig& config, const TextSize& size, const TrainerOptions& options,
                                double most_seconds) {
  constexpr int kWarmUp = 2, kLeastTimed = 4;
  constexpr double kLeastSeconds = 3, kShareOfMost = 1.0 / 3;  // what else the machine does comes and goes
  const double least_seconds = std::min(kLeastSeconds, kShareOfMost * most_seconds);
  const ResolvedOptions resolved = resolve_options(options, config.training);
  WorkerCrew workers(resolved.workers, run_operations_on_this_thread_only);
  TransformerOptions model = config.model.model;
  model.source_vocab_size = model.target_vocab_size = config.model.tokenizer.vocab_size;
  model.padding_id = special_ids::kPad;
  Transformer transformer(model);
  transformer->to(resolved.device);
  Replicas replicas(transformer, resolved.device, workers,
                    {resolved.precision, config.training.recompute ? Activations::recomputed : Activations::kept,
                     consistency_of(config.training)});
  Adam optimizer(parameters_of(replicas.transformer()), {});
  optimizer.keep_rounded(replicas.rounded_parameters());
  const ParallelText text = made_up_batch(config, size);
  std::vector<size_t> pairs(text.size());
  std::iota(pairs.begin(), pairs.end(), size_t{0});

  const Stopwatch clock;
  std::vector<double> seconds;
  for (int step = 0; step < kWarmUp + kLeastTimed || clock.seconds() < least_seconds; ++step) {
    const Stopwatch step_clock;
    const int64_t batches = config.training.accumulate_batches;
    for (int64_t batch = 0; batch < batches; ++batch) {
      StepInput input;
      for (const auto& micro_batch :
           cut_into_micro_batches(text, pairs, resolved.tokens_of_pairs(config.training), workers.size()))
        input.micro_batches.push_back(make_batch(text, micro_batch));
      input.step_target_tokens = batches * count_target_tokens(text, pairs);
      input.dropout_key = static_cast<uint64_t>(step * batches + batch);
      input.is_last_of_step = batch + 1 == batches;
      replicas.accumulate_gradients(input, config.training.label_smoothing).read();
    }
    optimizer.update(replicas.gradients(), 1e-6, workers);
    replicas.clear_gradients();
    const bool takes_long = clock.seconds() > most_seconds;
    if (step < kWarmUp && !takes_long) continue;
    seconds.push_back(step_clock.seconds());
    if (takes_long) break;
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

}  // namespace v0
}  // namespace transmute
