// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/tests/support/temporary_folder.h>

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace transmute::testing {

/// The program serve, on any free port of this machine. Killed where it still runs at the end.
class RunningServe {
 public:
  /// Waits until it listens. `flags` are all but --port.
  /// @param errors the file for its standard error, in place of one that log() reads
  /// @throws std::runtime_error with what it wrote, where it does not come to that.
  explicit RunningServe(const std::vector<std::string>& flags, const std::string& errors = "");
  ~RunningServe();
  RunningServe(const RunningServe&) = delete;
  RunningServe& operator=(const RunningServe&) = delete;

  int port() const { return port_; }
  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void signal(int number) const;
  /// Its exit status, 128 + n where signal n ended it, once it ends by itself.
  int wait();
  int64_t resident_bytes() const;
  /// Its output on standard error so far.
  std::string log() const;
  /// Waits until the log has `text`; false where that takes 20 seconds.
  bool logs(const std::string& text) const;

 private:
  TemporaryFolder folder_;
  pid_t process_ = -1;
  int port_ = 0;
};

}  // namespace transmute::testing
