// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <transmute/common/parsed_number.h>

#include <cstdint>

namespace transmute {
namespace {

TEST(ParsedNumber, IsTheNumberThatTheWholeTextIs) {
  EXPECT_EQ(parsed_number<int64_t>("-42"), -42);
  EXPECT_EQ(parsed_number<uint32_t>("007"), 7U);
  EXPECT_EQ(parsed_number<double>("1.5e-3"), 1.5e-3);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "x", "1,5"}) {
    EXPECT_EQ(parsed_number<int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(parsed_number<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parsed_number<int64_t>("1.5"), std::nullopt);
}

TEST(ParsedNumber, IsWithinTheType) {
  EXPECT_EQ(parsed_number<uint16_t>("65535"), 65535);
  for (const char* text : {"65536", "-1", "99999999999999999999999"})
    EXPECT_EQ(parsed_number<uint16_t>(text), std::nullopt);
  EXPECT_EQ(parsed_number<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace transmute
