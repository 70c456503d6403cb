// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/libtorch/libtorch.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/loaded_modules.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/tests/support/tiny_transformer.h>
#include <transmute/training/checkpoint.h>

#include <deque>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::modules_of;
using testing::names_in;
using testing::read_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::tiny_config;
using testing::tiny_tokenizer;
using testing::tiny_transformer;
using testing::write_text;

class Checkpoints : public ::testing::Test {
 protected:
  // A model with its optimizer, which has seen `updates` made-up gradients.
  struct Training {
    explicit Training(const Tokenizer& tokenizer, uint64_t seed, int updates = 0)
        : transformer(tiny_transformer(tokenizer, seed)), optimizer(parameters_of(transformer), {}) {
      WorkerCrew crew(1);
      for (int i = 0; i < updates; ++i) optimizer.update({made_up_gradients()}, 0.01, crew);
    }
    std::vector<torch::Tensor> made_up_gradients() {
      std::vector<torch::Tensor> gradients;
      for (const auto& [name, parameter] : parameters_of(transformer))
        gradients.push_back(torch::randn_like(parameter.detach()));
      return gradients;
    }
    TrainedParts parts(WeightAverage* average = nullptr) { return {transformer, optimizer, average}; }
    Transformer transformer;
    Adam optimizer;
  };

  static TrainState state_at(int64_t step) {
    TrainState state;
    state.step = step;
    state.epoch = 2;
    state.window = 4;
    state.batch = 17;
    state.target_tokens = 5'000'000'000;
    state.seconds = 0.1 + 0.2;
    return state;
  }

  void save(const TrainState& state, const TrainedParts& parts, const KeepPolicy& policy = {}) {
    store.save(state, {tiny_config(), tokenizer, {}}, parts, policy);
  }
  void save(Training& training, int64_t step, int64_t newest = 10) {
    KeepPolicy policy;
    policy.newest = newest;
    save(state_at(step), training.parts(), policy);
  }

  static void expect_equal(const NamedTensors& found, const NamedTensors& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_TRUE(torch::equal(found[i].second, expected[i].second)) << found[i].first;
    }
  }

  const TemporaryFolder folder;
  const std::string path = folder / "checkpoints";
  const CheckpointStore store{path};
  const Tokenizer tokenizer = tiny_tokenizer();
};

