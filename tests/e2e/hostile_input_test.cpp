// SPDX-License-Identifier: Apache-2.0
// What no program may do with bad input: crash, hang, take all memory, leave half a file, or say that all is well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/sanitizers.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/tests/support/tiny_model.h>
#include <transmute/tests/support/tiny_tokenizer.h>

#include <filesystem>
#include <string>

namespace transmute {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::names_in;
using testing::Outcome;
using testing::program;
using testing::refusal;
using testing::run;
using testing::shell;
using testing::shell_quoted;
using testing::TemporaryFolder;
using testing::write_text;

/// The commands of a shell before it runs a program that must not take memory without end. The program gets --threads
/// 2, since one thread for each of a hundred cores would take the address space by itself.
std::string with_little_memory() {
  return testing::kHasSanitizer ? "" : "ulimit -v 8000000; ";
}

class HostileInput : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const Tokenizer tokenizer = testing::tiny_tokenizer();
    fs::create_directory(model());
    save_model_folder(model(), testing::tiny_config(), tokenizer, testing::tiny_weights(tokenizer, 5));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string model() { return *folder_ / "model"; }

 private:
  inline static TemporaryFolder* folder_ = nullptr;
};

TEST_F(HostileInput, HelpThatCannotBeWrittenIsAnError) {
  for (const char* name : {"train", "translate", "evaluate", "convert"}) {
    const Outcome outcome = shell(program(name) + " --help >/dev/full");
    EXPECT_EQ(outcome.exit_code, 1) << name;
    EXPECT_THAT(outcome.errors, HasSubstr("standard output cannot be written to")) << name;
  }
  EXPECT_EQ(shell(program("transmute") + " --version >/dev/full").exit_code, 1);
}

TEST_F(HostileInput, AFileThatMayNotGrowIsAnErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  write_text(folder / "in.txt", [] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "the red house\n";
    return text;
  }());
  EXPECT_THAT(
      refusal(shell("ulimit -f 8; cd " + shell_quoted(folder.path()) + "; " + program("translate") + " --model " +
                    model() + " --beam-size 1 --max-extra-length 1 --input in.txt --output out.txt"),
              1),
      AllOf(HasSubstr("out.txt"), HasSubstr("File too large")));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("in.txt"));
}

TEST_F(HostileInput, AConfigWithoutEndIsRefused) {
  EXPECT_THAT(refusal(shell(with_little_memory() + program("train") + " --threads 2 --config /dev/zero"), 1),
              HasSubstr("/dev/zero: has more than"));
}

