// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/programs/shared/cut_lines.h>

#include <string>

namespace transmute {
namespace {

using ::testing::HasSubstr;

TEST(UnknownText, IsQuotedInPart) {
  Translation translation;
  translation.unknown = {"né", ""};
  for (int i = 0; i < 9000; ++i) translation.unknown[1] += "国";  // of 3 bytes
  UnknownText unknown;
  unknown.add(translation);
  ::testing::internal::CaptureStderr();
  unknown.report("1 line");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(" translated: né 国国国国国国国国国国国国国…; "));
}

}  // namespace
}  // namespace transmute
