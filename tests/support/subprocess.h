// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <sys/wait.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace transmute::testing {

/// How a program ended and what it wrote.
struct Outcome {
  int exit_code = -1;  ///< 128 + n where signal n ended it, as a shell says it
  std::string output;
  std::string errors;
};

inline std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

inline std::string command_line(const std::vector<std::string>& words) {
  std::string command;
  for (const auto& word : words) command += shell_quoted(word) + " ";
  return command;
}

/// Runs a program to its end with `input` as standard input.
inline Outcome run_program_with(const std::vector<std::string>& words, const std::string& input = "") {
  const TemporaryFolder folder;
  write_text(folder / "input", input);
  const std::string command = command_line(words) + "<" + shell_quoted(folder / "input") + " >" +
                              shell_quoted(folder / "output") + " 2>" + shell_quoted(folder / "errors");
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.output = read_text(folder / "output");
  outcome.errors = read_text(folder / "errors");
  return outcome;
}

}  // namespace transmute::testing
