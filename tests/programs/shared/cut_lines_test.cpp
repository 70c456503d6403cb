// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/programs/shared/cut_lines.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <string>
#include <vector>

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

std::string note_of(const LinesWithoutLanguage& counted) {
  ::testing::internal::CaptureStderr();
  counted.report("4 lines");
  return ::testing::internal::GetCapturedStderr();
}

TEST(LinesWithoutLanguage, AreThoseWithNeitherATagNorAnOption) {
  const auto note_for = [](const std::vector<std::string>& languages, const std::string& target) {
    TokenizerOptions learning = testing::tiny_tokenizer_options();
    learning.languages = languages;
    const Tokenizer tokenizer = testing::tiny_tokenizer(learning);
    TranslationOptions options;
    options.target_language = target;
    LinesWithoutLanguage counted(tokenizer.source(), options);
    Translation translation;
    counted.add("", translation);
    translation.source_tokens = {"▁the"};
    for (const char* line : {"the house", " >>de<< the house", ">> the house"}) counted.add(line, translation);
    return note_of(counted);
  };
  EXPECT_THAT(note_for({"de", "pt_BR"}, ""),
              HasSubstr("2 of 4 lines had no target language, and the model has several (de, pt_BR): give"));
  EXPECT_EQ(note_for({"de", "pt_BR"}, "de"), "");
  EXPECT_EQ(note_for({"de"}, ""), "");
  EXPECT_EQ(note_for({}, ""), "");
}

}  // namespace
}  // namespace transmute
