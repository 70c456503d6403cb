// SPDX-License-Identifier: Apache-2.0
// Runs that are started again: what they say, and what they make of files that are missing or damaged.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/training/small_training.h>
#include <transmute/training/trainer.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LogCapture;
using testing::message_of;
using ::testing::Not;
using testing::read_text;
using testing::SmallTraining;
using testing::write_text;

class ResumedTraining : public SmallTraining {
 protected:
  void damage(const std::string& path) const {
    std::string bytes = read_text(folder_ / path);
    bytes[bytes.size() - 5] ^= 1;
    write_text(folder_ / path, bytes);
  }
};

TEST_F(ResumedTraining, RecordsAValidationOnceWhereItIsKilledAfterIt) {
  namespace fs = std::filesystem;
  const std::vector<std::string> settings{"data.valid_source=text", "data.valid_target=text", "validation.every=20",
                                          "validation.metric=loss"};
  const std::string checkpoints = folder_ / "run/checkpoints", before = folder_ / "before";
  int steps = 0;
  ASSERT_EQ(train("run", false, settings, [&] { return ++steps == 20 ? 15 : 0; }), 15);
  fs::copy(checkpoints, before, fs::copy_options::recursive);
  ASSERT_EQ(train("run", false, settings, [] { return 15; }), 15);
  ASSERT_THAT(validated("run"), ElementsAre(20));
  fs::remove_all(checkpoints);  // as if it had been killed before it wrote another one
  fs::rename(before, checkpoints);
  ASSERT_EQ(train("run", false, settings), 0);
  EXPECT_THAT(validated("run"), ElementsAre(20, 40));
}

TEST_F(ResumedTraining, SaysWhatIsMadeOfItsStepsAndNothingOfTheWarmUpBehindIt) {
  EXPECT_THAT(log_of("run", {"training.max_steps=20"}), HasSubstr("ends after about 20 steps, inside the warm-up"));
  EXPECT_THAT(log_of("run", {"training.max_steps=20"}),
              AllOf(HasSubstr("all 20 steps of training.max_steps are made; to continue: --set training.max_steps=40"),
                    Not(HasSubstr("warm-up"))));
  EXPECT_THAT(log_of("run", {"training.max_steps=10"}),
              AllOf(HasSubstr("the run has made 20 steps, and training.max_steps is 10; to continue: --set "
                              "training.max_steps=40"),
                    Not(HasSubstr("warm-up"))));
  EXPECT_THAT(log_of("run", {"training.max_steps=30"}), HasSubstr("ends after about 30 steps, inside the warm-up"));
}

TEST_F(ResumedTraining, StartsItsScoresAnewWhereTheValidationHasChanged) {
  write_text(folder_ / "valid", "w1 w2 w3\nw4 w5 w6\nw7 w8 w9\nw1 w4 w7\n");
  // A learning rate of nothing: the first validation stays the best one.
  std::vector<std::string> settings{"data.valid_source=valid",    "data.valid_target=valid", "validation.every=10",
                                    "validation.metric=chrf",     "validation.patience=2",   "training.max_steps=90",
                                    "training.schedule=constant", "training.learning_rate=0"};
  const auto with = [&](const std::string& setting) {
    settings.push_back(setting);
    return settings;
  };
  EXPECT_THAT(log_of("run", with("validation.max_sentences=3")), HasSubstr("finished after step 30"));
  EXPECT_THAT(log_of("run", settings), AllOf(HasSubstr("finished after step 30"), Not(HasSubstr("start anew"))));
  EXPECT_THAT(log_of("run", with("validation.max_sentences=4")),
              AllOf(HasSubstr("the best score and validation.patience start anew"), HasSubstr("(the best so far)"),
                    HasSubstr("finished after step 60")));
  write_text(folder_ / "valid", "w9 w8 w7\nw6 w5 w4\nw3 w2 w1\nw7 w4 w1\n");
  EXPECT_THAT(log_of("run", settings), AllOf(HasSubstr("start anew"), HasSubstr("finished after step 90")));
}

