// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace transmute::testing {

/// A small network that has learned the demo's task.
class TrainedModel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    make_corpus(*folder_ / "data", 6000);
    const std::string config = write_config(*folder_);
    const Outcome trained = run_program_with(
        train_command(config, *folder_ / "run",
                      {"model.num_encoder_layers=2", "model.num_decoder_layers=2", "model.d_model=96",
                       "model.num_heads=4", "model.d_ff=256", "model.dropout=0.05", "training.batch_tokens=1024",
                       "training.max_steps=1200", "training.warmup_steps=300", "training.checkpoint_every=100",
                       "training.learning_rate_scale=0.5", "training.precision=auto", "training.log_every=100"}));
    if (trained.exit_code != 0) throw std::runtime_error(trained.errors);
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static Outcome translate(const std::string& input, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words{program("translate"), "--model", *folder_ / "run/model"};
    words.insert(words.end(), flags.begin(), flags.end());
    return run_program_with(words, input);
  }

  static inline std::unique_ptr<TemporaryFolder> folder_;
};

}  // namespace transmute::testing
