// SPDX-License-Identifier: Apache-2.0
// Trainings of two files, without a configuration, and models that people train further.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/first_steps.h>

#include <filesystem>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(FirstSteps, TwoFilesAreEnoughForATraining) {
  const std::vector<std::string> command{program("train"),
                                         "--source",
                                         folder_ / "data/train.en",
                                         "--target",
                                         folder_ / "data/train.de",
                                         "--run-folder",
                                         folder_ / "run",
                                         "--minutes",
                                         "0.1"};
  EXPECT_THAT(messages_of(run_program_with(command)),
              AllOf(HasSubstr("chosen for 2"), HasSubstr("all settings are in "), Not(HasSubstr("the training ends")),
                    HasSubstr("transmute translate --model")));
  const std::string config = in_run("run", "config.yaml");
  EXPECT_THAT(config,
              AllOf(HasSubstr("max_minutes: 0.1"), HasSubstr("valid_source: [\"" + (folder_ / "run/text/valid.en"))));
  const size_t lines = [&] {
    const std::string held_out = in_run("run", "text/valid.en"), kept = in_run("run", "text/train.en");
    EXPECT_GT(held_out.size(), 0U);
    return static_cast<size_t>(std::count(held_out.begin(), held_out.end(), '\n') +
                               std::count(kept.begin(), kept.end(), '\n'));
  }();
  EXPECT_EQ(lines, 300U) << "each line is on one side";
  // The file that was written says it all.
  const Outcome rerun = run("train", {"--config", folder_ / "run/config.yaml", "--run-folder", folder_ / "rerun"});
  ASSERT_EQ(rerun.exit_code, 0) << rerun.errors;
  EXPECT_EQ(in_run("rerun", "config.yaml"), config);
  // The same command again continues, or finds that all is done.
  EXPECT_THAT(messages_of(run_program_with(command)),
              AllOf(HasSubstr("resuming after step"), Not(HasSubstr("chosen for"))));
  EXPECT_EQ(in_run("run", "config.yaml"), config);
  // Another text is not taken for the one that the run has.
  std::vector<std::string> other = command;
  std::swap(other[2], other[4]);
  const std::string divided = in_run("run", "text/train.en");
  EXPECT_THAT(refusal(run_program_with(other), 1), AllOf(HasSubstr("was begun with another text than"),
                                                         HasSubstr("--valid-source"), HasSubstr("--run-folder")));
  EXPECT_EQ(in_run("run", "text/train.en"), divided);
}

TEST_F(FirstSteps, WhatIsSaidBeforeThereIsARunFolderIsInItsLogToo) {
  const std::string text = folder_ / "data/train.en";
  std::string columns;
  for (const char byte : read_text(text)) columns += byte == '\n' ? "\tx\n" : std::string(1, byte);
  write_text(text, columns);
  const Outcome outcome = run("train", {"--source", text, "--target", folder_ / "data/train.de", "--run-folder",
                                        folder_ / "run", "--minutes", "0.02"});
  EXPECT_THAT(outcome.errors, HasSubstr(text + ": has tabs")) << "the file as given, before it is divided";
  EXPECT_EQ(in_run("run", "train.log"), outcome.errors);
}

TEST_F(FirstSteps, ARunOfTwoFilesCanBeMoved) {
  std::vector<std::string> command{program("train"),          "--source",     folder_ / "data/train.en", "--target",
                                   folder_ / "data/train.de", "--run-folder", folder_ / "run",           "--set",
                                   "training.max_steps=2"};
  ASSERT_EQ(run_program_with(command).exit_code, 0);
  const auto goes_on = [](const std::vector<std::string>& words) {
    EXPECT_THAT(messages_of(run_program_with(words)), HasSubstr("resuming after step 2"));
  };
  std::filesystem::rename(folder_ / "run", folder_ / "moved");
  command[6] = folder_ / "moved";
  goes_on(command);
  EXPECT_THAT(in_run("moved", "config.yaml"), HasSubstr("train_source: [\"" + (folder_ / "moved/text/train.en")));
  std::filesystem::rename(folder_ / "moved", folder_ / "again");
  goes_on({program("train"), "--config", folder_ / "again/config.yaml"});
}

TEST_F(FirstSteps, AShapeThatIsTooSlowForTheTimeIsNotTimed) {
  make_corpus(folder_ / "more", 2500);
  EXPECT_THAT(messages_of(run("train", {"--source", folder_ / "more/train.en", "--target", folder_ / "more/train.de",
                                        "--run-folder", folder_ / "run", "--minutes", "0.02", "--threads", "1"})),
              AllOf(HasSubstr("measuring how long a step takes here: 2+2 layers of width 128 with 1,024 tokens a step"),
                    Not(HasSubstr("here: 3+3 layers")), ContainsRegex("chosen for .* 2\\+2 layers of width 128")));
}

TEST_F(FirstSteps, ValidationTextInTheRunFolderIsReplacedOnlyWhereAnEarlierStartWroteIt) {
  const auto start = [&](const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        program("train"), "--source", folder_ / "data/train.en",  "--target", folder_ / "data/train.de", "--run-folder",
        folder_ / run,    "--set",    "data.max_target_tokens=1", "--set",    "data.max_source_tokens=1"};
    words.insert(words.end(), more.begin(), more.end());
    return refusal(run_program_with(words), 1);
  };
  const std::string own = folder_ / "run/text";
  std::filesystem::create_directories(own);
  for (const char* name : {"/valid.en", "/valid.de"}) std::filesystem::copy_file(folder_ / "data" + name, own + name);
  EXPECT_THAT(start("run", {"--valid-source", own + "/valid.en", "--valid-target", own + "/valid.de"}),
              HasSubstr("no usable sentence pair"));
  EXPECT_THAT(start("run", {}), HasSubstr("valid.en already exists"));
  EXPECT_EQ(in_run("run", "text/valid.en"), in_run("data", "valid.en"));
  for (int starts = 0; starts < 2; ++starts) EXPECT_THAT(start("divided", {}), HasSubstr("no usable sentence pair"));
}

