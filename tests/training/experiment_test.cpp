// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/log_capture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_tokenizer.h>
#include <transmute/training/experiment.h>
#include <transmute/training/run_folder.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LogCapture;
using testing::message_of;
using ::testing::Not;
using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

// A text that is worth the third shape: 4 layers, after those of 2 and 3.
const TextSize kSize{29'000, 348'000};

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
  EXPECT_EQ(experiment_.config.training.warmup_steps, 520) << "by the speed of the shape that is used";
  EXPECT_EQ(experiment_.config.validation.every, 520) << "one in two minutes of ten";
  EXPECT_THAT(experiment_.config.data.train_source, ElementsAre("a.en"));
}

TEST_F(FitIntoMinutes, TimesNoLargerShapeWhereTheSmallestGetsTooFewSteps) {
  fit({0, 1, 0, 0});
  EXPECT_THAT(timed_, ElementsAre(2));
  EXPECT_EQ(layers(), 2);
  EXPECT_EQ(experiment_.config.training.warmup_steps, 255);
}

TEST(FitIntoMinutesOfALargeText, WidensTheNetworkOnlyForMoreSteps) {
  for (const auto& [seconds, d_model] : std::map<double, int64_t>{{0.3, 256}, {0.4, 128}}) {  // 5,100 and 3,825 steps
    ExperimentSetup setup;
    setup.minutes = 30;
    Experiment experiment;
    experiment.size = {300'000, 3'000'000};
    experiment.config = config_for(experiment.size);
    ASSERT_EQ(experiment.config.model.model.d_model, 256);
    const auto timer = [wide = seconds](const TrainingConfig& config, const TextSize&, double) {
      return config.model.model.d_model == 256 ? wide : 0.8;  // 1,912 steps
    };
    fit_into_minutes(setup, timer, experiment);
    EXPECT_EQ(experiment.config.model.model.d_model, d_model);
    EXPECT_EQ(experiment.config.model.model.num_encoder_layers, 4);
  }
}

TEST_F(FitIntoMinutes, KeepsTheShapeOfAnInitialModel) {
  setup_.initial_model = experiment_.config.training.initialize_from = "model";
  fit({0, 1, 1, 1});
  EXPECT_THAT(timed_, ElementsAre(4));
  EXPECT_EQ(layers(), 4);
  EXPECT_EQ(experiment_.config.training.warmup_steps, 255);
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

// Trainings of two files each, all in one run folder, of a network that trains in a moment.
class TrainingOfTwoFiles : public ::testing::Test {
 protected:
  ExperimentSetup setup(const std::string& text, int steps = 2) const {
    std::string lines;
    for (int i = 0; i < 200; ++i) lines += text + " " + std::to_string(i) + " " + std::to_string(i * 7 % 20) + "\n";
    ExperimentSetup setup;
    setup.text.train = {folder_ / (text + ".en"), folder_ / (text + ".de")};
    for (const auto& file : {setup.text.train.source, setup.text.train.target}) write_text(file, lines);
    setup.assignments = {"model.num_encoder_layers=1",
                         "model.num_decoder_layers=1",
                         "model.d_model=16",
                         "model.num_heads=2",
                         "model.d_ff=32",
                         "training.batch_tokens=128",
                         "training.max_steps=" + std::to_string(steps)};
    setup.minutes = 1;
    setup.trainer.run_folder = run_;
    setup.trainer.threads = 1;
    return setup;
  }

  std::map<std::string, std::string> files_of_run() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(run_))
      if (entry.is_regular_file()) files[entry.path().string()] = read_text(entry.path().string());
    return files;
  }

  const TemporaryFolder folder_;
  const std::string run_ = folder_ / "run";
};

TEST_F(TrainingOfTwoFiles, KeepsAnotherOneOutOfItsRunFolderWhileItMeasures) {
  Experiment first;
  read_experiment(setup("a"), first);
  if (!first.lock->is_held()) GTEST_SKIP() << "a file system without locks";
  const auto before = files_of_run();
  int measured = 0;
  const auto timer = [&](const TrainingConfig&, const TextSize&, double) {
    Experiment second;
    EXPECT_THAT(message_of<std::runtime_error>([&] { read_experiment(setup("b"), second); }),
                HasSubstr("is already under way: process "));
    ++measured;
    return 1;
  };
  fit_into_minutes(setup("a"), timer, first);
  EXPECT_EQ(measured, 1);
  EXPECT_EQ(files_of_run(), before);
}

