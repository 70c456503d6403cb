// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <transmute/common/process_lock.h>
#include <transmute/tests/support/errors.h>
#include <transmute/tests/support/temporary_folder.h>
#include <unistd.h>

#include <csignal>

namespace transmute {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

// A process that holds the lock until it is told to end.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    int ready[2];
    if (pipe(ready) != 0) throw std::runtime_error("pipe");
    child_ = fork();
    if (child_ == 0) {
      const ProcessLock lock(path, "a test");
      const char byte = 1;
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      pause();
      _exit(0);
    }
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) throw std::runtime_error("the holder failed");
    close(ready[0]);
    close(ready[1]);
  }
  ~Holder() { kill(); }
  pid_t process() const { return child_; }
  void kill() {
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
};

TEST(ProcessLock, NamesTheProcessThatHoldsItAndEndsWithIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "lock";
  Holder holder(path);
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  EXPECT_THAT(message_of<std::runtime_error>([&] { ProcessLock(path, "a training in x"); }),
              AllOf(HasSubstr("a training in x is already under way: process " + std::to_string(holder.process())),
                    HasSubstr(std::string("on ") + host + ", since 20")));
  holder.kill();
  EXPECT_TRUE(ProcessLock(path, "a training").is_held()) << "kill -9 leaves no lock behind";
  EXPECT_TRUE(ProcessLock(path, "a training").is_held());
}

}  // namespace
}  // namespace transmute