TEST_F(Checkpoints, RestoreWeightsMomentsAndState) {
  Training saved(tokenizer, 1, 3);
  TrainState state = state_at(123);
  state.metric = "bleu";
  state.conditions = "beam_size 4";
  state.best_score = 12.345678901234567;
  state.validations_since_best = 3;
  save(state, saved.parts());

  Training restored(tokenizer, 2);
  const TrainState found = store.restore(restored.parts());
  EXPECT_EQ(found.step, 123);
  EXPECT_EQ(found.epoch, 2);
  EXPECT_EQ(found.window, 4);
  EXPECT_EQ(found.batch, 17);
  EXPECT_EQ(found.target_tokens, 5'000'000'000);
  EXPECT_EQ(found.seconds, 0.1 + 0.2);
  ASSERT_TRUE(found.best_score.has_value());
  EXPECT_EQ(*found.best_score, 12.345678901234567);
  EXPECT_EQ(found.metric, "bleu");
  EXPECT_EQ(found.conditions, "beam_size 4");
  EXPECT_EQ(found.validations_since_best, 3);
  expect_equal(parameters_of(restored.transformer), parameters_of(saved.transformer));
  expect_equal(restored.optimizer.state(), saved.optimizer.state());
  EXPECT_EQ(restored.optimizer.steps(), 123);
}

TEST(TrainStates, KeepHowManyValidationsBroughtNothingBetter) {
  TrainState state;
  state.validations_since_best = 2;  // none of them had a finite score
  EXPECT_EQ(state_from_json(to_json(state), "state.json").validations_since_best, 2);
  state.metric = "bleu";
  state.best_score = 7.5;
  EXPECT_EQ(state_from_json(to_json(state), "state.json").validations_since_best, 2);
}

TEST(TrainStates, NameThePassThatTheLastBatchCameFrom) {
  const auto pass = [](int64_t epoch, int64_t window, int64_t batch) {
    TrainState state;
    state.epoch = epoch;
    state.window = window;
    state.batch = batch;
    return state.pass();
  };
  EXPECT_EQ(pass(0, 0, 0), 1) << "before the first step";
  EXPECT_EQ(pass(0, 0, 9), 1);
  EXPECT_EQ(pass(1, 0, 0), 1) << "the next batch is that of another pass";
  EXPECT_EQ(pass(1, 0, 1), 2);
  EXPECT_EQ(pass(1, 1, 0), 2);
}

TEST_F(Checkpoints, GoOnAsIfNothingHadHappened) {
  Training saved(tokenizer, 1, 3);
  TrainState state;
  state.step = 3;  // Adam's bias correction counts the updates
  save(state, saved.parts());
  Training restored(tokenizer, 2);
  store.restore(restored.parts());
  const std::vector<torch::Tensor> gradients = saved.made_up_gradients();
  std::vector<torch::Tensor> same;
  for (const auto& gradient : gradients) same.push_back(gradient.clone());
  WorkerCrew crew(2);
  saved.optimizer.update({gradients}, 0.01, crew);
  restored.optimizer.update({same}, 0.01, crew);
  expect_equal(parameters_of(restored.transformer), parameters_of(saved.transformer));
}

TEST_F(Checkpoints, WithoutABestBleuHaveNone) {
  Training training(tokenizer, 1);
  save(training, 5);
  EXPECT_FALSE(store.restore(training.parts()).best_score.has_value());
}

TEST_F(Checkpoints, AreModelFolders) {
  Training training(tokenizer, 1, 1);
  save(training, 7);
  ASSERT_THAT(store.list(), ElementsAre(path + "/step-000000007"));
  const LoadedModel model = load_model_folder(store.list()[0]);
  expect_equal(parameters_of(modules_of(model)), parameters_of(training.transformer));
}

TEST_F(Checkpoints, AreAFreshStartWhereThereAreNone) {
  Training training(tokenizer, 1);
  const Training untouched(tokenizer, 1);
  EXPECT_THAT(store.list(), IsEmpty());
  for (const bool folder_exists : {false, true}) {
    if (folder_exists) fs::create_directories(path);
    const TrainState state = store.restore(training.parts());
    EXPECT_EQ(state.step, 0);
    EXPECT_EQ(state.epoch, 0);
    EXPECT_EQ(state.batch, 0);
    EXPECT_FALSE(state.best_score.has_value());
    expect_equal(parameters_of(training.transformer), parameters_of(untouched.transformer));
  }
}

TEST_F(Checkpoints, KeepTheNewest) {
  Training training(tokenizer, 1);
  for (const int64_t step : {2, 10, 9, 100}) save(training, step, 2);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000010", "step-000000100"));
  EXPECT_THAT(store.list(), ElementsAre(path + "/step-000000010", path + "/step-000000100"));
  EXPECT_EQ(store.restore(training.parts()).step, 100);
}

TEST_F(Checkpoints, KeepTheNewestTheBestAndEachSoAndSoManiethForGood) {
  Training training(tokenizer, 1);
  KeepPolicy policy;
  policy.newest = 1;
  policy.best = 2;
  policy.every = 40;
  policy.metric = "bleu";
  const std::map<int64_t, double> scores{{10, 3}, {20, 9}, {30, 5}, {50, 5}, {60, 4}};
  for (const int64_t step : {10, 20, 30, 40, 50, 60, 70, 80, 90}) {
    TrainState state = state_at(step);
    if (scores.count(step) > 0) state.score = scores.at(step);
    state.metric = "bleu";
    if (step == 70) {
      state.metric = "chrf";  // of another metric: cannot be compared
      state.score = 99;
    }
    save(state, training.parts(), policy);
  }
  EXPECT_THAT(names_in(path),
              ElementsAre("step-000000020", "step-000000030", "step-000000040", "step-000000080", "step-000000090"));
}

TEST_F(Checkpoints, AreNotKeptForScoresUnderOtherConditions) {
  Training training(tokenizer, 1);
  KeepPolicy policy;
  policy.newest = 1;
  policy.best = 2;
  policy.metric = "bleu";
  policy.conditions = "beam_size 4";
  const auto save_scored = [&](int64_t step, double score, const std::string& conditions) {
    TrainState state = state_at(step);
    state.metric = "bleu";
    state.score = score;
    state.conditions = conditions;
    save(state, training.parts(), policy);
  };
  save_scored(20, 9, "beam_size 1");
  save_scored(30, 3, "beam_size 4");
  save_scored(40, 2, "beam_size 4");
  EXPECT_THAT(names_in(path), ElementsAre("step-000000030", "step-000000040"));
}

// One for a stopped training to continue from takes no other's place, and goes when there is a newer one.
TEST_F(Checkpoints, GoWithTheNextWhereATrainingWasStopped) {
  Training training(tokenizer, 1);
  const auto stop_at = [&](int64_t step) {
    TrainState state = state_at(step);
    state.is_interim = state.validation_due = true;
    KeepPolicy policy;
    policy.newest = 2;
    save(state, training.parts(), policy);
  };
  save(training, 10, 2);
  save(training, 20, 2);
  stop_at(23);
  stop_at(25);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000010", "step-000000020", "step-000000025"));
  EXPECT_TRUE(store.restore(training.parts()).validation_due);
  save(training, 30, 2);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000020", "step-000000030"));
}

TEST_F(Checkpoints, HoldTheMovingAverageOrBeginItWithTheWeights) {
  Training saved(tokenizer, 1, 3);
  WeightAverage average(parameters_of(Training(tokenizer, 5).transformer), 0.9);
  save(state_at(4), saved.parts(&average));
  Training restored(tokenizer, 2);
  WeightAverage found(parameters_of(restored.transformer), 0.9);
  store.restore(restored.parts(&found));
  expect_equal(found.values(), average.values());
  save(state_at(5), saved.parts());
  store.restore(restored.parts(&found));
  expect_equal(found.values(), parameters_of(saved.transformer));
}

TEST_F(Checkpoints, MayBeWrittenTwice) {
  Training first(tokenizer, 1);
  save(first, 4);
  Training second(tokenizer, 2);
  save(second, 4);
  EXPECT_THAT(names_in(path), ElementsAre("step-000000004"));
  Training restored(tokenizer, 3);
  store.restore(restored.parts());
  expect_equal(parameters_of(restored.transformer), parameters_of(second.transformer));
}

TEST_F(Checkpoints, NameTheDamagedFileAndTheRemedy) {
  Training training(tokenizer, 1, 1);
  save(training, 1);
  save(training, 2);
  const std::string newest = path + "/step-000000002";
  const auto refusal = [&] { return message_of<std::runtime_error>([&] { store.restore(training.parts()); }); };
  for (const char* name : {"weights.safetensors", "optimizer.safetensors", "state.json"}) {
    const std::string file = newest + "/" + name;
    const std::string whole = read_text(file);
    write_text(file, whole.substr(0, whole.size() / 2));
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file), HasSubstr("remove the folder " + newest)));
    fs::remove(file);
    EXPECT_THAT(refusal(), AllOf(HasSubstr(file), HasSubstr("remove the folder " + newest)));
    write_text(file, whole);
  }
  write_text(newest + "/state.json", R"({"version": 3, "step": "two"})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("state.json"), HasSubstr("damaged")));
  const std::string rest = R"(, "epoch": 0, "window": 0, "batch": 0, "target_tokens": 5, "seconds": 1.5})";
  for (const char* step : {"1.5", "-1", "1e30", "true", "null"}) {
    write_text(newest + "/state.json", std::string(R"({"version": 3, "step": )") + step + rest);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("state.json"), HasSubstr("\"step\""))) << step;
  }
  write_text(newest + "/state.json", R"({"version": 99, "step": 2})");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("version 99"), HasSubstr("reads version 3")));

  fs::remove_all(newest);  // the remedy
  EXPECT_EQ(store.restore(training.parts()).step, 1);
}

