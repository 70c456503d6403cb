// SPDX-License-Identifier: Apache-2.0
// Whether training learns to look at its source: a network that is deep and has much dropout for its size, on the
// demo's text. With Xavier's initial weights its encoder gives all positions one vector, and it never does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/tests/e2e/programs.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace transmute::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TakeOff : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    const Outcome made = run("make_demo_corpus", {"--output", *folder_ / "data", "--max-number", "999", "--train",
                                                  "6000", "--valid", "100", "--test", "10"});
    ASSERT_EQ(made.exit_code, 0) << made.errors;
    write_text(*folder_ / "deep.yaml", "data:\n  folder: " + (*folder_ / "data") +
                                           "\n  train_source: train.en\n  train_target: train.de\n"
                                           "  valid_source: valid.en\n  valid_target: valid.de\n"
                                           "tokenizer:\n  algorithm: unigram\n  vocab_size: 400\n"
                                           "model:\n  num_encoder_layers: 6\n  num_decoder_layers: 6\n  d_model: 64\n"
                                           "  num_heads: 4\n  d_ff: 128\n  dropout: 0.2\n"
                                           "training:\n  batch_tokens: 1024\n  max_steps: 300\n  warmup_steps: 200\n"
                                           "  learning_rate_scale: 0.3\n  log_every: 100\n  checkpoint_every: 300\n"
                                           "  average_checkpoints: 1\n"
                                           "validation:\n  every: 300\n  max_sentences: 0\n");
  }
  static void TearDownTestSuite() { folder_.reset(); }

  struct Trained {
    std::string log;
    // The numbers of the last record that has them. Without one, every comparison fails.
    double perplexity = std::nan("");
    double sharpest_head = std::nan("");
  };

  static Trained train(const std::string& run, const std::vector<std::string>& assignments) {
    const Outcome outcome = run_program_with(train_command(*folder_ / "deep.yaml", *folder_ / run, assignments));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    Trained trained;
    trained.log = outcome.errors;
    std::istringstream lines(read_text(*folder_ / (run + "/metrics.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      trained.perplexity = record.value("perplexity", trained.perplexity);
      trained.sharpest_head = record.value("sharpest_head", trained.sharpest_head);
    }
    return trained;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> TakeOff::folder_;

TEST_F(TakeOff, HappensWithScaledWeights) {
  const Trained trained = train("scaled", {});
  EXPECT_LT(trained.perplexity, 4);
  EXPECT_LT(trained.sharpest_head, 0.8);
  EXPECT_THAT(trained.log, Not(HasSubstr("see its source")));
}

TEST_F(TakeOff, IsMissedAndReportedWithXaviersWeights) {
  const Trained trained = train("xavier", {"model.initialization=xavier"});
  EXPECT_GT(trained.perplexity, 15);
  EXPECT_GT(trained.sharpest_head, 0.95);
  EXPECT_THAT(trained.log, HasSubstr("does not see its source"));
  EXPECT_THAT(trained.log, HasSubstr("the training ended before the decoder began to see its source"));
  EXPECT_THAT(trained.log, HasSubstr("model.initialization: scaled"));
  EXPECT_THAT(read_text(*folder_ / "xavier/report.html"), HasSubstr("What the decoder sees of the source"));
}

}  // namespace
}  // namespace transmute::testing
