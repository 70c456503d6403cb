// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/signals.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>

namespace transmute {

void end_by(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t raised;
  ::sigemptyset(&raised);
  ::sigaddset(&raised, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &raised, nullptr);
  ::raise(signal);
  constexpr int kSignalExit = 128;
  ::_exit(kSignalExit + signal);  // process 1 is spared what signals do by default
}

namespace {

volatile std::sig_atomic_t received_signal = 0;
volatile std::time_t received_at = 0;
const char* last_words = "";  // of end_at_once()

const char* acknowledgement = "";

void say(const char* text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void end_at_once(int signal) {
  say(last_words);
  end_by(signal);
}

// Launchers of several processes may pass on a signal that the terminal sent to all: what comes within two seconds is
// the same wish.
void remember_signal(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (received_signal != 0 && now.tv_sec - received_at >= 2) end_by(signal);
  if (received_signal != 0) return;
  received_at = now.tv_sec;
  received_signal = signal;
  say(acknowledgement);
}

}  // namespace

void end_at_once_on_stop_signals(const char* message) {
  last_words = message;
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
}

void catch_stop_signals(const char* message) {
  acknowledgement = message;
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
}

int stop_signal() {
  return received_signal;
}

}  // namespace transmute