TEST_F(Checkpoints, OfAnotherModelAreRefused) {
  Training training(tokenizer, 1);
  save(training, 1);
  TransformerOptions other = testing::tiny_transformer_options();
  other.d_ff = 48;
  Transformer wider = tiny_transformer(tokenizer, 1, other);
  Adam optimizer(parameters_of(wider), {});
  EXPECT_THAT(message_of<std::runtime_error>([&] { store.restore({wider, optimizer, nullptr}); }), HasSubstr("shape"));
}

TEST_F(Checkpoints, IgnoreWhatACrashLeftBehind) {
  Training training(tokenizer, 1);
  save(training, 1);
  for (const char* rest : {"step-000000002.partial-89abcdef", "step-000000003.partial-0123abcd", "step-2", "other"}) {
    fs::create_directories(path + "/" + rest);
    write_text(path + "/" + rest + "/state.json", "half");
  }
  EXPECT_THAT(store.list(), ElementsAre(path + "/step-000000001"));
  EXPECT_EQ(store.restore(training.parts()).step, 1);
  EXPECT_THAT(names_in(path), ElementsAre("other", "step-000000001", "step-2"));
  save(training, 2, 1);
  EXPECT_THAT(names_in(path), ElementsAre("other", "step-000000002", "step-2"));
}

