// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/distributed/meeting_point.h>
#include <transmute/training/distributed/ranks.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {
namespace distributed {

/// Signs of life, to and fro, on a thread and a connection of its own. The thread keeps the object alive: where a store
/// does not answer any more, nobody waits for it.
class Watch {
 public:
  explicit Watch(const RankOptions& options) : options_(options), beats_(static_cast<size_t>(options.size)) {}

  /// The thread's work.
  static void serve(const std::shared_ptr<Watch>& self);

  /// Why all must end; empty while nothing is wrong.
  std::string verdict();

  /// @throws std::runtime_error with the verdict, where there is one.
  void check();

  /// Has the others told why this rank ends, and waits until they can have heard it.
  void tell(const std::string& why);

  /// False where the thread hangs.
  bool stop();

 private:
  struct Beat {
    int64_t count = -1;
    std::chrono::steady_clock::time_point changed = std::chrono::steady_clock::now();
  };

  bool beat(c10d::Store& store);

  void look_at(c10d::Store& store, int rank);

  // Rank 0 takes the store along when it ends: it stays until the others have read the verdict.
  void hear_out(c10d::Store& store);

  void decide(const std::string& what);

  const RankOptions options_;
  std::vector<Beat> beats_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string verdict_, last_words_;
  std::chrono::steady_clock::time_point last_beat_ = std::chrono::steady_clock::now();
  bool stop_ = false, told_ = false, ended_ = false;
};

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
