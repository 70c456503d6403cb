// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/log_capture.h>
#include <transmute/training/heartbeat.h>

#include <chrono>
#include <thread>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::LogCapture;
using ::testing::Not;

constexpr std::chrono::milliseconds kLongerThanABeat{200};

TEST(Heartbeat, DescribesTheInnermostWorkUnderWay) {
  const LogCapture log;
  Heartbeat heartbeat(0.01);
  std::this_thread::sleep_for(kLongerThanABeat);
  EXPECT_EQ(log.text(), "") << "nothing is under way";
  {
    const Heartbeat::Work training(&heartbeat, [](double) { return "in step 3"; });
    {
      const Heartbeat::Work validating(&heartbeat, "validating");
      std::this_thread::sleep_for(kLongerThanABeat);
    }
    std::this_thread::sleep_for(kLongerThanABeat);
  }
  EXPECT_THAT(log.text(), HasSubstr("validating (0:00 so far)"));
  EXPECT_GT(log.text().rfind("in step 3"), log.text().rfind("validating"));
}

TEST(Heartbeat, IsSilentWhileLinesAreLogged) {
  const LogCapture log;
  Heartbeat heartbeat(30);
  const Heartbeat::Work work(&heartbeat, "validating");
  for (int i = 0; i < 5; ++i) {
    heartbeat.note_line();
    std::this_thread::sleep_for(kLongerThanABeat / 5);
  }
  EXPECT_THAT(log.text(), Not(HasSubstr("validating")));
}

}  // namespace
}  // namespace transmute
