// SPDX-License-Identifier: Apache-2.0
#include <transmute/benchmarks/translation_work.h>

#include <c10/core/InferenceMode.h>
#include <transmute/benchmarks/conditions.h>
#include <transmute/device/tensor_logits.h>
#include <transmute/kernels/cpu/packed_linear.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/search.h>

#include <algorithm>
#include <random>
#include <utility>

namespace transmute {

using benchmarks::Clock;
using benchmarks::cpu_seconds;
using benchmarks::seconds_since;

Work work_of(const TransformerOptions& given) {
  const TransformerOptions o = validated(given);
  const auto d = static_cast<double>(o.d_model);
  const auto keys = static_cast<double>(o.num_heads * o.d_k);
  const auto values = static_cast<double>(o.num_heads * o.d_v);
  const double attention = d * (2 * keys + 2 * values);
  const double feed_forward = 2 * d * static_cast<double>(o.d_ff);
  const auto encoders = static_cast<double>(o.num_encoder_layers);
  const auto decoders = static_cast<double>(o.num_decoder_layers);
  return {encoders * (attention + feed_forward) + decoders * d * (keys + values),
          decoders * (attention + d * (keys + values) + feed_forward) + d * static_cast<double>(o.target_vocab_size)};
}

double measure_roof(const TransformerOptions& o, Precision precision, int threads, int64_t rows) {
  WorkerCrew crew(threads);
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<float> weight(static_cast<size_t>(o.d_ff * o.d_model));
  std::mt19937 engine(1);
  for (auto& value : weight) value = std::uniform_real_distribution<float>(-1, 1)(engine);
  const inference::PackedLinear inner({{weight.data(), o.d_ff}}, nullptr, o.d_model, precision);
  const inference::PackedLinear outer({{weight.data(), o.d_model}}, nullptr, o.d_ff, precision);
  crew.run([&](int worker) {
    inference::ProductScratch scratch;
    std::vector<float> x(static_cast<size_t>(rows * o.d_model), 0.5F);
    std::vector<float> hidden(static_cast<size_t>(rows * o.d_ff));
    const double operations = 4.0 * static_cast<double>(rows * o.d_model * o.d_ff);
    int64_t rounds = 0;
    double start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    const auto elapsed = [&] { return cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - start; };
    for (bool warm = false;; ++rounds) {
      inner.apply(x.data(), rows, hidden.data(), {}, scratch);
      outer.apply(hidden.data(), rows, x.data(), {}, scratch);
      std::fill(x.begin(), x.end(), 0.5F);
      if (!warm && elapsed() > 0.1) {
        warm = true;
        rounds = -1;
        start = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
      } else if (warm && elapsed() > 0.5) {
        break;
      }
    }
    rates[static_cast<size_t>(worker)] = operations * static_cast<double>(rounds + 1) / elapsed();
  });
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

testing::WatchedModel of_fixed_length(const StepModel& model, int64_t length) {
  return {model, [length](NextToken& next, const testing::WatchedModel::Step& step) {
            // Each hypothesis ends at the length wanted, and not before.
            const float end = step.length < length ? -1e9F : 1e9F;
            if (const auto* on_device = dynamic_cast<const TensorLogits*>(next.on_device.get())) {
              const c10::InferenceMode inference;  // as the step that made the tensor
              on_device->tensor().select(2, special_ids::kEnd).fill_(end);
            } else {
              next.logits = [all = std::move(next.logits), end](int64_t row) {
                auto* logits = const_cast<float*>(all(row));  // the batch's own, which it fills anew in each step
                logits[special_ids::kEnd] = end;
                return logits;
              };
            }
          }};
}

RunResult translate(const StepModel& model, const std::vector<Ids>& sources, const SearchRun& run) {
  SearchOptions search;
  search.beam_size = run.beam_size;
  std::vector<std::vector<Ids>> batches;
  for (const auto& source : sources) {
    if (batches.empty() || static_cast<int64_t>(batches.back().size()) == run.batch_size) batches.emplace_back();
    batches.back().push_back(source);
  }
  std::vector<RunResult> results(batches.size());
  const auto decode = [&](size_t b) {
    const auto start = Clock::now();
    const double cpu = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    std::vector<SearchRequest> requests;
    for (const Ids& source : batches[b]) {
      requests.push_back({source});
      if (run.shortlist_of) requests.back().shortlist = run.shortlist_of(source);
    }
    for (const auto& found : beam_search(model, requests, search)) {
      const auto length = static_cast<int64_t>(found.front().ids.size()) + 1;
      results[b].tokens += length;
      results[b].decoded_rows += 1 + (length - 1) * run.beam_size;
    }
    results[b].seconds = seconds_since(start);
    results[b].cpu = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
  };
  const auto start = Clock::now();
  if (run.pool != nullptr) {
    run.pool->for_each(batches.size(), decode);
  } else {
    for (size_t b = 0; b < batches.size(); ++b) decode(b);
  }
  RunResult whole;
  whole.seconds = seconds_since(start);
  for (const auto& result : results) {
    whole.tokens += result.tokens;
    whole.decoded_rows += result.decoded_rows;
    whole.cpu += result.cpu;
    whole.latencies.push_back(result.seconds);
    whole.cpu_latencies.push_back(result.cpu);
  }
  return whole;
}

}  // namespace transmute
