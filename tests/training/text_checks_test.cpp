// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/log_capture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/zip_files.h>
#include <transmute/training/text_checks.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::LogCapture;
using testing::message_of;
using ::testing::Not;

// Three passes over 2,800 tokens, 100 in a step.
TrainingConfig three_epochs(Schedule schedule) {
  TrainingConfig config;
  config.training.batch_tokens = 100;
  config.training.max_epochs = 3;
  config.training.warmup_steps = 10;
  config.training.schedule = schedule;
  return config;
}

std::string warnings_at_start(const TrainingConfig& config, int64_t done_steps = 0) {
  const LogCapture log;
  warn_of_short_training(config, 2800, 1, done_steps);
  return log.text();
}

std::string warnings_at_end(const TrainingConfig& config, int64_t steps) {
  const LogCapture log;
  warn_of_early_end(config, steps);
  return log.text();
}

TEST(ShortTraining, IsReportedWhereTheScheduleFallsUntilMuchLater) {
  for (const Schedule schedule : {Schedule::cosine, Schedule::linear})
    EXPECT_THAT(warnings_at_start(three_epochs(schedule)),
                AllOf(HasSubstr("the training ends after about 84 steps, before training.schedule has lowered"),
                      HasSubstr("training.max_steps (now 100,000) to about 84")));
  for (const Schedule schedule : {Schedule::noam, Schedule::inverse_sqrt, Schedule::constant})
    EXPECT_EQ(warnings_at_start(three_epochs(schedule)), "");
  TrainingConfig planned = three_epochs(Schedule::cosine);
  for (const int64_t steps : {60, 84, 110}) {  // an epoch's number of steps is an estimate
    planned.training.max_steps = steps;
    EXPECT_EQ(warnings_at_start(planned), "") << steps;
  }
}

TEST(ShortTraining, IsReportedWhereItEndsInTheWarmUpOfAnySchedule) {
  for (const Schedule schedule :
       {Schedule::noam, Schedule::inverse_sqrt, Schedule::cosine, Schedule::linear, Schedule::constant}) {
    TrainingConfig config = three_epochs(schedule);
    config.training.warmup_steps = 84;
    EXPECT_THAT(warnings_at_start(config), AllOf(HasSubstr("inside the warm-up"), HasSubstr("to at most 16")));
    EXPECT_THAT(warnings_at_end(config, 84), HasSubstr("inside the warm-up"));
  }
}

TEST(ShortTraining, IsReportedAtItsEndUnlessTheScheduleFollowsTheTime) {
  TrainingConfig config = three_epochs(Schedule::cosine);
  config.training.max_epochs = 0;
  EXPECT_EQ(warnings_at_start(config), "");
  EXPECT_THAT(warnings_at_end(config, 85),
              AllOf(HasSubstr("the training ended after 85 steps, before"), HasSubstr("to about 85")));
  EXPECT_EQ(warnings_at_end(config, 90'000), "");
  config.training.max_minutes = 1;
  EXPECT_EQ(warnings_at_end(config, 85), "");
}

TEST(ShortTraining, IsNotReportedOnceItIsBehindTheRun) {
  TrainingConfig config = three_epochs(Schedule::noam);
  config.training.warmup_steps = 4000;
  EXPECT_THAT(warnings_at_start(config, 83), HasSubstr("inside the warm-up"));
  EXPECT_EQ(warnings_at_start(config, 84), "");
}

TEST(UnknownTokensOfAText, AreReportedWithARemedyThatHelps) {
  const auto warnings = [](const TrainingConfig& config, int64_t unknown) {
    const LogCapture log;
    warn_of_unknown_tokens(config, "training text, source", {1000, unknown});
    return log.text();
  };
  TrainingConfig config;
  EXPECT_EQ(warnings(config, 10), "");
  EXPECT_THAT(warnings(config, 30), AllOf(HasSubstr("training text, source: the vocabulary does not know 3.0%"),
                                          HasSubstr("tokenizer.byte_fallback: true")));
  config.training.initialize_from = "models/base";
  EXPECT_EQ(warnings(config, 10), "");
  EXPECT_THAT(warnings(config, 30), AllOf(HasSubstr("that of models/base, does not know 3.0%"),
                                          HasSubstr("choose a model"), Not(HasSubstr("tokenizer."))));
}

TEST(TextFileOfATraining, IsNeitherXmlNorATable) {
  const testing::TemporaryFolder folder;
  const auto warnings = [&](const std::string& content) {
    testing::write_text(folder / "text", content);
    const LogCapture log;
    warn_of_format(folder / "text");
    return log.text();
  };
  EXPECT_THAT(warnings("\xef\xbb\xbf<?xml version=\"1.0\"?>\n<tmx version=\"1.4\">\n"), HasSubstr("prepare --pairs"));
  EXPECT_EQ(warnings("Write <?xml version=\"1.0\"?> first.\n"), "");
  EXPECT_EQ(warnings(""), "");
  std::string table, indented;
  for (int i = 0; i < 20; ++i) {
    table += i == 7 ? "one\n" : "one\teins\n";
    indented += "\tone\n";
  }
  EXPECT_THAT(warnings(table), AllOf(HasSubstr("tabs in 19 of its first 20 lines"), HasSubstr("data.train_pairs")));
  EXPECT_EQ(warnings(indented + "one\teins\n"), "");
}

TEST(TextFileOfATraining, IsNoArchiveOfSeveral) {
  const testing::TemporaryFolder folder;
  testing::write_zip(folder / "one.zip", {{"a.en", "one\n"}});
  EXPECT_NO_THROW(check_file(folder / "one.zip", ""));
  testing::write_zip(folder / "two.zip", {{"a.en", "one\n"}, {"a.de", "eins\n"}});
  EXPECT_THAT(message_of<std::runtime_error>([&] { check_file(folder / "two.zip", ""); }),
              AllOf(HasSubstr("two.zip: is a zip archive of 2 files"), HasSubstr("so unpack it")));
}

}  // namespace
}  // namespace transmute
