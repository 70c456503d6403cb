// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/running_training.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace transmute::testing {

constexpr int kCorpusPairs = 400;

/// Runs of `train` on the demo corpus, each test in a folder of its own.
class TrainingRun : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    corpus_ = std::make_unique<TemporaryFolder>();
    make_corpus(*corpus_ / "data", kCorpusPairs);
  }
  static void TearDownTestSuite() { corpus_.reset(); }

  void SetUp() override {
    std::filesystem::copy(*corpus_ / "data", folder_ / "data");
    config_ = write_config(folder_);
  }

  Outcome train(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    return run_program_with(train_command(config_, folder_ / run, assignments));
  }

  std::string checkpoint_bytes(const std::string& run, const std::string& step) const {
    const std::string checkpoint = folder_ / (run + "/checkpoints/step-" + step);
    return read_text(checkpoint + "/weights.safetensors") + read_text(checkpoint + "/optimizer.safetensors");
  }

  // A training process in the background.
  pid_t start(const std::string& run, const std::vector<std::string>& assignments) const {
    return start_program(train_command(config_, folder_ / run, assignments), folder_ / "messages");
  }

  // Sends `signal` once `is_time` returns true and `delay` has passed; the exit code as a shell gives it. A child that
  // does not get that far is killed, and the test fails.
  static int stop(pid_t child, const std::function<bool()>& is_time, std::chrono::microseconds delay, int signal) {
    const bool came = wait_until(is_time);
    EXPECT_TRUE(came) << "the time to stop the training did not come";
    std::this_thread::sleep_for(delay);
    kill(child, came ? signal : SIGKILL);
    return exit_code_of(child);
  }

  // The folders of tokenized corpora in a cache.
  static std::vector<std::string> corpora_in(const std::string& cache) {
    std::vector<std::string> corpora;
    for (const auto& name : names_in(cache))
      if (std::filesystem::is_directory(cache + "/" + name)) corpora.push_back(cache + "/" + name);
    return corpora;
  }

  // The training text `times` over, so that it takes a while to prepare.
  void make_training_text_longer(int times) const {
    for (const char* name : {"data/train.en", "data/train.de"}) {
      const std::string text = read_text(folder_ / name);
      std::string longer;
      for (int i = 0; i < times; ++i) longer += text;
      write_text(folder_ / name, longer);
    }
  }

  static inline std::unique_ptr<TemporaryFolder> corpus_;
  TemporaryFolder folder_;
  std::string config_;
};

}  // namespace transmute::testing
