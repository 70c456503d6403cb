// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>

#include <string>
#include <vector>

namespace transmute::testing {

/// A small text and a configuration for it: the start of a first training.
class FirstSteps : public ::testing::Test {
 protected:
  FirstSteps() {
    make_corpus(folder_ / "data", 300);
    config_ = write_config(folder_);
  }
  Outcome train(const std::string& run, const std::vector<std::string>& assignments = {}) const {
    return run_program_with(train_command(config_, folder_ / run, assignments));
  }
  std::string in_run(const std::string& run, const std::string& file) const {
    return read_text(folder_ / run + "/" + file);
  }
  void write_other_text(const std::string& name) const {
    std::string text;
    for (int i = 0; i < 300; ++i)
      text += "Ж" + std::to_string(i * 37 % 1000) + " яблоко и груша " + std::to_string(i) + "\n";
    write_text(folder_ / "data" + "/" + name, text);
  }

  TemporaryFolder folder_;
  std::string config_;
};

}  // namespace transmute::testing
