// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace transmute {

/// Ends the process as the signal would have, even process 1 of a container. May be called in a handler of signals.
[[noreturn]] void end_by(int signal);

/// While a program has nothing to finish: SIGINT and SIGTERM end the process at once, even process 1 of a container,
/// which they do not end by default. The message, a literal, goes to standard error first.
void end_at_once_on_stop_signals(const char* message = "");

/// Asks SIGINT and SIGTERM to set a flag instead of ending the process; a second signal, seconds later, ends it
/// at once. The message, a literal, goes to standard error when the first one arrives.
void catch_stop_signals(const char* message = "");

/// The signal that arrived since catch_stop_signals(), or 0.
int stop_signal();

}  // namespace transmute
