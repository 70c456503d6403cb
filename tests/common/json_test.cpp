// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/support/errors.h>

#include <nlohmann/json.hpp>
#include <string>

namespace transmute {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

std::string refusal(const std::string& text, const JsonLimits& limits) {
  return message_of<JsonLimitError>([&] { parse_json(text, limits); });
}

TEST(ParseJson, ReadsWhatTheLibraryReads) {
  for (const char* text : {"null", "true", "-5", "18446744073709551615", "1.5e3", "\"a\\u00e4\"", "[]", "{}", "[[],{}]",
                           R"({"b":1,"a":[1,{"c":null,"d":"x"},[2.5,false]],"":{"e":{}}})", R"([{"a":1},{"a":2}])",
                           R"({"a":1,"b":{"a":3},"a":{"c":[2]}})"}) {
    const Json expected = Json::parse(text);
    EXPECT_EQ(parse_json(text), expected) << text;
    EXPECT_EQ(json_text(parse_json(text)), json_text(expected)) << text;
  }
}

TEST(ParseJson, SaysWhereTextIsNoJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "\"\xff\"", "{} x", "[1e999]", "\"\\ud800\""}) {
    std::string expected;
    try {
      const Json json = Json::parse(text);
    } catch (const Json::exception& error) {
      expected = error.what();
    }
    EXPECT_EQ(message_of<Json::exception>([&] { parse_json(text); }), expected) << text;
    EXPECT_FALSE(parse_json_if_valid(text)) << text;
  }
}

TEST(ParseJson, HasLimits) {
  EXPECT_EQ(parse_json("[[[1]]]", {3}), Json::parse("[[[1]]]"));
  EXPECT_THAT(refusal("[[[1]]]", {2}), HasSubstr("nested more than 2 levels deep"));
  EXPECT_THAT(refusal(R"({"a":{"b":1}})", {1}), HasSubstr("nested more than 1 levels deep"));
  EXPECT_FALSE(parse_json_if_valid(repeated("[", 1'000'000)));

  EXPECT_EQ(parse_json(R"({"a":{"b":1,"c":2}})", {10, 1}).size(), 1u);
  EXPECT_THAT(refusal(R"({"a":1,"b":2})", {10, 1}), HasSubstr("more than 1 members"));
  EXPECT_THAT(refusal(R"({"a":{"b":1,"b":2}})", {10, 10, false}), HasSubstr("'b' occurs twice"));
  EXPECT_EQ(parse_json(R"({"a":{"b":1},"b":2})", {10, 10, false}).size(), 2u);

  const std::string five = R"({"a":[1,{"b":2}]})";
  EXPECT_EQ(parse_json(five, {10, 10, true, 5}), Json::parse(five));
  const JsonLimits too_low{10, 10, true, 4};
  EXPECT_THAT(refusal(five, too_low), HasSubstr("more than 4 values"));
}

// Half an hour where each name is compared with all earlier ones.
TEST(ParseJson, ReadsAnObjectOfManyMembers) {
  constexpr int kMembers = 500'000;
  std::string text = "{";
  for (int i = 0; i < kMembers; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + std::to_string(i);
  const Json json = parse_json(text + "}");
  ASSERT_EQ(json.size(), static_cast<size_t>(kMembers));
  int next = 0;
  for (const auto& [name, value] : json.items()) {
    ASSERT_EQ(name, std::to_string(next));
    ASSERT_EQ(value, next++);
  }
}

}  // namespace
}  // namespace transmute
