// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace transmute {

/// Does what every program does around its work: parses the command line, runs `body`, and turns what it throws
/// into a message on standard error and an exit code: 0 success, 2 bad usage (std::invalid_argument, a bad
/// flag), 1 failure (everything else). The exit code of `body` is passed on.
///
/// Adds --version, and --help in one style (help.h). The footer of `app` holds examples, a line each, in which {}
/// stands for the program's name. Messages call the program what the user called it.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// The name by which the user called the program.
const std::string& program_name();

/// True if the command line has the word "--", after which no word is a flag.
bool has_end_of_flags();

/// Writes a line to standard error after the program's name, with control characters escaped as by without_control().
void note(const std::string& text);

/// The answer of a program to --version: its name, transmute's version and revision, LibTorch's if it links that, and
/// the instruction set.
std::string version_text(const std::string& program);

}  // namespace transmute
