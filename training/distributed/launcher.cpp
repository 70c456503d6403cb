// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/distributed/launcher.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <transmute/common/free_port.h>
#include <transmute/training/distributed/process_group.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

using Clock = std::chrono::steady_clock;

// Only the ranks know it, and other users cannot read their environment.
std::string new_secret() {
  std::random_device random;
  std::string secret;
  for (int i = 0; i < 4; ++i) secret += fmt::format("{:08x}", random());
  return secret;
}

pid_t start_rank(const RankOptions& rank, const std::vector<std::string>& command) {
  std::vector<std::string> environment;
  const std::vector<std::pair<std::string, std::string>> own = {{"RANK", std::to_string(rank.rank)},
                                                                {"WORLD_SIZE", std::to_string(rank.size)},
                                                                {"LOCAL_RANK", std::to_string(rank.local_rank)},
                                                                {"LOCAL_WORLD_SIZE", std::to_string(rank.local_size)},
                                                                {"MASTER_ADDR", rank.address},
                                                                {"MASTER_PORT", std::to_string(rank.port)},
                                                                {kSecretVariable, rank.secret}};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name(*entry, std::strcspn(*entry, "="));
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const auto& pair) { return pair.first == name; });
    if (!replaced && name != "TORCHELASTIC_USE_AGENT_STORE") environment.emplace_back(*entry);
  }
  for (const auto& [name, value] : own) environment.push_back(name + "=" + value);
  std::vector<char*> variables, arguments;
  for (auto& entry : environment) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::vector<std::string> words = command;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  // A signal that arrives before the child has its own handlers stays blocked until then; the launcher's handler would
  // only record it.
  sigset_t stop_signals, before;
  ::sigemptyset(&stop_signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&stop_signals, signal);
  ::pthread_sigmask(SIG_BLOCK, &stop_signals, &before);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw std::runtime_error(fmt::format("no process for a rank: {}", std::strerror(errno)));
  if (child > 0) return child;
  // From here on, only functions that are safe in a forked process are called. The child gets its own process group,
  // because Ctrl-C reaches the launcher, which passes it on.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::execvpe(arguments.front(), arguments.data(), variables.data());
  ::_exit(127);
}

struct EndedRank {
  ptrdiff_t rank;
  pid_t process;
  int code;    // exit code as a shell reports it
  int signal;  // the signal that ended it; 0: none
};

// Returns the processes of `running` (by rank; 0 after it ended) that ended since the last call. Those ended by a
// signal come first: if several ended, they are the cause, and the others ended because they lost them.
std::vector<EndedRank> ended_ranks(std::vector<pid_t>& running) {
  std::vector<EndedRank> ended;
  int status = 0;
  for (pid_t process = 0; (process = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = std::find(running.begin(), running.end(), process);
    if (found == running.end()) continue;  // another child of the caller
    *found = 0;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ended.push_back({found - running.begin(), process, signal != 0 ? 128 + signal : WEXITSTATUS(status), signal});
  }
  std::stable_partition(ended.begin(), ended.end(), [](const EndedRank& rank) { return rank.signal != 0; });
  return ended;
}

}  // namespace

int run_local_ranks(int count, const std::vector<std::string>& command, double timeout_seconds,
                    const std::function<int()>& stop_signal) {
  if (count < 1) throw std::invalid_argument(fmt::format("{} local ranks; there must be one at least", count));
  RankOptions options;
  options.size = options.local_size = count;
  options.port = free_loopback_port();
  options.secret = new_secret();
  options.timeout_seconds = timeout_seconds;
  std::vector<pid_t> running;  // processes by rank; 0 after it ended
  for (; options.rank < count; options.local_rank = ++options.rank) running.push_back(start_rank(options, command));

  const auto send_to_all = [&](int signal) {
    for (const pid_t process : running)
      if (process > 0) ::kill(process, signal);
  };
  constexpr auto kPause = std::chrono::milliseconds(20);
  constexpr double kGraceSeconds = 5;
  int code = 0, left = count;
  bool passed_on = false;
  std::optional<Clock::time_point> failed;
  while (left > 0) {
    if (!passed_on && stop_signal && stop_signal() != 0) {
      passed_on = true;
      send_to_all(stop_signal());
    }
    if (failed && Clock::now() - *failed > std::chrono::duration<double>(timeout_seconds + kGraceSeconds))
      send_to_all(SIGKILL);
    const std::vector<EndedRank> ended = ended_ranks(running);
    if (ended.empty()) std::this_thread::sleep_for(kPause);
    left -= static_cast<int>(ended.size());
    for (const EndedRank& rank : ended) {
      if (rank.code == 0 || failed) continue;
      failed = Clock::now();
      code = rank.code;
      std::string what =
          fmt::format("rank {} (process {}) ended with exit code {}", rank.rank, rank.process, rank.code);
      if (rank.signal != 0) {
        what = fmt::format("rank {} (process {}) was ended by signal {} ({})", rank.rank, rank.process, rank.signal,
                           ::strsignal(rank.signal));
        // Before there is anything to save, a signal that is passed on ends each of them.
        if (passed_on && rank.signal == stop_signal()) continue;
        spdlog::error(what);  // the others have logged the reason themselves
      }
      // After a stop signal, all of them end with this code, having written a checkpoint.
      const bool stopped = rank.signal == 0 && (rank.code == 128 + SIGINT || rank.code == 128 + SIGTERM);
      if (!stopped && left > 0 && rank.rank != 0) report_lost_rank(options, what);  // without rank 0 nobody listens
    }
  }
  return code;
}

}  // namespace v0
}  // namespace transmute
