// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/program.h>

#include <spdlog/fmt/fmt.h>

#include <csignal>
#include <ctime>
#include <iostream>
#include <stdexcept>

namespace transmute {

namespace {

volatile std::sig_atomic_t received_signal = 0;
volatile std::time_t received_at = 0;

// Launchers of several processes may pass on a signal that the terminal sent to all: what comes within two seconds is
// the same wish.
void remember_signal(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (received_signal != 0 && now.tv_sec - received_at >= 2) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  if (received_signal != 0) return;
  received_at = now.tv_sec;
  received_signal = signal;
}

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;

int report(const CLI::App& app, const std::exception& error, int code) {
  std::cout.flush();
  std::cerr << app.get_name() << ": error: " << error.what() << '\n';
  return code;
}

std::runtime_error unwritable() {
  return std::runtime_error("standard output cannot be written to (is the disk full?)");
}

}  // namespace

int run_program(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of write(), after which nothing is left behind
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& answer) {  // --help, --version
    const int code = app.exit(answer);
    return std::cout.flush() ? code : report(app, unwritable(), kExitFailure);
  } catch (const CLI::ParseError& error) {
    std::cerr << app.get_name() << ": error: " << error.what() << "\nRun '" << app.get_name()
              << " --help' for the options.\n";
    return kExitUsage;
  }
  try {
    const int code = body();
    if (!std::cout.flush()) throw unwritable();
    return code;
  } catch (const std::invalid_argument& error) {
    return report(app, error, kExitUsage);
  } catch (const std::exception& error) {
    return report(app, error, kExitFailure);
  }
}

CLI::Validator between(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return "";
    return fmt::format("must be a number between {} and {}, not {}", least, most, text);
  };
  return CLI::Validator(check, fmt::format("FLOAT in [{} - {}]", least, most));
}

void catch_stop_signals() {
  std::signal(SIGINT, remember_signal);
  std::signal(SIGTERM, remember_signal);
}

int stop_signal() {
  return received_signal;
}

}  // namespace transmute
