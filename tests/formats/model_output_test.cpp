// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/formats/model_output.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <filesystem>
#include <stdexcept>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_text;

class ModelOutput : public ::testing::Test {
 protected:
  void make(const std::string& file) { write_text(path + "/" + file, "content"); }
  std::string refusal() {
    return message_of<std::invalid_argument>([&] { check_may_replace_model(path); });
  }

  const TemporaryFolder folder;
  const std::string path = folder / "output";
};

TEST_F(ModelOutput, ReplacesNothingAnEmptyFolderAndAModel) {
  EXPECT_NO_THROW(check_may_replace_model(path));
  std::filesystem::create_directory(path);
  EXPECT_NO_THROW(check_may_replace_model(path));
  for (const char* file : {"config.yaml", "tokenizer.model", "weights.safetensors"}) make(file);
  EXPECT_NO_THROW(check_may_replace_model(path));
}

TEST_F(ModelOutput, LeavesAFolderOfOtherThingsAlone) {
  std::filesystem::create_directory(path);
  make("thesis.tex");
  EXPECT_THAT(refusal(), AllOf(StartsWith(path), HasSubstr("is not a model folder"), HasSubstr("another --output")));
}

TEST_F(ModelOutput, LeavesTheFolderOfARunAlone) {
  std::filesystem::create_directories(path + "/model");
  for (const char* file : {"config.yaml", "tokenizer.model", "metrics.jsonl", "model/weights.safetensors"}) make(file);
  EXPECT_THAT(refusal(), HasSubstr("is not a model folder"));
}

TEST_F(ModelOutput, LeavesAModelWithSomethingOfTheUsersAlone) {
  std::filesystem::create_directory(path);
  for (const char* file : {"config.yaml", "tokenizer.model", "weights.safetensors", "notes.txt"}) make(file);
  EXPECT_THAT(refusal(), AllOf(StartsWith(path), HasSubstr("'notes.txt'"), HasSubstr("would be deleted")));
}

TEST_F(ModelOutput, LeavesAFileAlone) {
  write_text(path, "precious");
  EXPECT_THAT(refusal(), HasSubstr("not a folder"));
}

}  // namespace
}  // namespace transmute
