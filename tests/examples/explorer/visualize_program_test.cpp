// SPDX-License-Identifier: Apache-2.0
// The program that writes the explorer's page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/explorer.h>
#include <transmute/tests/support/subprocess.h>

#include <filesystem>
#include <memory>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;

class VisualizeProgram : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const LoadedModel model = tiny_model();
    save_model_folder(*folder_ / "", model.config, model.tokenizer, model.weights);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome visualize(const std::vector<std::string>& flags, const std::string& input = "") {
    std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/visualize", "--model", folder_->path(),
                                   "--output", *folder_ / "page.html"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program_with(words, input);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> VisualizeProgram::folder_;

TEST_F(VisualizeProgram, WritesThePageOfTheLibrary) {
  write_text(*folder_ / "in.txt", "the red house is near.\nthe old train is here.\n");
  write_text(*folder_ / "target.txt", "das rote Haus ist nah.\nder alte Zug ist hier.\n");
  const Outcome outcome = visualize({"--input", *folder_ / "in.txt", "--target", *folder_ / "target.txt"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("2 sentences"));
  EXPECT_EQ(outcome.output, "");
  const Json written = data_in_page(read_text(*folder_ / "page.html"));
  const Json expected = data_of(
      load_model_folder(folder_->path()),
      {{"the red house is near.", "das rote Haus ist nah."}, {"the old train is here.", "der alte Zug ist hier."}});
  EXPECT_EQ(written["title"], folder_->path());
  ASSERT_EQ(written["sentences"].size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    for (const char* part : {"source_text", "target_text", "source", "target_in", "target_out"})
      EXPECT_EQ(written["sentences"][i][part], expected["sentences"][i][part]) << part;
    // The program runs LibTorch on one thread, where sums have another order.
    const std::vector<double> got = unpacked(written["sentences"][i]["weights"]["cross"]);
    const std::vector<double> wanted = unpacked(expected["sentences"][i]["weights"]["cross"]);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t w = 0; w < got.size(); ++w) EXPECT_NEAR(got[w], wanted[w], 2 * kHalfStep);
  }
  ASSERT_EQ(visualize({}, "the red house is near.\n").exit_code, 0) << "standard input";
}

TEST_F(VisualizeProgram, MistakesAreNamed) {
  std::filesystem::remove(*folder_ / "page.html");
  const auto expect = [](const Outcome& outcome, int exit_code, const std::string& message) {
    EXPECT_EQ(outcome.exit_code, exit_code);
    EXPECT_THAT(outcome.errors, HasSubstr(message));
  };
  expect(visualize({"--model", "nowhere"}, "a\n"), 2, "--model");  // given twice
  expect(run_program_with({std::string(TRANSMUTE_PROGRAMS) + "/visualize", "--model", "nowhere", "--output", "x.html"},
                          "a\n"),
         1, "nowhere: no such model folder");
  expect(run_program_with({std::string(TRANSMUTE_PROGRAMS) + "/visualize", "--model",
                           TRANSMUTE_TEST_DATA "/formats/marian", "--output", "x.html"},
                          "a\n>>por<< b\n"),
         1, "standard input:2: its tag >>por<< names no language of the model");
  expect(visualize({}, "the house\nab\xff\n"), 1, "standard input:2: not valid UTF-8");
  expect(visualize({}, ""), 1, "standard input: is empty");
  expect(visualize({}, "the house\n\n"), 1, "standard input:2: is empty: there is nothing to attend to");
  expect(visualize({"--max-tokens", "3"}, "the red house is near.\n"), 1, "raise --max-tokens");
  write_text(*folder_ / "empty.txt", "ein\n \n");
  expect(visualize({"--target", *folder_ / "empty.txt"}, "a\nb\n"), 1, "empty.txt:2: is empty");
  expect(visualize({"--max-sentences", "2"}, "a\nb\nc\n"), 2, "more than 2 sentences");
  write_text(*folder_ / "short.txt", "ein\n");
  expect(visualize({"--target", *folder_ / "short.txt"}, "a\nb\n"), 1, "different numbers of lines");
  EXPECT_FALSE(std::filesystem::exists(*folder_ / "page.html"));
}

}  // namespace
}  // namespace transmute::testing
