// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace transmute {

/// What every program does around its work: parses the command line, runs `body`, and turns what it throws
/// into a message on standard error and an exit code: 0 success, 2 bad usage (std::invalid_argument, a bad
/// flag), 1 failure (everything else). The exit code of `body` is passed on.
int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body);

/// A check of an option's number, which has to be finite too; CLI11's own takes "nan" for a number in any range.
CLI::Validator between(double least, double most);

/// Asks SIGINT and SIGTERM to set a flag instead of ending the process; a second signal, seconds later, ends it
/// at once.
void catch_stop_signals();

/// The signal that arrived since catch_stop_signals(), or 0.
int stop_signal();

}  // namespace transmute