TEST_F(Checkpoints, AverageToTheMeanOfTheirWeights) {
  std::deque<Training> trainings;
  std::vector<std::string> folders;
  for (uint64_t i = 0; i < 3; ++i) {
    trainings.emplace_back(tokenizer, 10 + i);
    save(trainings.back(), static_cast<int64_t>(i + 1));
  }
  Training average(tokenizer, 99);
  average_parameters(store.list(), average.transformer);
  const NamedTensors found = parameters_of(average.transformer);
  for (size_t p = 0; p < found.size(); ++p) {
    const torch::Tensor mean = found[p].second.detach().contiguous();
    for (int64_t i = 0; i < mean.numel(); ++i) {
      double sum = 0;
      for (auto& training : trainings)
        sum += static_cast<double>(parameters_of(training.transformer)[p].second.data_ptr<float>()[i]);
      // Summed in double, rounded once to float32.
      ASSERT_EQ(mean.data_ptr<float>()[i], static_cast<float>(sum / 3)) << found[p].first;
      if (i == 50) break;  // of each tensor; a full comparison takes long
    }
  }
}

TEST_F(Checkpoints, AverageOfOneIsItself) {
  Training training(tokenizer, 1, 2);
  save(training, 1);
  Training average(tokenizer, 99);
  average_parameters(store.list(), average.transformer);
  expect_equal(parameters_of(average.transformer), parameters_of(training.transformer));
}

TEST_F(Checkpoints, AreSimilarWithinATraining) {
  Training one(tokenizer, 1), later(tokenizer, 1, 2), stranger(tokenizer, 2);
  EXPECT_NEAR(similarity_of(one.transformer, one.transformer), 1, 1e-9);
  EXPECT_GT(similarity_of(one.transformer, later.transformer), 0.9);
  EXPECT_NEAR(similarity_of(one.transformer, stranger.transformer), 0, 0.1);
  const torch::NoGradGuard no_grad;
  for (torch::Tensor& parameter : later.transformer->parameters()) parameter.neg_();
  EXPECT_LT(similarity_of(one.transformer, later.transformer), -0.9);
}

TEST_F(Checkpoints, OfDifferentModelsHaveNoAverage) {
  Training training(tokenizer, 1);
  EXPECT_THROW(average_parameters({}, training.transformer), std::invalid_argument);
  save(training, 1);
  TransformerOptions other = testing::tiny_transformer_options();
  other.d_ff = 48;
  fs::create_directory(folder / "wider");
  save_model_folder(folder / "wider", tiny_config(other), tokenizer, weights_of(tiny_transformer(tokenizer, 1, other)));
  EXPECT_THAT(message_of<std::runtime_error>([&] {
                average_parameters({store.list()[0], folder / "wider"}, training.transformer);
              }),
              AllOf(StartsWith(folder / "wider"), HasSubstr("shape")));
}

}  // namespace
}  // namespace transmute
