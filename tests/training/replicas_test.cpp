// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/files.h>
#include <transmute/common/json.h>
#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace transmute {
namespace {

using testing::TemporaryFolder;

Transformer small_transformer(ScoreFunction function = ScoreFunction::scaled_dot_product, double dropout = 0.1) {
  torch::manual_seed(3);
  TransformerOptions options;
  options.score_function = function;
  options.source_vocab_size = options.target_vocab_size = 40;
  options.num_encoder_layers = options.num_decoder_layers = 2;
  options.d_model = 32;
  options.num_heads = 4;
  options.d_ff = 48;
  options.dropout = dropout;
  return Transformer(options);
}

ParallelText small_text() {
  ParallelText text;
  for (int32_t pair = 0; pair < 24; ++pair) {
    Ids source, target;
    for (int32_t i = 0; i < 3 + pair % 5; ++i) source.push_back(4 + (pair * 7 + i * 3) % 36);
    for (int32_t i = 0; i < 2 + pair % 7; ++i) target.push_back(4 + (pair * 5 + i * 11) % 36);
    text.source.add(source);
    text.target.add(target);
  }
  return text;
}

StepInput input_of(const ParallelText& text, int64_t micro_batch_tokens, int workers) {
  std::vector<size_t> pairs(text.size());
  std::iota(pairs.begin(), pairs.end(), size_t{0});
  StepInput input{{}, count_target_tokens(text, pairs), 11};
  for (const auto& micro_batch : cut_into_micro_batches(text, pairs, micro_batch_tokens, workers))
    input.micro_batches.push_back(make_batch(text, micro_batch));
  return input;
}

// The gradients of all workers together, by parameter, in double.
std::vector<torch::Tensor> summed_gradients(Replicas& replicas) {
  std::vector<torch::Tensor> sums;
  for (const auto& of_worker : replicas.gradients())
    for (size_t p = 0; p < of_worker.size(); ++p) {
      if (p >= sums.size()) sums.push_back(torch::zeros(of_worker[p].sizes(), torch::kDouble));
      sums[p] += of_worker[p].to(torch::kDouble);
    }
  return sums;
}

struct Accumulated {
  LossSum loss;
  std::vector<torch::Tensor> gradients;
};

Accumulated accumulated(Precision precision, int workers, int64_t micro_batch_tokens) {
  WorkerCrew crew(workers);
  const ParallelText text = small_text();
  Replicas replicas(small_transformer(), torch::kCPU, crew, {precision});
  Accumulated result;
  result.loss = replicas.accumulate_gradients(input_of(text, micro_batch_tokens, workers), 0.1).read();
  result.gradients = summed_gradients(replicas);
  return result;
}

// Norm of the difference, as a share of the expected norm, over all parameters.
double relative_difference(const std::vector<torch::Tensor>& actual, const std::vector<torch::Tensor>& expected) {
  double difference = 0;
  double size = 0;
  for (size_t p = 0; p < expected.size(); ++p) {
    difference += (actual[p] - expected[p]).square().sum().item<double>();
    size += expected[p].square().sum().item<double>();
  }
  return std::sqrt(difference / size);
}

TEST(Replicas, TrainInBfloat16NearFloat32) {
  for (const int64_t micro_batch_tokens : {1000, 30}) {
    const Accumulated exact = accumulated(Precision::float32, 2, micro_batch_tokens);
    const Accumulated rounded = accumulated(Precision::bfloat16, 2, micro_batch_tokens);
    EXPECT_EQ(rounded.loss.tokens, exact.loss.tokens);
    EXPECT_NEAR(rounded.loss.sum / exact.loss.sum, 1, 1e-2);
    // Every number on the way keeps 8 bits.
    EXPECT_LE(relative_difference(rounded.gradients, exact.gradients), 5e-2) << micro_batch_tokens;
  }
}

TEST(Replicas, GiveTheSameBitsAgain) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    const Accumulated once = accumulated(precision, 2, 30);
    const Accumulated again = accumulated(precision, 2, 30);
    EXPECT_EQ(once.loss.sum, again.loss.sum);
    for (size_t p = 0; p < once.gradients.size(); ++p)
      EXPECT_TRUE(torch::equal(once.gradients[p], again.gradients[p])) << p;
  }
}

TEST(Replicas, SumManyMicroBatchesInFloat32) {
  WorkerCrew crew(1);
  const ParallelText text = small_text();
  Replicas replicas(small_transformer(ScoreFunction::scaled_dot_product, 0), torch::kCPU, crew, {Precision::bfloat16});
  const StepInput input = input_of(text, 30, 1);
  ASSERT_GT(input.micro_batches.size(), 3U);
  std::vector<torch::Tensor> expected;  // of each micro-batch alone
  for (const Batch& micro_batch : input.micro_batches) {
    const StepInput alone{{micro_batch}, input.step_target_tokens, input.dropout_key};
    replicas.accumulate_gradients(alone, 0.1);
    const auto own = summed_gradients(replicas);
    for (size_t p = 0; p < own.size(); ++p) {
      if (p >= expected.size()) expected.push_back(torch::zeros_like(own[p]));
      expected[p] += own[p];
    }
    replicas.clear_gradients();
  }
  replicas.accumulate_gradients(input, 0.1);
  const auto summed = replicas.gradients().front();
  for (const auto& gradient : summed) EXPECT_EQ(gradient.scalar_type(), torch::kFloat);
  // The shares are the same bits; a sum in bfloat16 would be off by 1e-3.
  EXPECT_LE(relative_difference(summed, expected), 1e-5);
  replicas.clear_gradients();
  const auto cleared = replicas.gradients().front();
  for (const auto& gradient : cleared) EXPECT_FALSE(gradient.defined());
}