// The content of a model's files or a command line could move the cursor or look like another message.
TEST_F(HostileInput, MessagesCarryNoControlCharacters) {
  const TemporaryFolder folder;
  fs::copy(model(), folder / "model", fs::copy_options::recursive);
  write_text(folder / "model/config.yaml", "\"\\e[31m\\nred\\x9b\": 1\n");
  fs::remove(folder / "model/checksums.txt");
  const Outcome outcome = run("translate", {"--model", folder / "model"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.errors, HasSubstr(R"(\x1b[31m\nred\u009b)"));
  EXPECT_EQ(outcome.errors.find_first_of("\x1b\x9b"), std::string::npos);
  const Outcome usage = run("translate", {"--x\x1b[2J", "--model", model()});
  EXPECT_EQ(usage.exit_code, 2);
  EXPECT_EQ(usage.errors.find('\x1b'), std::string::npos);
  const std::string terms = folder / "te\x1b[2Jrms";
  write_text(terms, "house\tＨaus\n");
  const Outcome noted = run("translate", {"--model", model(), "--glossary", terms});
  EXPECT_THAT(noted.errors, HasSubstr("1 target term in another way"));
  EXPECT_EQ(noted.errors.find('\x1b'), std::string::npos) << noted.errors;
  const std::string text = folder / "te\x1b[2Jxt";
  write_text(text, "a b\n");
  const Outcome logged =
      run("train", {"--source", text, "--target", text, "--run-folder", folder / "run", "--threads", "1"});
  EXPECT_THAT(logged.errors, HasSubstr("reading " + folder / "te\\x1b[2Jxt"));
  EXPECT_EQ(logged.errors.find('\x1b'), std::string::npos) << logged.errors;
}

TEST_F(HostileInput, ALineWithoutEndIsRefused) {
  for (const char* input : {" </dev/zero", " --input /dev/zero"}) {
    EXPECT_THAT(
        refusal(shell(with_little_memory() + program("translate") + " --threads 2 --model " + model() + input), 1),
        AllOf(HasSubstr(":1: the line has more than 2097152 bytes"), HasSubstr("--max-line-bytes")));
  }
  EXPECT_THAT(
      refusal("translate", {"--model", model(), "--max-line-bytes", "13"}, 1, "the red house\nthe red house.\n"),
      HasSubstr("standard input:2: the line has more than 13 bytes"));
}

TEST_F(HostileInput, NumbersBeyondReasonAreUsageErrors) {
  const std::string translate = program("translate") + " --model " + model();
  const std::pair<std::string, const char*> cases[] = {
      {translate + " --max-extra-length 9223372036854775807", "--max-extra-length must lie between"},
      {translate + " --min-length 9223372036854775807", "--min-length must lie between"},
      {translate + " --beam-size 9223372036854775807", "--beam-size: must be from 1 to 10000, not 9223372036854775807"},
      {translate + " --alternatives 9223372036854775807", "--alternatives: must be from 1 to 10000"},
      {translate + " --batch-size 9223372036854775807", "--batch-size must lie between"},
      {translate + " --threads 2147483647", "--threads: must be from 0 to 4096"},
      {translate + " --length-alpha nan", "--length-alpha"},
      {translate + " --length-alpha 1e30", "--length-alpha: must be a number from 0 to 10"},
      {translate + " --length-penalty 1e30", "a number from 0 to 10"},
      {translate + " --coverage-beta 1e30", "--coverage-beta: must be a number from 0 to 10"},
      {program("make_shortlist") + " --model " + model() + " --source /dev/null --target /dev/null --least nan",
       "--least"},
      {program("evaluate") + " --hypothesis /dev/null --reference /dev/null --smooth-value nan", "--smooth-value"},
      {program("train") + " --rank-timeout nan", "--rank-timeout"},
      {program("train") + " --rank-timeout 0.1", "--rank-timeout"},
      {program("train") + " --rank-timeout inf", "--rank-timeout"},
  };
  for (const auto& [line, message] : cases) {
    const Outcome outcome = shell("echo the red house | " + line);
    EXPECT_EQ(outcome.exit_code, 2) << line << "\n" << outcome.errors;
    EXPECT_THAT(outcome.errors, HasSubstr(message)) << line;
  }
}

TEST_F(HostileInput, MoreThreadsThanThereIsRoomForAreAnError) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer takes more address space than the test allows";
  EXPECT_THAT(
      refusal(shell("ulimit -v 6000000; echo the | " + program("translate") + " --threads 3000 --model " + model()), 1),
      HasSubstr("of 3000 cannot be started"));
}

TEST_F(HostileInput, TooLittleMemoryIsAnErrorThatNamesWhatTakesLess) {
  if (testing::kHasSanitizer) GTEST_SKIP() << "a sanitizer takes more address space than the test allows";
  EXPECT_THAT(refusal(shell("ulimit -v 500000; head -c 500000000 /dev/zero | tr '\\0' a | " + program("translate") +
                            " --threads 1 --max-line-bytes 1000000000 --model " + model()),
                      1),
              HasSubstr("there is not enough memory; smaller values take less: --threads, --batch-size"));
}

TEST_F(HostileInput, WeightsThatAreNotNumbersAreAnErrorAndNoBlankLines) {
  const TemporaryFolder folder;
  const Tokenizer tokenizer = testing::tiny_tokenizer();
  const Weights weights = testing::tiny_weights(tokenizer, 5);
  weights.arrays().back().second.floats()[0] = std::nanf("");  // copies share the numbers
  save_model_folder(folder.path(), testing::tiny_config(), tokenizer, weights);
  const Outcome outcome = run("translate", {"--model", folder.path()}, "the red house\n");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.output, "");
  EXPECT_THAT(outcome.errors, AllOf(HasSubstr("weights.safetensors"), HasSubstr("infinite or no numbers")));
}

}  // namespace
}  // namespace transmute
