// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/common/json.h>
#include <transmute/common/random.h>
#include <transmute/tests/support/files.h>
#include <transmute/tests/support/log_capture.h>
#include <transmute/tests/support/temporary_folder.h>
#include <transmute/training/trainer.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace transmute::testing {

/// Words to learn to copy.
inline std::string made_up_lines() {
  std::string text;
  for (uint64_t line = 0; line < 200; ++line) {
    for (uint64_t word = 0; word < 3 + line % 4; ++word)
      text += std::string(word == 0 ? "" : " ") + "w" + std::to_string(combine_keys(line, word) % 20);
    text += '\n';
  }
  return text;
}

/// Runs of a network that trains in a moment, with one thread.
class SmallTraining : public ::testing::Test {
 protected:
  void SetUp() override { write_text(folder_ / "text", made_up_lines()); }

  int train(const std::string& run, bool overlaps_steps, const std::vector<std::string>& assignments = {},
            const std::function<int()>& stop_signal = {}) {
    TrainingConfig config;
    ConfigSchema schema;
    config.declare(schema);
    std::vector<std::string> all{"data.folder=" + folder_.path(),
                                 "data.train_source=text",
                                 "data.train_target=text",
                                 "tokenizer.vocab_size=25",
                                 "model.num_encoder_layers=1",
                                 "model.num_decoder_layers=1",
                                 "model.d_model=16",
                                 "model.num_heads=2",
                                 "model.d_ff=32",
                                 "training.precision=float32",
                                 "training.batch_tokens=128",
                                 "training.max_steps=40",
                                 "training.warmup_steps=50",
                                 "training.log_every=7",
                                 "training.checkpoint_every=10",
                                 "training.clip_norm=1",
                                 "training.weight_decay=0.01"};
    all.insert(all.end(), assignments.begin(), assignments.end());
    for (const auto& assignment : all) schema.set(assignment);
    TrainerOptions options;
    options.run_folder = folder_ / run;
    options.threads = threads_;
    options.overlaps_steps = overlaps_steps;
    options.plan = plan_;
    return Trainer(config, schema.to_yaml(), options).run(stop_signal);
  }

  std::vector<Json> metrics(const std::string& run) const {
    std::istringstream lines(read_text(folder_ / (run + "/metrics.jsonl")));
    std::vector<Json> all;
    for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
    return all;
  }
  std::string checkpoint_bytes(const std::string& run, const std::string& step) const {
    const std::string checkpoint = folder_ / (run + "/checkpoints/step-" + step);
    return read_text(checkpoint + "/weights.safetensors") + read_text(checkpoint + "/optimizer.safetensors");
  }

  // The steps that metrics.jsonl has a validation of.
  std::vector<int64_t> validated(const std::string& run) const {
    std::vector<int64_t> steps;
    for (const Json& record : metrics(run))
      if (record["type"] == "validation") steps.push_back(record["step"]);
    return steps;
  }

  std::string log_of(const std::string& run, const std::vector<std::string>& assignments) {
    const LogCapture log;
    EXPECT_EQ(train(run, false, assignments), 0);
    return log.text();
  }

  std::set<std::string> checkpoints(const std::string& run) const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / (run + "/checkpoints")))
      names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  int threads_ = 1;
  std::function<void(TrainingConfig&, int64_t)> plan_;
};

}  // namespace transmute::testing
