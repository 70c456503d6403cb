// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/line_stream.h>
#include <transmute/programs/program.h>

#include <string>

namespace transmute {

/// The flags of a program that reads lines and writes lines: --input, --output, --invalid-utf8.
struct StreamFlags {
  std::string input;
  std::string output;
  std::string invalid_utf8 = "fail";

  /// @returns --input, so that a program can say with which other flags it does not go.
  CLI::Option* add_to(CLI::App& app);
  BlockSource open() const;
};

/// --output alone.
CLI::Option* add_output_flag(CLI::App& app, std::string& output);

/// --invalid-utf8 alone, and what it says.
void add_invalid_utf8_flag(CLI::App& app, std::string& choice);
InvalidUtf8 invalid_utf8_from(const std::string& choice);

}  // namespace transmute
