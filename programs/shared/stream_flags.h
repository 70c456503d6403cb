// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/shared/line_stream.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace transmute {

/// The flags for lines of the input: --invalid-utf8, --max-line-bytes.
struct LineFlags {
  std::string invalid_utf8 = "fail";
  size_t max_line_bytes = kMaxLineBytes;

  void add_to(CLI::App& app);
  LineRules rules() const;
};

/// The flags of a program that reads lines and writes lines: --input, --output, --continue, --invalid-utf8,
/// --max-line-bytes.
struct StreamFlags {
  std::string input;
  std::string output;
  bool resumes = false;
  LineFlags lines;

  /// @returns --input, so that a program can say with which other flags it does not go.
  CLI::Option* add_to(CLI::App& app);
  BlockSource open(const BeginningCheck& check = {}) const;
};

/// The lines that a program reads ahead for filling its batches: --buffer-lines.
struct BufferFlag {
  int64_t lines = 4096;

  void add_to(CLI::App& app);
};

/// The units of batches, for --help.
struct BatchUnits {
  std::string texts = "lines";
  std::string tokens = "tokens";
};

/// --batch-size, --batch-tokens.
void add_batch_flags(CLI::App& app, int64_t& batch_size, int64_t& batch_tokens, const BatchUnits& units = {});

/// --output alone.
CLI::Option* add_output_flag(CLI::App& app, std::string& output);

}  // namespace transmute
