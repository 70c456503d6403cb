// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Runs a program once for each of `count` ranks on this machine, with RANK and its companions in the environment and
/// a free port of the loopback interface to meet at, and waits for all. Ranks do not outlive the calling thread.
///
/// `command` is the program and its arguments. A `stop_signal` other than 0 is passed on to all, once. Where a rank
/// fails, the others are told which, and are killed where they do not end within `timeout_seconds` and a little.
/// @returns 0, or the exit code of the first rank that did not end with 0: 128 + n where signal n ended it, which of
/// several that end together counts as the first.
/// @throws std::invalid_argument if `count` is less than 1, std::runtime_error if no process can be made.
int run_local_ranks(int count, const std::vector<std::string>& command, double timeout_seconds,
                    const std::function<int()>& stop_signal);

}  // namespace v0
}  // namespace transmute
