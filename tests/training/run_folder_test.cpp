// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/run_folder.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_text;
using testing::TemporaryFolder;

class KeptConfig : public ::testing::Test {
 protected:
  // Returns what is wrong, or nothing.
  std::string keep(const std::vector<std::string>& assignments) {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    for (const auto& assignment : assignments) schema.set(assignment);
    const auto lock = run_.lock();
    try {
      run_.keep_config(config, schema.to_yaml());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder_;
  RunFolder run_{folder_ / "run"};
};

TEST_F(KeptConfig, IsWrittenAndMayChangeWhereTheTrainingStaysTheSame) {
  EXPECT_EQ(keep({"training.max_steps=100"}), "");
  EXPECT_EQ(keep({"training.max_steps=200"}), "");
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"), HasSubstr("max_steps: 200"));
}

TEST_F(KeptConfig, NamesEveryValueThatCannotChangeAndStaysAsItIs) {
  EXPECT_EQ(keep({"model.d_model=32"}), "");
  EXPECT_EQ(keep({"model.d_model=64", "training.seed=1"}), "");  // no run has begun
  const std::filesystem::path checkpoint = run_.checkpoints() + "/step-000000001";
  std::filesystem::create_directories(checkpoint);
  std::filesystem::copy_file(folder_ / "run/config.yaml", checkpoint / "config.yaml");
  EXPECT_THAT(
      keep({"model.d_model=128", "training.seed=2"}),
      AllOf(HasSubstr("/run: what cannot change"), HasSubstr("model.d_model (it was 64; the config now says 128)"),
            HasSubstr("training.seed (it was 1; the config now says 2)")));
  EXPECT_THAT(read_text(folder_ / "run/config.yaml"), HasSubstr("d_model: 64"));
}

TEST(RunFolder, HasTheNameOfItsLastPart) {
  EXPECT_EQ(RunFolder("/data/runs/english").name(), "english");
  EXPECT_EQ(RunFolder("/data/runs/english/").name(), "english");
  EXPECT_EQ(RunFolder("/data/runs/../runs/./english").name(), "english");
}

}  // namespace
}  // namespace transmute
