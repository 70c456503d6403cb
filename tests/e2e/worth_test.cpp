// SPDX-License-Identifier: Apache-2.0
// train says what a finished model is worth, and tells scripts by its exit code.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/training_run.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace transmute::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class WorthOfATraining : public TrainingRun {
 protected:
  // Puts the second half of a file's lines before the first.
  void shift_lines(const std::string& name) const {
    std::istringstream stream(read_text(folder_ / name));
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::string shifted;
    for (size_t i = 0; i < lines.size(); ++i) shifted += lines[(i + lines.size() / 2) % lines.size()] + '\n';
    write_text(folder_ / name, shifted);
  }
};

TEST_F(WorthOfATraining, IsNothingWhereTargetsDoNotBelongToTheirSources) {
  for (const char* file : {"data/train.de", "data/valid.de"}) shift_lines(file);
  EXPECT_THAT(refusal(train("run"), 3),
              AllOf(HasSubstr("the model is worth nothing: the targets do not belong to their sources"),
                    HasSubstr("copying the source"), HasSubstr("the model is in ")));
  EXPECT_THAT(read_text(folder_ / "run/report.html"),
              AllOf(HasSubstr("the targets do not belong to their sources"), HasSubstr("copying the source")));
  EXPECT_EQ(train("run").exit_code, 3) << "a finished run that is started again";
}

TEST_F(WorthOfATraining, NeedsMoreStepsAfterAFew) {
  EXPECT_THAT(messages_of(train("run")),
              AllOf(HasSubstr("with beam size 4, as translate searches, its BLEU is"),
                    HasSubstr("the model is worth nothing yet: "), HasSubstr("The training made 30 steps"),
                    HasSubstr("a higher training.max_steps")));
}

TEST_F(WorthOfATraining, IsNotQuestionedWhereTheModelTranslates) {
  const std::vector<std::string> longer{"training.max_steps=800", "training.warmup_steps=150", "model.d_model=64",
                                        "training.checkpoint_every=400", "training.average_checkpoints=1"};
  EXPECT_THAT(messages_of(train("run", longer)),
              AllOf(HasSubstr("that of trivial translators"), Not(HasSubstr("worth nothing"))));
  EXPECT_EQ(std::filesystem::read_symlink(folder_ / "run/recommended"), "model");
  const auto translation_by = [&](const std::string& model) {
    return run("translate", {"--model", folder_ / model, "7. March"});
  };
  EXPECT_EQ(output_of(translation_by("run")), translation_by("run/model").output);
}

}  // namespace
}  // namespace transmute::testing
