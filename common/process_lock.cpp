// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/process_lock.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof(name) - 1);
  return name;
}

namespace {

std::string this_process() {
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", ::localtime_r(&now, &local));
  return fmt::format("process {} on {}, since {}", ::getpid(), host_name(), time.data());
}

std::string holder_in(int fd) {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size() - 1, 0);
  const std::string holder(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  return holder.empty() ? "another process" : holder.substr(0, holder.find('\n'));
}

}  // namespace

ProcessLock::ProcessLock(const std::string& path, const std::string& work) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd_ < 0) throw std::runtime_error(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  int result = -1;
  do {
    result = ::flock(fd_, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  const int error = errno;
  is_held_ = result == 0;
  if (!is_held_ && (error == EWOULDBLOCK || error == EACCES)) {
    const std::string holder = holder_in(fd_);
    ::close(fd_);
    throw std::runtime_error(fmt::format("{} is already under way: {}; wait for it or end it first", work, holder));
  }
  const std::string own = this_process() + "\n";
  if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, own.data(), own.size(), 0) < 0) return;  // only a message is lost
}

ProcessLock::~ProcessLock() {
  if (is_held_ && ::ftruncate(fd_, 0) != 0) is_held_ = false;  // the lock goes with the descriptor all the same
  ::close(fd_);
}

}  // namespace v0
}  // namespace transmute