TEST(Replicas, SumOverRanksWhatTheWorkersHave) {
  ProcessGroup alone({}, torch::kCPU);
  const ParallelText text = small_text();
  struct Case {
    int workers;
    int64_t micro_batch_tokens;
    ScoreFunction function;
  };
  // Several micro-batches; one, and workers that have none; parameters without a gradient.
  for (const auto& [workers, micro_batch_tokens, function] :
       {Case{2, 30, ScoreFunction::scaled_dot_product}, Case{3, 1000, ScoreFunction::scaled_dot_product},
        Case{1, 30, ScoreFunction::uniform}})
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
      WorkerCrew crew(workers);
      Replicas apart(small_transformer(function), torch::kCPU, crew, {precision});
      Replicas summing(small_transformer(function), torch::kCPU, crew, {precision});
      summing.sum_over(alone);
      for (int step = 0; step < 2; ++step) {
        StepInput input = input_of(text, micro_batch_tokens, workers);
        for (const bool last : {false, true}) {
          input.is_last_of_step = last;
          const LossSum loss = apart.accumulate_gradients(input, 0.1).read();
          EXPECT_EQ(summing.accumulate_gradients(input, 0.1).read().sum, loss.sum);
        }
        const auto sums = summing.sums_over_ranks();
        const auto shares = apart.gradients();
        for (size_t p = 0; p < sums.size(); ++p) {
          torch::Tensor expected = torch::zeros_like(sums[p]);
          for (const auto& of_worker : shares)
            if (of_worker[p].defined()) expected += of_worker[p];
          ASSERT_TRUE(torch::equal(sums[p], expected)) << "parameter " << p << ", " << workers << " workers";
        }
        for (auto* replicas : {&apart, &summing}) replicas->clear_gradients();
      }
    }
}

TEST(Replicas, TrainOnTheCopiesThatAdamWrites) {
  WorkerCrew crew(2);
  const ParallelText text = small_text();
  Replicas replicas(small_transformer(), torch::kCPU, crew, {Precision::bfloat16});
  Adam adam(parameters_of(replicas.transformer()), {});
  adam.keep_rounded(replicas.rounded_parameters());
  const double before = replicas.evaluate(text, 1000).sum;
  double loss = 0;
  for (int step = 0; step < 30; ++step) {
    loss = replicas.accumulate_gradients(input_of(text, 1000, 2), 0.0).read().sum;
    adam.update(replicas.gradients(), 3e-3, crew);
    replicas.clear_gradients();
  }
  EXPECT_LT(loss, 0.7 * before);
  EXPECT_LT(replicas.evaluate(text, 1000).sum, 0.7 * before);
  const auto exact = replicas.transformer()->parameters();
  int64_t copies = 0;
  for (size_t p = 0; p < exact.size(); ++p) {
    const torch::Tensor& copy = replicas.rounded_parameters()[p];
    EXPECT_EQ(copy.defined(), exact[p].dim() > 1);
    if (!copy.defined()) continue;
    EXPECT_TRUE(torch::equal(copy, exact[p].detach().to(torch::kBFloat16))) << p;
    ++copies;
  }
  EXPECT_GT(copies, 10);
}

TEST(Trace, HoldsEachWorkersPhasesAsTheTraceEventFormatWantsThem) {
  WorkerCrew crew(2);
  const ParallelText text = small_text();
  Replicas replicas(small_transformer(), torch::kCPU, crew, {Precision::float32});
  const TemporaryFolder folder;
  const std::string path = folder / "trace.json";
  {
    Trace trace(Trace::Operations::yes);
    replicas.accumulate_gradients(input_of(text, 30, 2), 0.1, &trace);
    EXPECT_GT(trace.seconds("forward"), 0);
    EXPECT_EQ(trace.seconds("nothing of the kind"), 0);
    trace.write(path);
  }
  replicas.accumulate_gradients(input_of(text, 30, 2), 0.1);  // no longer recorded
  const auto json = parse_json(read_file(path));
  std::map<std::string, std::set<int>> threads;
  std::map<std::string, int> counts;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    EXPECT_GE(event.at("ts").get<double>(), 0);
    threads[event.at("name")].insert(event.at("tid").get<int>());
    ++counts[event.at("name")];
  }
  const auto micro_batches = static_cast<int>(input_of(text, 30, 2).micro_batches.size());
  for (const char* phase : {"forward", "backward"}) {
    EXPECT_EQ(counts[phase], micro_batches) << phase;
    EXPECT_EQ(threads[phase].size(), 2U) << phase;
  }
  EXPECT_GT(counts["transmute::matrix_product"], 10);
}

}  // namespace
}  // namespace transmute
