// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <stdexcept>
#include <string>

#include <transmute/common/yaml.h>
#include <transmute/tests/support/errors.h>

namespace transmute {
namespace {

using testing::message_of;
using ::testing::StartsWith;

std::string refusal_of(const std::string& text) {
  return message_of<std::invalid_argument>([&] { parse_yaml(text, "f"); });
}

TEST(Yaml, ReadsTheOnlyDocument) {
  EXPECT_EQ(parse_yaml("a: 1\n", "f")["a"].as<int>(), 1);
  EXPECT_EQ(parse_yaml("%YAML 1.2\n---\n# comment\n[a, b]\n...\n", "f").size(), 2u);
  EXPECT_EQ(parse_yaml("? a\n? b\n", "f").size(), 2u);
  for (const char* empty : {"", "\n", "# comment\n", "---\n", "&a", "!!null"})
    EXPECT_TRUE(parse_yaml(empty, "f").IsNull()) << empty;
}

// YAML::LoadAll finds empty documents here until memory ends.
TEST(Yaml, RefusesACommaAtTheBeginningOfADocument) {
  for (const auto& [text, place] : {std::pair<std::string, std::string>{",", "f:1:1"},
                                    {",1", "f:1:1"},
                                    {" , a: 1", "f:1:2"},
                                    {"{},", "f:1:3"},
                                    {"[],", "f:1:3"},
                                    {"[a],,", "f:1:4"},
                                    {"'a',", "f:1:4"},
                                    {"a: 1\n...\n,", "f:3:1"},
                                    {"--- ,", "f:1:5"},
                                    {"&a ,", "f:1:4"},
                                    {"%YAML 1.2\n,", "f:2:1"},
                                    {"\xef\xbb\xbf,", "f:1:1"},
                                    {std::string(1 << 20, ','), "f:1:1"}})
    EXPECT_THAT(refusal_of(text), StartsWith(place + ": not valid YAML: no value can begin here"))
        << text.substr(0, 40);
}

TEST(Yaml, NamesTheLineOfASecondDocument) {
  EXPECT_THAT(refusal_of("a: 1\n---\nb: 1\n"), StartsWith("f:2: a second YAML document begins here"));
  EXPECT_THAT(refusal_of("---\n---\n"), StartsWith("f:2: a second YAML document begins here"));
  EXPECT_THAT(refusal_of("a: 1\n...\nb: 1\n---\nc: 1\n"), StartsWith("f:3: a second YAML document begins here"));
}

// Each alias stands for ten of the one before: the text describes 10^60 values.
TEST(Yaml, DoesNotCopyWhatAliasesStandFor) {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i <= 60; ++i) {
    std::string aliases;
    for (int copy = 0; copy < 10; ++copy) aliases += "*a" + std::to_string(i - 1) + ", ";
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + aliases + "]\n";
  }
  EXPECT_EQ(parse_yaml(text, "f").size(), 61u);
}

TEST(Yaml, RefusesDeepNesting) {
  for (const char* opened : {"[", "{? ", "- ", "? ", "a: ["}) {
    std::string text;
    for (int depth = 0; depth < 10'000; ++depth) text += opened;
    EXPECT_THAT(refusal_of(text), StartsWith("f:1:")) << opened;
  }
}

}  // namespace
}  // namespace transmute
