// SPDX-License-Identifier: Apache-2.0
// What a step asks of a device: how many of LibTorch's operations, and none that waits for their results. Counted on
// the CPU in double precision, for which there are no kernels of our own: where a GPU has them, it is asked for less.

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <transmute/device/tensor_logits.h>
#include <transmute/device/transformer_step_model.h>
#include <transmute/formats/model_folder.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/search/next_scores.h>
#include <transmute/tests/support/new_transformer.h>
#include <transmute/tokenizer/special_ids.h>
#include <transmute/training/optimization/optimizer.h>
#include <transmute/training/replicas.h>

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace transmute {
namespace {

using Counts = std::map<std::string, int>;

// Views and the like, for which a device does nothing.
const std::set<std::string> kFree{
    "aten::view",      "aten::transpose",      "aten::select",     "aten::slice",   "aten::narrow",
    "aten::t",         "aten::unsqueeze",      "aten::expand",     "aten::detach",  "aten::view_as",
    "aten::alias",     "aten::flatten",        "aten::reshape",    "aten::permute", "detach",
    "aten::squeeze",   "aten::_reshape_alias", "aten::as_strided", "aten::empty",   "aten::_unsafe_view",
    "aten::chunk",     "aten::split",          "aten::unbind",     "aten::resize_", "aten::to",
    "aten::contiguous"};

// The operations that copy, also within those above.
const std::set<std::string> kCopies{"aten::_to_copy", "aten::clone"};

// The operations that hand numbers from the device to the program.
const std::set<std::string> kWaits{"aten::item",  "aten::_local_scalar_dense", "aten::nonzero",  "aten::is_nonzero",
                                   "aten::equal", "aten::masked_select",       "aten::_unique2", "aten::index.Tensor"};

// Tensor::to() to a device, which is no copy between two on the CPU.
const std::set<std::string> kCrossings{"dtype_layout", "device"};

// Counts the operations of all threads while it lives: those that the program asks for, not those that they consist of.
class OperationCounter {
 public:
  OperationCounter() {
    asked_.clear();
    waits_.clear();
    crossings_ = 0;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(
                                        [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
                                          const std::string name = function.name();
                                          const std::lock_guard lock(mutex_);
                                          if ((depth_++ == 0 && kFree.count(name) == 0) || kCopies.count(name) > 0)
                                            ++asked_[name];
                                          if (kWaits.count(name) > 0) ++waits_[name];
                                          if (depth_ == 1 && name == "aten::to" &&
                                              kCrossings.count(function.operator_name()->overload_name) > 0)
                                            ++crossings_;
                                          return nullptr;
                                        },
                                        [](const at::RecordFunction&, at::ObserverContext*) { --depth_; })
                                        .scopes({at::RecordScope::FUNCTION}));
  }
  ~OperationCounter() { at::removeCallback(handle_); }
  OperationCounter(const OperationCounter&) = delete;
  OperationCounter& operator=(const OperationCounter&) = delete;

  static Counts asked() { return asked_; }
  static Counts waits() { return waits_; }
  static int crossings() { return crossings_; }

 private:
  static std::mutex mutex_;
  static Counts asked_, waits_;
  static int crossings_;
  static thread_local int depth_;
  at::CallbackHandle handle_;
};
std::mutex OperationCounter::mutex_;
Counts OperationCounter::asked_, OperationCounter::waits_;
int OperationCounter::crossings_ = 0;
thread_local int OperationCounter::depth_ = 0;

int total(const Counts& counts) {
  int sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

std::string listed(const Counts& counts) {
  std::string list;
  for (const auto& [name, count] : counts) list += name + " " + std::to_string(count) + "\n";
  return list;
}

torch::Tensor random_ids(int64_t rows, int64_t columns) {
  return torch::randint(special_ids::kCount, 200, {rows, columns}, torch::kLong);
}

Transformer in_double(int64_t layers) {
  Transformer transformer = testing::new_transformer(testing::options_of(layers));
  transformer->to(torch::kDouble);
  return transformer;
}

struct Operations {
  Counts asked, waits;
  int crossings = 0;  // copies between host and device
};

// The operations of step number `step` with a beam of 4.
Operations of_decoding_step(int64_t layers, int step) {
  const torch::NoGradGuard no_grad;
  Transformer transformer = in_double(layers);
  transformer->eval();
  DecoderCache cache = transformer->start_decoding(transformer->encode(random_ids(3, 9)));
  const torch::Tensor ids = random_ids(3, 4), parents = torch::arange(12);
  for (int i = 1; i < step; ++i) cache = transformer->step(ids, cache).cache;
  const OperationCounter counter;
  DecoderStep next = transformer->step(ids, cache);
  transformer->project(next.states);
  next.cache.select({}, parents);
  return {OperationCounter::asked(), OperationCounter::waits()};
}

TEST(DeviceOperations, ADecodingStepTakesAFixedNumberAndWaitsForNone) {
  const Operations second = of_decoding_step(2, 2), tenth = of_decoding_step(2, 10);
  EXPECT_EQ(listed(second.asked), listed(tenth.asked));
  EXPECT_EQ(listed(tenth.waits), "");
  const int of_a_layer = total(of_decoding_step(3, 5).asked) - total(of_decoding_step(2, 5).asked);
  EXPECT_LE(of_a_layer, 31);
  EXPECT_LE(total(tenth.asked) - 2 * of_a_layer, 3) << listed(tenth.asked);
}

// The operations of a search's step number `step`: sentences leave before it, and hypotheses are reordered.
Operations of_search_step(int step, const std::vector<Ids>& sources) {
  Transformer transformer = in_double(2);
  transformer->eval();
  const TransformerStepModel model(transformer, torch::kCPU);
  const auto batch = model.start(sources, {}, {});
  batch->step(Ids(sources.size(), special_ids::kBegin), 1);
  batch->select({0, 1, 2}, {0, 0, 1, 1, 2, 2});
  for (int i = 1; i < step; ++i) batch->step({4, 5, 6, 7, 8, 9}, 1);
  const OperationCounter counter;
  batch->select({0, 2}, {1, 0, 5, 5});
  batch->step({4, 5, 6, 7}, 1);
  return {OperationCounter::asked(), OperationCounter::waits(), OperationCounter::crossings()};
}

TEST(DeviceOperations, AStepOfASearchSendsItsNumbersInOneCopyAndWaitsForNone) {
  const Operations padded = of_search_step(3, {{4, 5}, {6}, {7, 8, 9}});
  EXPECT_EQ(listed(padded.waits), "");
  EXPECT_EQ(padded.crossings, 1);
  const Operations of_one_length = of_search_step(3, {{4, 5}, {6, 7}, {8, 9}});
  EXPECT_EQ(of_one_length.crossings, 1);
  // Each of the two layers negates the mask and fills two copies, and the mask follows the sentences that stay.
  EXPECT_EQ(total(padded.asked) - total(of_one_length.asked), 2 * 5 + 1) << listed(padded.asked);
}

// The operations that find the best candidates of two sentences.
Operations of_candidates(int64_t beam) {
  const torch::NoGradGuard no_grad;
  SearchOptions options;
  options.beam_size = beam;
  const SearchContext context;
  const SearchRequest request{{4, 5}};
  std::vector<search::SentenceSearch> sentences;
  for (size_t i = 0; i < 2; ++i) sentences.emplace_back(i, request, options, context);
  const TensorLogits logits(torch::rand({2, beam, 200}), 1);
  const OperationCounter counter;
  const auto scores = logits.scores(0, sentences, sentences.front().candidates());
  for (const auto& sentence : sentences) scores->best(sentence, sentence.candidates());
  return {OperationCounter::asked(), OperationCounter::waits(), OperationCounter::crossings()};
}

TEST(DeviceOperations, CandidatesOfAllSentencesTakeOneCopyToTheDeviceAndOneBack) {
  for (const int64_t beam : {1, 4}) {
    const Operations found = of_candidates(beam);
    EXPECT_EQ(listed(found.waits), "");
    EXPECT_EQ(found.crossings, 2);
    // The device has softmax, sum, fill, the best and cat; the host makes the totals and takes the answer apart.
    EXPECT_EQ(total(found.asked), 5 + 3) << listed(found.asked);
  }
}

StepInput batch_of(int64_t rows) {
  const torch::Tensor source = random_ids(rows, 12), target = random_ids(rows, 10);
  return {{{source, target, target, {}, source.numel(), target.numel()}}, target.numel(), 1, true};
}

Operations of_gradients(int64_t layers) {
  WorkerCrew workers(1);
  Transformer transformer = in_double(layers);
  Replicas replicas(transformer, torch::kCPU, workers, {Precision::float32});
  const StepInput input = batch_of(8);
  const auto step = [&] {
    replicas.accumulate_gradients(input, 0.1);
    replicas.clear_gradients();
  };
  step();
  const OperationCounter counter;
  step();
  return {OperationCounter::asked(), OperationCounter::waits()};
}

TEST(DeviceOperations, ATrainingStepsGradientsTakeAFixedNumberAndWaitForNone) {
  const Operations two = of_gradients(2);
  EXPECT_EQ(listed(two.waits), "");
  const int of_a_layer = total(of_gradients(3).asked) - total(two.asked);
  EXPECT_LE(of_a_layer, 292);
  EXPECT_LE(total(two.asked) - 2 * of_a_layer, 50) << listed(two.asked);
}

Operations of_update(int64_t layers) {
  Transformer transformer = testing::new_transformer(testing::options_of(layers));
  const NamedTensors parameters = parameters_of(transformer);
  Adam adam(parameters, {0.9, 0.98, 1e-9, 1.0});
  std::vector<torch::Tensor> gradients;
  for (const auto& [name, parameter] : parameters) gradients.push_back(torch::ones_like(parameter.detach()));
  const torch::Tensor loss = torch::ones({});
  adam.start_update(gradients, 1e-3, loss);
  const OperationCounter counter;
  adam.start_update(gradients, 1e-3, loss);
  return {OperationCounter::asked(), OperationCounter::waits()};
}

TEST(DeviceOperations, AnUpdateTakesAFixedNumberAtAnyDepthAndWaitsForNone) {
  const Operations two = of_update(2), four = of_update(4);
  EXPECT_EQ(listed(two.waits), "");
  EXPECT_EQ(listed(two.asked), listed(four.asked));
  EXPECT_LE(total(two.asked), 56) << listed(two.asked);
}

}  // namespace
}  // namespace transmute
