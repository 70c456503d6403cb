// SPDX-License-Identifier: Apache-2.0
// Decoding by steps of fixed shapes beside decoding by steps whose caches grow.

#include <gtest/gtest.h>
#include <torch/library.h>
#include <transmute/device/fixed_step.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/search.h>
#include <transmute/tests/support/new_transformer.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
namespace {

using testing::new_transformer;

// Their translations end at different times, the first one's before the others', until half of a shape is unused.
const std::vector<Ids> kSources{{},     {5, 6, 7},        {8, 9, 10, 11, 12, 4, 9}, {6}, {7, 7, 5, 4, 11, 12, 4},
                                {4, 5}, {12, 10, 4, 4, 7}};

Transformer in_eval_mode(const TransformerOptions& options, uint64_t seed = 1) {
  Transformer transformer = new_transformer(options, seed);
  transformer->eval();
  return transformer;
}

std::vector<SearchRequest> requests_for(const std::vector<Ids>& sources, const Ids& prefix = {}) {
  std::vector<SearchRequest> requests;
  for (const Ids& source : sources) requests.push_back({source, prefix});
  return requests;
}

SearchOptions search_of(int64_t beam, int64_t extra_length) {
  SearchOptions options;
  options.beam_size = beam;
  options.max_extra_length = extra_length;
  options.min_length = extra_length / 2;
  return options;
}

void expect_the_same(const StepModel& growing, const StepModel& fixed, const std::vector<SearchRequest>& requests,
                     const SearchOptions& options, const std::string& name) {
  const auto expected = beam_search(growing, requests, options), found = beam_search(fixed, requests, options);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_FALSE(expected[i].empty());
    EXPECT_EQ(found[i].front().ids, expected[i].front().ids) << name << ", sentence " << i;
    EXPECT_NEAR(found[i].front().score, expected[i].front().score, 1e-4) << name << ", sentence " << i;
  }
}

TEST(FixedSteps, FindWhatGrowingStepsFind) {
  auto variants = testing::small_variants();  // of at most 16 positions in the table
  TransformerOptions language_model = testing::small_options();
  language_model.architecture = Architecture::decoder_only;
  variants.emplace_back("decoder only", language_model);
  variants.emplace_back("larger", testing::options_of(2));
  variants.emplace_back("larger, pre", testing::options_of(2, NormPosition::pre));
  for (const auto& [name, options] : variants) {
    const Transformer transformer = in_eval_mode(options);
    const TransformerStepModel growing(transformer, torch::kCPU);
    const TransformerStepModel fixed({transformer}, torch::kCPU, std::make_shared<FixedSteps>(nullptr));
    const bool learned = options.positional_encoding == PositionalEncodingKind::learned;
    for (const int64_t beam : {1, 4}) {
      const SearchOptions search = search_of(beam, learned ? 7 : 40);
      const std::string what = name + ", beam " + std::to_string(beam);
      for (const Ids& source : kSources) expect_the_same(growing, fixed, {{source}}, search, what + ", alone");
      for (const Ids& prefix : {Ids{}, Ids{5}, Ids{9, 4, 6}})
        expect_the_same(growing, fixed, requests_for(kSources, prefix), search,
                        what + ", prefix of " + std::to_string(prefix.size()));
    }
  }
}

TEST(FixedSteps, FindWhatGrowingStepsFindOfSeveralModelsAndOfShortlists) {
  const std::vector<Transformer> both{in_eval_mode(testing::options_of(2)), in_eval_mode(testing::options_of(1), 2)};
  const TransformerStepModel growing(both, torch::kCPU);
  const TransformerStepModel fixed(both, torch::kCPU, std::make_shared<FixedSteps>(nullptr));
  auto with_lists = requests_for(kSources);
  for (SearchRequest& request : with_lists) request.shortlist = Ids{4, 5, 6, 7, 8, 9, 10};
  for (const int64_t beam : {1, 4}) {
    expect_the_same(growing, fixed, requests_for(kSources), search_of(beam, 40), "models");
    expect_the_same(growing, fixed, with_lists, search_of(beam, 40), "shortlists");
  }
  // The alternatives have another number of hypotheses after the first step, and each sentence another one.
  SearchOptions alternatives = search_of(1, 10);
  alternatives.alternatives = true;
  alternatives.num_hypotheses = 3;
  auto with_terms = requests_for(kSources);
  with_terms[1].terms = {{20, 21}};
  expect_the_same(growing, fixed, requests_for(kSources), alternatives, "alternatives");
  expect_the_same(growing, fixed, with_terms, search_of(4, 40), "terms");
}

