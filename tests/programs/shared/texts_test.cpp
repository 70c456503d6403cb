// SPDX-License-Identifier: Apache-2.0
// The texts of the command line.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/programs/shared/program.h>
#include <transmute/programs/shared/translator_flags.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <filesystem>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The texts that a program takes from these words, or its message.
std::vector<std::string> texts_of(std::vector<std::string> words, const LineRules& rules = {}) {
  CLI::App app("A program of the tests.", "program");
  TranslatorFlags flags;
  flags.add_to(app);
  flags.add_texts_to(app, "a text");
  words.insert(words.begin(), {"program", "-m", "m"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  std::vector<std::string> texts;
  ::testing::internal::CaptureStderr();
  run_program(app, static_cast<int>(argv.size()), argv.data(), [&] {
    texts = flags.texts(rules);
    return 0;
  });
  if (const std::string errors = ::testing::internal::GetCapturedStderr(); !errors.empty()) texts.push_back(errors);
  return texts;
}

class TextsAmongTheWords : public ::testing::Test {
 protected:
  TextsAmongTheWords() : before_(std::filesystem::current_path()) {
    std::filesystem::create_directory(folder_ / "docs");
    testing::write_text(folder_ / "README.md", "text");
    std::filesystem::current_path(folder_.path());
  }
  ~TextsAmongTheWords() override { std::filesystem::current_path(before_); }

  const testing::TemporaryFolder folder_;
  const std::filesystem::path before_;
};

TEST_F(TextsAmongTheWords, MayBeNamesOfFiles) {
  EXPECT_THAT(texts_of({"docs"}), ElementsAre("docs"));
  EXPECT_THAT(texts_of({"."}), ElementsAre("."));
  EXPECT_THAT(texts_of({"Hello.", "README.md", "/"}), ElementsAre("Hello.", "README.md", "/"));
  EXPECT_THAT(texts_of({"--", "README.md"}), ElementsAre("README.md"));
  EXPECT_THAT(texts_of({"--", "/"}), ElementsAre("/"));
}

TEST_F(TextsAmongTheWords, AreNoPathThatAFlagShouldHave) {
  EXPECT_THAT(texts_of({"README.md"}),
              ElementsAre(AllOf(HasSubstr("is a file, not a text; did you mean --input README.md?"),
                                HasSubstr("write -- before it"))));
  EXPECT_THAT(texts_of({"./docs"}), ElementsAre(HasSubstr("is a folder, not a text; did you mean --model ./docs?")));
}

TEST_F(TextsAmongTheWords, FollowTheRulesOfLines) {
  EXPECT_THAT(texts_of({"a\xff\nb"}, {InvalidUtf8::replace}), ElementsAre("a\uFFFD", "b"));
  EXPECT_THAT(texts_of({"a\xff"}),
              ElementsAre(AllOf(HasSubstr("is not valid UTF-8 (byte 2)"), HasSubstr("--invalid-utf8 replace"))));
  EXPECT_THAT(texts_of({"ab\ncd"}, {InvalidUtf8::fail, 2}), ElementsAre("ab", "cd"));
  EXPECT_THAT(texts_of({"ab\ncde"}, {InvalidUtf8::fail, 2}),
              ElementsAre(HasSubstr("has a line of 3 bytes, more than --max-line-bytes 2")));
}

}  // namespace
}  // namespace transmute
