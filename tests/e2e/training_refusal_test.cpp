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

TEST_F(TrainingRefusal, NamesBothLineCountsWhereTheyDiffer) {
  write_text(folder_ / "data/train.de", "eins\nzwei\n");
  const Outcome outcome = train("run");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("train.en has 400 lines"), HasSubstr("train.de has 2")));
}

TEST_F(TrainingRefusal, NamesFileAndLineOfInvalidUtf8) {
  write_text(folder_ / "data/train.en", "one\ncaf\xe9\n");
  const Outcome outcome = train("run");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("train.en:2: not valid UTF-8"), HasSubstr("iconv")));
}

TEST_F(TrainingRefusal, NamesAMissingFile) {
  const Outcome outcome = train("run", {"data.train_source=nowhere.en"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("nowhere.en: cannot be opened"));
}

TEST_F(TrainingRefusal, SaysThatAFileWithinAnArchiveMustBeUnpacked) {
  const Outcome outcome = train("run", {"data.train_source=train.de/train.en"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("train.de/train.en: is within a file"), HasSubstr("unpack it")));
}

TEST_F(TrainingRefusal, RefusesAnEmptyCorpus) {
  write_text(folder_ / "data/train.en", "");
  write_text(folder_ / "data/train.de", "");
  const Outcome outcome = train("run");
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.errors, HasSubstr("empty"));
}

TEST_F(TrainingRefusal, NamesTheLargestVocabularyThatTheTextSupports) {
  const Outcome outcome = train("run", {"tokenizer.vocab_size=30000"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("tokenizer.vocab_size 30000 is more than the training text supports"));
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

TEST_F(TrainingRefusal, RefusesAValueOfTheWrongType) {
  const Outcome outcome = train("run", {"training.warmup_steps=many"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("\"training.warmup_steps\" needs a whole number, not 'many'"));
}

TEST_F(TrainingRefusal, ADamagedCheckpointIsNamedAndTheOneBeforeItServes) {
  ASSERT_EQ(train("run").exit_code, 0);
  const std::string weights = folder_ / "run/checkpoints/step-000000030/weights.safetensors";
  std::string bytes = read_text(weights);
  bytes[bytes.size() - 5] ^= 1;
  write_text(weights, bytes);
  const Outcome outcome = train("run", {"training.max_steps=40"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("step-000000030/weights.safetensors: damaged"), HasSubstr("remove the folder")));
  std::filesystem::remove_all(folder_ / "run/checkpoints/step-000000030");
  EXPECT_EQ(train("run", {"training.max_steps=40"}).exit_code, 0);
}

TEST_F(TrainingRefusal, NamesARunFolderThatCannotBeMade) {
  write_text(folder_ / "file", "");
  const Outcome outcome = run_program_with(train_command(config_, folder_ / "file/run"));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("file/run: the folder cannot be made"));
}

TEST_F(TrainingRefusal, DoesNotAddToAFileThatItsLogIsALinkTo) {
  std::filesystem::create_directory(folder_ / "run");
  write_text(folder_ / "victim", "precious");
  std::filesystem::create_symlink(folder_ / "victim", folder_ / "run/train.log");
  const Outcome outcome = train("run");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("run/train.log: is a symbolic link"));
  EXPECT_EQ(read_text(folder_ / "victim"), "precious");
}

TEST_F(TrainingRefusal, RefusesAnotherNetworkInTheSameRunFolder) {
  ASSERT_EQ(train("run", {"training.max_steps=2"}).exit_code, 0);
  const Outcome outcome = train("run", {"model.d_ff=128", "training.seed=2", "training.clip_norm=1"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(
      outcome.errors,
      AllOf(
          HasSubstr("model.d_ff (it was 64; the config now says 128), training.seed (it was 1; the config now says 2)"),
          HasSubstr("config: training.clip_norm changes from 0 to 1")));
}

TEST_F(TrainingRefusal, ADivergingLossStopsWithTheRemedy) {
  const Outcome outcome = train("run", {"training.learning_rate_scale=1e30", "training.max_steps=200"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("diverged: loss"), HasSubstr("not finite"), HasSubstr("training.learning_rate_scale")));
}

TEST_F(TrainingRefusal, PassesOverAsManyDivergingStepsAsItIsTold) {
  const Outcome outcome =
      train("run", {"training.learning_rate_scale=1e30", "training.max_steps=200", "training.max_skipped_steps=2"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors,
              AllOf(HasSubstr("skipped (1 of at most 2 in a row)"), HasSubstr("skipped (2 of at most 2 in a row)")));
}

TEST(TrainUsage, AnUnknownFlagIsBadUsage) {
  const Outcome outcome = run_program_with({program("train"), "--confg", "x.yaml"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("--confg"), HasSubstr("train --help")));
}

TEST(TrainUsage, AMissingConfigIsNamed) {
  const Outcome none = run_program_with({program("train")});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.errors, HasSubstr("--config FILE is needed"));
  const Outcome missing = run_program_with({program("train"), "--config", "nowhere.yaml"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.errors, HasSubstr("nowhere.yaml: cannot be opened"));
}

}  // namespace
}  // namespace transmute::testing