// LibTorch's operations as a CUDA graph has them: the next time, they read and write the same tensors, and what the
// host gave them the first time, such as sizes, is what they get.
struct Operation {
  c10::OperatorHandle handle;
  torch::jit::Stack inputs, outputs;
};
thread_local std::vector<Operation>* recording = nullptr;

void record_operation(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard once(c10::DispatchKey::TESTING_ONLY_GenericMode);
  torch::jit::Stack inputs(stack->end() - static_cast<int64_t>(handle.schema().arguments().size()), stack->end());
  handle.callBoxed(stack);
  const auto outputs = static_cast<int64_t>(handle.schema().returns().size());
  recording->push_back({handle, std::move(inputs), {stack->end() - outputs, stack->end()}});
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&record_operation>());
}

void replay(const std::vector<Operation>& operations) {
  for (const Operation& operation : operations) {
    torch::jit::Stack stack = operation.inputs;
    operation.handle.callBoxed(&stack);
    for (size_t i = 0; i < stack.size(); ++i)
      if (stack[i].isTensor() && !stack[i].toTensor().is_alias_of(operation.outputs[i].toTensor()))
        operation.outputs[i].toTensor().copy_(stack[i].toTensor());
  }
}

struct Recordings {
  int recorded = 0, replayed = 0;

  Recorder recorder() {
    return [this](const std::function<void()>& body, torch::Device) {
      ++recorded;
      std::vector<Operation> operations;
      recording = &operations;
      const c10::impl::IncludeDispatchKeyGuard guard(c10::DispatchKey::TESTING_ONLY_GenericMode);
      body();
      return [this, operations] {
        ++replayed;
        replay(operations);
      };
    };
  }
};

TEST(FixedSteps, AreRecordedAtTheirSecondUseAndServeTheNextBatches) {
  Transformer transformer = in_eval_mode(testing::options_of(2));
  transformer->to(torch::kDouble);  // for which every operation is LibTorch's
  const TransformerStepModel growing(transformer, torch::kCPU);
  for (const int64_t beam : {1, 4}) {
    Recordings recordings;
    const TransformerStepModel fixed({transformer}, torch::kCPU, std::make_shared<FixedSteps>(recordings.recorder()));
    const auto search = [&](const std::vector<Ids>& sources) {
      expect_the_same(growing, fixed, requests_for(sources), search_of(beam, 20), "recorded");
    };
    search({{5, 6, 7}});
    EXPECT_EQ(recordings.recorded, beam == 1 ? 1 : 2);  // reordering goes to and fro
    search({{8, 9}});
    const Recordings after_two = recordings;
    search({{9, 6, 12, 7}});
    EXPECT_EQ(recordings.recorded, after_two.recorded);
    EXPECT_GT(recordings.replayed, after_two.replayed + 10);
    for (int round = 0; round < 2; ++round) search(kSources);
  }
}

TEST(FixedSteps, LoseNoTranslationWhereTheyCannotBeRecorded) {
  const Transformer transformer = in_eval_mode(testing::options_of(2));
  int tried = 0;
  const auto steps =
      std::make_shared<FixedSteps>([&](const std::function<void()>& body, torch::Device) -> std::function<void()> {
        ++tried;
        body();
        TORCH_CHECK(false, "operation not permitted when stream is capturing");
      });
  const TransformerStepModel growing(transformer, torch::kCPU), fixed({transformer}, torch::kCPU, steps);
  EXPECT_TRUE(steps->usable());
  for (const int64_t beam : {4, 1})
    expect_the_same(growing, fixed, requests_for(kSources), search_of(beam, 40), "not recorded");
  EXPECT_FALSE(steps->usable());
  EXPECT_EQ(tried, 1);
}

TEST(FixedSteps, AreNotTakenWhereTheyWouldBeTooLarge) {
  Transformer transformer = in_eval_mode(testing::options_of(1));
  const auto cache = transformer->start_decoding(transformer->encode(torch::ones({1, 3}, torch::kLong)));
  FixedSteps steps(nullptr);
  EXPECT_TRUE(steps.take(transformer, cache, {1, 4, 16, 32}));
  EXPECT_FALSE(steps.take(transformer, cache, {1 << 16, 4, 16, 512}));
}

}  // namespace
}  // namespace transmute
