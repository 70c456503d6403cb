// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/experiment.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

// A text that is worth the third shape: 4 layers, after those of 2 and 3.
constexpr TextSize kSize{29'000, 348'000};

class FitIntoMinutes : public ::testing::Test {
 protected:
  FitIntoMinutes() {
    setup_.minutes = 10;
    experiment_.size = kSize;
    experiment_.config = config_for(kSize);
    experiment_.config.data.train_source = {"a.en"};
  }

  // On a machine that takes so long for a step of 1, 2, … layers.
  void fit(const std::vector<double>& seconds_by_layers) {
    const auto timer = [&](const TrainingConfig& config, const TextSize& size, double most_seconds) {
      EXPECT_EQ(size.pairs, kSize.pairs);
      EXPECT_EQ(most_seconds, 20) << "of 10 minutes";
      const int64_t layers = config.model.model.num_encoder_layers;
      timed_.push_back(layers);
      timed_batches_.push_back(config.training.batch_tokens);
      return seconds_by_layers[static_cast<size_t>(layers) - 1];
    };
    fit_into_minutes(setup_, timer, experiment_);
  }
  int64_t layers() const { return experiment_.config.model.model.num_encoder_layers; }
  int64_t steps() const { return experiment_.config.training.max_steps; }

  ExperimentSetup setup_;
  Experiment experiment_;
  std::vector<int64_t> timed_, timed_batches_;
};

TEST_F(FitIntoMinutes, TakesTheShapeThatTheTextIsWorthWhereItGetsEnoughSteps) {
  const int64_t worth = steps();
  fit({0, 0.001, 0.002, 0.003});
  EXPECT_THAT(timed_, ElementsAre(2, 3, 4)) << "from the smallest on";
  EXPECT_EQ(layers(), 4);
  EXPECT_EQ(steps(), worth);
  EXPECT_EQ(experiment_.config.training.max_minutes, 10);
  EXPECT_THAT(experiment_.config.data.train_source, ElementsAre("a.en"));
}

TEST_F(FitIntoMinutes, GoesBackToTheLargestShapeThatGetsEnoughSteps) {
  fit({0, 0.1, 0.2, 0.4});  // 5,100, 2,550 and 1,275 steps
  EXPECT_THAT(timed_, ElementsAre(2, 3, 4));
  EXPECT_EQ(layers(), 3);
  EXPECT_EQ(steps(), 2'600) << "by the speed of the shape that is used";
  EXPECT_THAT(experiment_.config.data.train_source, ElementsAre("a.en"));
}

TEST_F(FitIntoMinutes, TimesNoLargerShapeWhereTheSmallestGetsTooFewSteps) {
  fit({0, 1, 0, 0});
  EXPECT_THAT(timed_, ElementsAre(2));
  EXPECT_EQ(layers(), 2);
  EXPECT_EQ(steps(), 510);
}

TEST_F(FitIntoMinutes, KeepsTheShapeOfAnInitialModel) {
  setup_.initial_model = "model";
  fit({0, 1, 1, 1});
  EXPECT_THAT(timed_, ElementsAre(4));
  EXPECT_EQ(layers(), 4);
  EXPECT_EQ(steps(), 510);
}

TEST_F(FitIntoMinutes, DescribesAVocabularyThatTheRunFolderWasGiven) {
  const TemporaryFolder folder;
  setup_.trainer.run_folder = folder.path();
  testing::tiny_tokenizer().save(folder.path());
  fit({0, 0.1, 0.2, 0.4});
  EXPECT_EQ(experiment_.config.model.tokenizer.vocab_size, 80);
}

TEST_F(FitIntoMinutes, LeavesWhatWasAskedFor) {
  setup_.assignments = {"training.batch_tokens=512", "training.max_steps=7"};
  fit({0, 0.1, 0.2, 0.4});
  EXPECT_THAT(timed_, ElementsAre(2, 3, 4)) << "seven steps fit with each";
  EXPECT_THAT(timed_batches_, Each(512));
  EXPECT_EQ(steps(), 7);
}

TEST(ReadExperiment, NeedsAConfigOrATextAndPlansNoMinutesOfAConfig) {
  Experiment experiment;
  ExperimentSetup setup;
  const auto refusal = [&] { return message_of<std::invalid_argument>([&] { read_experiment(setup, experiment); }); };
  EXPECT_THAT(refusal(), AllOf(HasSubstr("--config FILE is needed"), HasSubstr("--source FILE --target FILE")));
  setup.config = "experiment.yaml";
  setup.minutes = 3;
  EXPECT_THAT(refusal(), HasSubstr("--set training.max_minutes=3 ends it earlier"));
}

TEST(RunFolderOfAnExperiment, IsTheOneAskedForOrNamedLikeTheConfig) {
  ExperimentSetup setup;
  setup.config = "configs/demo.yaml";
  EXPECT_EQ(run_folder_of(setup), "runs/demo");
  setup.trainer.run_folder = "elsewhere";
  EXPECT_EQ(run_folder_of(setup), "elsewhere");
}

}  // namespace
}  // namespace transmute
