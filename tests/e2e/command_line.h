// SPDX-License-Identifier: Apache-2.0
#pragma once

// Programs run with an untrained model that translates badly and fast.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/tests/e2e/programs.h>
#include <transmute/tests/support/tiny_network.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace transmute::testing {

/// Makes a folder with a model of tiny_tokenizer()'s vocabulary.
void write_tiny_model(const std::string& folder, const TransformerOptions& options = tiny_transformer_options());

class CommandLine : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    model_folder_ = std::make_unique<TemporaryFolder>();
    write_tiny_model(model());
  }
  static void TearDownTestSuite() { model_folder_.reset(); }

  static std::string model() { return *model_folder_ / "model"; }
  static Outcome translate(const std::string& input, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"-m", model(), "--max-extra-length", "2"});
    return run("translate", flags, input);
  }
  static Json best_translation(const std::string& line, std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--format", "json"});
    const Outcome outcome = translate(line + "\n", flags);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return parse_json(outcome.output)["hypotheses"][0];
  }

  static inline std::unique_ptr<TemporaryFolder> model_folder_;
  const TemporaryFolder folder_;
};

}  // namespace transmute::testing
