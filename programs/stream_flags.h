// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/line_stream.h>
#include <transmute/programs/program.h>

#include <string>

namespace transmute {

/// What a line of the input may be: --invalid-utf8, --max-line-bytes.
struct LineFlags {
  std::string invalid_utf8 = "fail";
  size_t max_line_bytes = kMaxLineBytes;

  void add_to(CLI::App& app);
  LineRules rules() const;
};

/// The flags of a program that reads lines and writes lines: --input, --output, --invalid-utf8, --max-line-bytes.
struct StreamFlags {
  std::string input;
  std::string output;
  LineFlags lines;

  /// @returns --input, so that a program can say with which other flags it does not go.
  CLI::Option* add_to(CLI::App& app);
  BlockSource open() const;
};

/// --output alone.
CLI::Option* add_output_flag(CLI::App& app, std::string& output);

}  // namespace transmute