TEST_F(FirstSteps, ARunThatWasBegunWithAConfigIsNotTakenForOneOfTwoFiles) {
  ASSERT_EQ(train("run").exit_code, 0);
  EXPECT_THAT(
      refusal("train",
              {"--source", folder_ / "other.en", "--target", folder_ / "other.de", "--run-folder", folder_ / "run"}, 1),
      AllOf(HasSubstr("was begun with a configuration"), HasSubstr("--config ")));
}

TEST_F(FirstSteps, AVocabularyForManyCharactersIsChosenLargeEnough) {
  std::string source, target;
  for (int i = 0; i < 300; ++i) {
    target += "line " + std::to_string(i) + "\n";
    for (int k = 0; k < 6; ++k) {  // 1,800 characters
      const int code = 0x4e00 + 6 * i + k;
      source += {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
                 static_cast<char>(0x80 | (code & 0x3f))};
    }
    source += "\n";
  }
  write_text(folder_ / "many.zh", source);
  write_text(folder_ / "many.en", target);
  EXPECT_THAT(messages_of(run("train", {"--source", folder_ / "many.zh", "--target", folder_ / "many.en",
                                        "--run-folder", folder_ / "many", "--set", "training.max_steps=2", "--set",
                                        "model.d_model=16", "--set", "model.num_heads=2"})),
              HasSubstr("the vocabulary gets"));
}

TEST_F(FirstSteps, AFinishedModelCanBeFineTunedWithoutAConfig) {
  ASSERT_EQ(train("first").exit_code, 0);
  const std::string stored = folder_ / "transmute/models/stored";
  std::filesystem::create_directories(folder_ / "transmute/models");
  std::filesystem::create_symlink(folder_ / "first/model", stored);
  std::vector<std::string> words{
      "env",      "XDG_DATA_HOME=" + folder_.path(), program("train"), "--source",         folder_ / "data/train.en",
      "--target", folder_ / "data/train.de",         "--run-folder",   folder_ / "second", "--minutes",
      "0.05"};
  const std::vector<std::string> from_scratch = words;
  words.insert(words.end(), {"--initialize-from", ""});
  const auto fine_tune = [&](const std::string& model) {
    words.back() = model;
    return run_program_with(words);
  };
  EXPECT_THAT(messages_of(fine_tune("stored")), HasSubstr("the run begins with the weights of " + stored));
  EXPECT_EQ(in_run("second", "tokenizer.model"), in_run("first", "tokenizer.model"));
  // A tenth of 0.36 / d_model of the model, not of the shape that 300 pairs get.
  EXPECT_THAT(in_run("second", "config.yaml"), AllOf(HasSubstr("d_model: 32"), HasSubstr("learning_rate: 0.001125")));
  EXPECT_THAT(fine_tune(folder_ / "second/model").errors, HasSubstr("training.initialize_from (it was "));
  EXPECT_THAT(run_program_with(from_scratch).errors,
              AllOf(HasSubstr("training.initialize_from (it was "), HasSubstr("Use another --run-folder")));
}

TEST_F(FirstSteps, AModelIsSearchedAsItsConfigSays) {
  ASSERT_EQ(train("run", {"search.length_alpha=0", "search.beam_size=2"}).exit_code, 0);
  const auto translate = [&](std::vector<std::string> flags) {
    std::vector<std::string> words{program("translate"), "--model", folder_ / "run/model", "--format", "json",
                                   "--min-length",       "5"};
    words.insert(words.end(), flags.begin(), flags.end());
    return output_of(run_program_with(words, "the old train is here.\n"));
  };
  const std::string plain = translate({});
  EXPECT_EQ(plain, translate({"--length-alpha", "0", "--beam-size", "2"}));
  EXPECT_NE(plain, translate({"--length-alpha", "0.6", "--beam-size", "2"}));
}

TEST_F(FirstSteps, TextWithoutAConfigNeedsItsPartner) {
  EXPECT_THAT(refusal("train", {"--source", "a", "--run-folder", "x"}), HasSubstr("--target"));
  EXPECT_THAT(refusal("train", {"--source", "a", "--target", "b", "--run-folder", "x", "--config", "c"}),
              HasSubstr("--config"));
  EXPECT_THAT(refusal("train", {"--minutes", "3", "--config", "c"}), HasSubstr("--set training.max_minutes=3"));
  EXPECT_THAT(refusal("train", {"--initialize-from", "m", "--config", "c"}), HasSubstr("--source"));
  EXPECT_THAT(refusal("train", {}), HasSubstr("--source FILE --target FILE"));
  EXPECT_THAT(
      refusal("train", {"--source", "nowhere.en", "--target", "nowhere.de", "--run-folder", folder_ / "none"}, 1),
      HasSubstr("nowhere.en: cannot be opened: No such file"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
  for (const std::vector<std::string>& wish : std::vector<std::vector<std::string>>{
           {"--set", "model.d_modle=5"}, {"--set", "training.max_steps=-1"}, {"--initialize-from", "nowhere"}}) {
    std::vector<std::string> words{program("train"),          "--source",     folder_ / "data/train.en", "--target",
                                   folder_ / "data/train.de", "--run-folder", folder_ / "none"};
    words.insert(words.end(), wish.begin(), wish.end());
    EXPECT_NE(run_program_with(words).exit_code, 0) << wish.back();
    EXPECT_FALSE(std::filesystem::exists(folder_ / "none")) << wish.back();
  }
}

}  // namespace
}  // namespace transmute::testing
