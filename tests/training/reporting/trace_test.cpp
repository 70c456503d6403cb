// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/reporting/trace.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace transmute {
namespace {

using testing::read_text;
using testing::TemporaryFolder;

TEST(StepProfile, TracesTheFifthToTheTwentyFourthStep) {
  const TemporaryFolder folder;
  StepProfile profile(folder / "trace.json");
  for (int step = 1; step <= 30; ++step) {
    EXPECT_EQ(profile.begin_step(), step == 25) << "written before step " << step;
    EXPECT_EQ(profile.trace() != nullptr, step >= 5 && step <= 24) << "step " << step;
    const Trace::Span span(profile.trace(), "step");
  }
  int64_t steps = 0;
  const Json trace = parse_json(read_text(folder / "trace.json"));
  for (const Json& event : trace["traceEvents"]) steps += event["name"] == "step" ? 1 : 0;
  EXPECT_EQ(steps, 20);
  EXPECT_FALSE(profile.write()) << "nothing was traced since";
}

TEST(StepProfile, WithoutAFileTracesNothing) {
  StepProfile profile;
  for (int step = 1; step <= 30; ++step) EXPECT_FALSE(profile.begin_step());
  EXPECT_EQ(profile.trace(), nullptr);
}

TEST(StepProfile, KnowsThatTooFewStepsLeftItEmpty) {
  const TemporaryFolder folder;
  StepProfile profile(folder / "trace.json");
  for (int step = 1; step <= 4; ++step) profile.begin_step();
  EXPECT_FALSE(profile.write());
  EXPECT_TRUE(profile.is_empty());
  profile.begin_step();
  EXPECT_TRUE(profile.write());
  EXPECT_FALSE(profile.is_empty());
  EXPECT_FALSE(StepProfile().is_empty()) << "there is no file";
}

TEST(StepProfile, AFileThatCannotBeWrittenIsAnErrorAtOnce) {
  const TemporaryFolder folder;
  EXPECT_THROW(StepProfile(folder / "no/such/folder/trace.json"), std::runtime_error);
}

}  // namespace
}  // namespace transmute