TEST_F(TrainingOfTwoFiles, HoldsItsRunFolderUntilTheTrainerIsGoneAndCanThenGoOnInTheSameProcess) {
  const LogCapture log;
  {
    Experiment experiment;
    read_experiment(setup("a"), experiment);
    if (!experiment.lock->is_held()) GTEST_SKIP() << "a file system without locks";
    const auto locked_at = std::filesystem::last_write_time(run_ + "/lock");
    Trainer trainer = make_trainer(setup("a"), setup("a").trainer, experiment);
    EXPECT_THAT(log.text(), HasSubstr("the text has only ")) << "the trainer was made twice";
    EXPECT_EQ(std::filesystem::last_write_time(run_ + "/lock"), locked_at) << "it was locked once";
    EXPECT_THAT(message_of<std::runtime_error>([&] { RunFolder(run_).lock(); }), HasSubstr("is already under way"));
    EXPECT_EQ(trainer.run(), 0);
    EXPECT_THAT(message_of<std::runtime_error>([&] { RunFolder(run_).lock(); }), HasSubstr("is already under way"));
  }
  Experiment experiment;
  read_experiment(setup("a", 3), experiment);
  EXPECT_EQ(make_trainer(setup("a", 3), setup("a", 3).trainer, experiment).run(), 0);
  EXPECT_THAT(log.text(), HasSubstr("resuming after step 2"));
}

TEST_F(TrainingOfTwoFiles, KeepTheirNetworkAndPlanTheirIntervalsAgainForMoreTime) {
  const ExperimentSetup first = setup("a", 4000);
  Experiment begun;
  read_experiment(first, begun);
  int steps = 0;
  EXPECT_EQ(make_trainer(first, first.trainer, begun).run([&] { return ++steps > 3 ? 15 : 0; }), 15);
  begun.config.training.max_minutes = first.minutes;
  begun.config.training.checkpoint_every = 2;  // as for little time
  begun.config.training.warmup_steps = 5;
  write_text(run_ + "/config.yaml", begun.schema.to_yaml());
  const auto continued = [&](double minutes) {
    ExperimentSetup again = first;
    again.minutes = minutes;
    again.assignments.clear();
    Experiment experiment;
    read_experiment(again, experiment);
    EXPECT_EQ(experiment.config.training.max_minutes, minutes);
    EXPECT_EQ(experiment.config.training.warmup_steps, 5);
    return experiment.config.training.checkpoint_every;
  };
  const LogCapture log;
  EXPECT_EQ(continued(first.minutes), 2) << "the same command changes nothing";
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(continued(1e6), 80) << "a fiftieth of all steps";
  EXPECT_THAT(log.text(),
              AllOf(HasSubstr("1+1 layers of width 16"), HasSubstr("this text gets 2+2 layers of width 128"),
                    HasSubstr("use another --run-folder")));
  begun.config.model.model.d_model = 512;
  write_text(run_ + "/config.yaml", begun.schema.to_yaml());
  const LogCapture of_larger;
  continued(1e6);
  EXPECT_EQ(of_larger.text(), "") << "the larger network was asked for";
}

TEST_F(TrainingOfTwoFiles, AreReadAfterTheSettings) {
  ExperimentSetup mistyped = setup("a");
  mistyped.assignments = {"training.max_step=2"};
  const LogCapture log;
  Experiment experiment;
  EXPECT_THAT(message_of<std::invalid_argument>([&] { read_experiment(mistyped, experiment); }),
              HasSubstr("did you mean \"max_steps\"?"));
  EXPECT_THAT(log.text(), Not(HasSubstr("reading")));
}

TEST_F(TrainingOfTwoFiles, NeedAPairEvenWithTextForValidation) {
  ExperimentSetup empty = setup("a");
  empty.text.valid = setup("b").text.train;
  write_text(empty.text.train.target, std::string(200, '\n'));
  Experiment experiment;
  EXPECT_THAT(message_of<std::runtime_error>([&] { read_experiment(empty, experiment); }),
              HasSubstr("a.en has 200 lines, of which 0 have text on both sides; give at least 1"));
  EXPECT_FALSE(std::filesystem::exists(run_));
}

TEST(RunFolderOfAnExperiment, IsTheOneAskedForOrNamedLikeTheConfig) {
  ExperimentSetup setup;
  setup.config = "configs/demo.yaml";
  EXPECT_EQ(run_folder_of(setup), "runs/demo");
  setup.trainer.run_folder = "elsewhere";
  EXPECT_EQ(run_folder_of(setup), "elsewhere");
}

TEST(RunFolderOfAnExperiment, IsNamedLikeTheTextWithoutAConfig) {
  ExperimentSetup setup;
  setup.text.train = {"data/train.en.gz", "data/train.de.gz"};
  EXPECT_EQ(run_folder_of(setup), "runs/train.en-de");
  setup.text.train = {"data/train.en.xz", "data/train.de.zip"};
  EXPECT_EQ(run_folder_of(setup), "runs/train.en-de");
  setup.text.train = {"/text/all", "/text/other"};
  EXPECT_EQ(run_folder_of(setup), "runs/all");
}

}  // namespace
}  // namespace transmute
