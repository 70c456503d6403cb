// SPDX-License-Identifier: Apache-2.0
#include <transmute/tests/serving/running_serve.h>
#include <transmute/tests/support/files.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace transmute::testing {

namespace {

constexpr int kPatience = 2000;  // times 10 ms

// In the child: never returns.
[[noreturn]] void become_serve(const std::vector<std::string>& flags, const std::string& output,
                               const std::string& errors) {
  std::vector<std::string> words{std::string(TRANSMUTE_PROGRAMS) + "/serve", "--port", "0"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int mode = O_WRONLY | O_CREAT | O_APPEND;
  ::dup2(::open(output.c_str(), mode, 0600), STDOUT_FILENO);
  ::dup2(::open(errors.c_str(), mode, 0600), STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

}  // namespace

RunningServe::RunningServe(const std::vector<std::string>& flags, const std::string& errors) {
  write_text(folder_ / "output", "");
  write_text(folder_ / "errors", "");
  process_ = ::fork();
  if (process_ == 0) become_serve(flags, folder_ / "output", errors.empty() ? folder_ / "errors" : errors);
  for (int i = 0; i < kPatience && port_ == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string output = read_text(folder_ / "output");
    if (output.find('\n') != std::string::npos) port_ = std::stoi(output.substr(output.rfind(':') + 1));
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = -1;
      throw std::runtime_error(log());
    }
  }
  if (port_ == 0) throw std::runtime_error("serve does not listen: " + log());
}

RunningServe::~RunningServe() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

void RunningServe::signal(int number) const {
  ::kill(process_, number);
}

int RunningServe::wait() {
  int status = 0;
  for (int i = 0; i < 3 * kPatience; ++i) {
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("serve does not end: " + log());
}

int64_t RunningServe::resident_bytes() const {
  std::ifstream statm("/proc/" + std::to_string(process_) + "/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::string RunningServe::log() const {
  return read_text(folder_ / "errors");
}

bool RunningServe::logs(const std::string& text) const {
  for (int i = 0; i < kPatience; ++i) {
    if (log().find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace transmute::testing
