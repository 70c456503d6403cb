// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace transmute {
inline namespace v0 {

/// This machine's name, as messages and names of files say who wrote them.
std::string host_name();

/// Keeps other processes out of a place while it lives, by a lock on a file that says who holds it. The system takes
/// the lock from a process that dies. Works on NFS where its servers and clients lock files.
class ProcessLock {
 public:
  /// @param path the file, made where it is missing, and left behind
  /// @param work what messages say is under way, for example "a training in runs/mine"
  /// @throws std::runtime_error naming host and process of the holder, and since when; or if the file cannot be
  /// written.
  ProcessLock(const std::string& path, const std::string& work);
  ~ProcessLock();
  ProcessLock(const ProcessLock&) = delete;
  ProcessLock& operator=(const ProcessLock&) = delete;

  /// False if the file system has no locks: then no process is kept out.
  bool is_held() const { return is_held_; }

 private:
  int fd_ = -1;
  bool is_held_ = false;
};

}  // namespace v0
}  // namespace transmute
