// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/files.h>
#include <transmute/tests/support/temporary_folder.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
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

/// The exit code in what wait() says of a program that ended, with 128 + n for signal n, as a shell has it.
inline int exit_code_of_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Waits for the end of a program that start_program() started.
inline int exit_code_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return exit_code_of_status(status);
}

/// Starts a program that runs beside the test. What it writes is added to the file `messages`.
inline pid_t start_program(std::vector<std::string> words, const std::string& messages) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork: no process can be started");
  if (child > 0) return child;
  const int file = open(messages.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(file, stream);
  execvp(arguments.front(), arguments.data());
  _exit(127);
}

/// Runs a program to its end with `input` as standard input.
inline Outcome run_program_with(const std::vector<std::string>& words, const std::string& input = "") {
  const TemporaryFolder folder;
  write_text(folder / "input", input);
  const std::string command = command_line(words) + "<" + shell_quoted(folder / "input") + " >" +
                              shell_quoted(folder / "output") + " 2>" + shell_quoted(folder / "errors");
  const int status = std::system(command.c_str());
  Outcome outcome;
  outcome.exit_code = exit_code_of_status(status);
  outcome.output = read_text(folder / "output");
  outcome.errors = read_text(folder / "errors");
  return outcome;
}

}  // namespace transmute::testing
