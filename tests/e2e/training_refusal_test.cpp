// SPDX-License-Identifier: Apache-2.0
// Inputs that train refuses: what it says, and the exit code (2: the caller's mistake, 1: everything else).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/training_run.h>

#include <filesystem>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TrainingRefusal : public TrainingRun {};

TEST_F(TrainingRefusal, SaysThatAFileWithinAnArchiveMustBeUnpacked) {
  EXPECT_THAT(refusal(train("run", {"data.train_source=train.de/train.en"}), 1),
              AllOf(HasSubstr("train.de/train.en: is within a file"), HasSubstr("unpack it")));
}

TEST_F(TrainingRefusal, RefusesCudaWhereThereIsNone) {
  std::vector<std::string> words = train_command(config_, folder_ / "run");
  words.insert(words.end(), {"--device", "cuda"});
  const Outcome outcome = run_program_with(words);
  if (outcome.exit_code == 0) GTEST_SKIP() << "this machine has a CUDA device";
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("sees no CUDA device"));
}

TEST_F(TrainingRefusal, NamesLineAndNearestNameOfAnUnknownKey) {
  write_text(config_, read_text(config_) + "  evry: 10\n");
  const Outcome outcome = train("run");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("unknown key \"validation.evry\"; did you mean \"every\"?"));
  EXPECT_THAT(outcome.errors, HasSubstr("tiny.yaml:25"));
}

TEST_F(TrainingRefusal, NamesARunFolderThatCannotBeMade) {
  write_text(folder_ / "file", "");
  EXPECT_THAT(refusal(run_program_with(train_command(config_, folder_ / "file/run")), 1),
              HasSubstr("file/run: the folder cannot be made"));
}

TEST_F(TrainingRefusal, DoesNotAddToAFileThatItsLogIsALinkTo) {
  std::filesystem::create_directory(folder_ / "run");
  write_text(folder_ / "victim", "precious");
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "run/train.log");
  EXPECT_THAT(refusal(train("run")), HasSubstr("run/train.log: is a symbolic link"));
  EXPECT_EQ(read_text(folder_ / "victim"), "precious");
}

TEST_F(TrainingRefusal, PassesOverAsManyDivergingStepsAsItIsToldAndStopsWithTheRemedy) {
  EXPECT_THAT(refusal(train("run", {"training.learning_rate_scale=1e30", "training.max_steps=200",
                                    "training.max_skipped_steps=2"}),
                      1),
              AllOf(HasSubstr("skipped (1 of at most 2 in a row)"), HasSubstr("skipped (2 of at most 2 in a row)"),
                    HasSubstr("diverged: loss"), HasSubstr("not finite"), HasSubstr("The weights are as they were"),
                    HasSubstr("training.learning_rate_scale")));
}

TEST(TrainUsage, AnUnknownFlagIsBadUsage) {
  EXPECT_THAT(refusal("train", {"--confg", "x.yaml"}), AllOf(HasSubstr("--confg"), HasSubstr("train --help")));
}

TEST(TrainUsage, AMissingConfigIsNamed) {
  EXPECT_THAT(refusal("train", {}), HasSubstr("--config FILE is needed"));
  EXPECT_THAT(refusal("train", {"--config", "nowhere.yaml"}, 1), HasSubstr("nowhere.yaml: cannot be opened"));
}

}  // namespace
}  // namespace transmute::testing
