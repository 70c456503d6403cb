// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <transmute/tests/support/subprocess.h>

#include <string>
#include <vector>

namespace transmute::testing {

inline std::string program(const std::string& name) {
  return std::string(TRANSMUTE_PROGRAMS) + "/" + name;
}

/// Runs a program with these arguments and this standard input.
inline Outcome run(const std::string& name, std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), program(name));
  return run_program_with(words, input);
}

/// The standard error of a program that failed with `exit_code`, by default that of bad usage.
inline std::string refusal(const Outcome& outcome, int exit_code = 2) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.errors;
  return outcome.errors;
}
inline std::string refusal(const std::string& name, const std::vector<std::string>& words, int exit_code = 2,
                           const std::string& input = "") {
  return refusal(run(name, words, input), exit_code);
}

/// The standard error of a program that succeeded.
inline std::string messages_of(const Outcome& outcome) {
  return refusal(outcome, 0);
}

/// The standard output of a program that succeeded.
inline std::string output_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  return outcome.output;
}

/// Runs a line of shell, for at most two minutes.
inline Outcome shell(const std::string& line) {
  return run_program_with({"timeout", "120", "bash", "-c", line});
}

/// The demo corpus in small: numbers to 99, dates and times, in `folder`.
inline void make_corpus(const std::string& folder, int train_pairs) {
  const Outcome made = run("make_demo_corpus", {"--output", folder, "--max-number", "99", "--train",
                                                std::to_string(train_pairs), "--valid", "60", "--test", "200"});
  if (made.exit_code != 0) throw std::runtime_error("make_demo_corpus: " + made.errors);
}

/// Writes the config of a network that trains in seconds; `more` is YAML that is put after it.
inline std::string write_config(const TemporaryFolder& folder, const std::string& more = "") {
  const std::string path = folder / "tiny.yaml";
  write_text(path, "data:\n  folder: " + (folder / "data") +
                       "\n  train_source: train.en\n  train_target: train.de\n"
                       "  valid_source: valid.en\n  valid_target: valid.de\n"
                       "tokenizer:\n  algorithm: unigram\n  vocab_size: 200\n"
                       "model:\n  num_encoder_layers: 1\n  num_decoder_layers: 1\n  d_model: 32\n  num_heads: 2\n"
                       "  d_ff: 64\n"
                       "training:\n  batch_tokens: 512\n  max_steps: 30\n  warmup_steps: 50\n  log_every: 10\n"
                       "  checkpoint_every: 10\n  keep_checkpoints: 5\n"
                       "validation:\n  every: 1000\n" +
                       more);
  return path;
}

inline std::vector<std::string> train_command(const std::string& config, const std::string& run_folder,
                                              const std::vector<std::string>& assignments = {}) {
  std::vector<std::string> words{program("train"), "--config", config, "--run-folder", run_folder, "--threads", "2"};
  for (const auto& assignment : assignments) {
    words.push_back("--set");
    words.push_back(assignment);
  }
  return words;
}

}  // namespace transmute::testing