TEST_F(ResumedTraining, EndsByASignalBetweenThePhasesAfterItsLastStepAndMakesTheModelAnew) {
  const std::vector<std::string> settings{"data.valid_source=text", "data.valid_target=text",
                                          "validation.max_sentences=3", "validation.every=40"};
  constexpr int kSteps = 40, kPhases = 4;
  int asked = 0;
  ASSERT_EQ(train("run", false, settings, [&] { return ++asked > kSteps ? 15 : 0; }), 15);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run/model"));
  for (int phase = 1; phase <= kPhases; ++phase) {
    const LogCapture log;
    asked = 0;
    EXPECT_EQ(train("run", false, settings, [&] { return ++asked == phase ? 15 : 0; }), 15) << phase;
    EXPECT_EQ(asked, phase);
    EXPECT_THAT(log.text(), AllOf(HasSubstr("stopped after step 40"), Not(HasSubstr("the model is in"))));
  }
  const LogCapture log;
  asked = 0;
  EXPECT_EQ(train("run", false, settings, [&] { return ++asked > kPhases ? 15 : 0; }), 0) << "it came too late";
  EXPECT_THAT(log.text(), AllOf(HasSubstr("the model is in"), Not(HasSubstr("stopped after"))));
}

TEST_F(ResumedTraining, NamesThePassThatItsLastStepBelongsTo) {
  const std::vector<std::string> settings{"training.max_steps=1000", "training.max_epochs=1", "training.log_every=1"};
  EXPECT_THAT(log_of("run", settings), AllOf(HasSubstr("by training.max_epochs"), Not(HasSubstr("epoch 2"))));
  EXPECT_THAT(read_text(folder_ / "run/report.html"), HasSubstr("<dt>epoch</dt><dd>1</dd>"));
  EXPECT_THAT(log_of("run", settings), AllOf(HasSubstr("resuming after step"), HasSubstr("(epoch 1)")));
}

TEST_F(ResumedTraining, RecommendsItsModelWhereTheBestOneIsGoneOrDamaged) {
  for (const std::string metric : {"loss", "chrf"}) {
    const std::string run = "run-" + metric;
    const std::vector<std::string> settings{"data.valid_source=text",     "data.valid_target=text",
                                            "validation.every=20",        "validation.metric=" + metric,
                                            "validation.max_sentences=3", "training.max_steps=20"};
    ASSERT_EQ(train(run, false, settings), 0);
    const std::string state_path = folder_ / (run + "/checkpoints/step-000000020/state.json");
    Json state = Json::parse(read_text(state_path));
    state["best_score"] = metric == "loss" ? -0.01 : 200.0;  // better than the model can be
    write_text(state_path, state.dump());
    EXPECT_THAT(log_of(run, settings), HasSubstr("/best is ")) << metric;
    const auto recommends_model = AllOf(HasSubstr("/best cannot be validated"), Not(HasSubstr("/best is ")),
                                        HasSubstr("the model is in " + (folder_ / (run + "/model"))));
    damage(run + "/best/weights.safetensors");
    EXPECT_THAT(log_of(run, settings), recommends_model) << metric;
    std::filesystem::remove_all(folder_ / (run + "/best"));
    EXPECT_THAT(log_of(run, settings), recommends_model) << metric;
  }
}

TEST_F(ResumedTraining, NamesADamagedCheckpointOfItsMeanAndMakesItOfTheOthers) {
  ASSERT_EQ(train("run", false), 0);
  const std::string model = folder_ / "run/model/weights.safetensors", before = read_text(model);
  damage("run/checkpoints/step-000000020/weights.safetensors");
  EXPECT_THAT(message_of<std::runtime_error>([&] { train("run", false); }),
              AllOf(HasSubstr("step-000000020/weights.safetensors: damaged"),
                    HasSubstr("remove the folder of that checkpoint and run the same command again")));
  std::filesystem::remove_all(folder_ / "run/checkpoints/step-000000020");
  EXPECT_EQ(train("run", false), 0);
  EXPECT_NE(read_text(model), before);
}

}  // namespace
}  // namespace transmute
