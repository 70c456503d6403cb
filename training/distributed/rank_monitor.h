// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/training/distributed/ranks.h>
#include <transmute/training/distributed/rendezvous_store.h>

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

/// Exchanges heartbeats with the other ranks, on a thread and a connection of its own. The thread keeps the object
/// alive, so that nobody has to wait for it if the store no longer answers.
class RankMonitor {
 public:
  explicit RankMonitor(const RankOptions& options) : options_(options), beats_(static_cast<size_t>(options.size)) {}

  /// The thread's work.
  static void serve(const std::shared_ptr<RankMonitor>& self);

  /// The reason why all ranks must end; empty while nothing is wrong.
  std::string end_reason();

  /// @throws std::runtime_error with that reason, if there is one.
  void check();

  /// Tells the other ranks why this one ends, and gives them time to read it.
  void tell(const std::string& why);

  /// Ends the thread. Returns false if it hangs.
  bool stop();

 private:
  struct Beat {
    int64_t count = -1;
    std::chrono::steady_clock::duration silent{};
    std::chrono::steady_clock::time_point looked{};
  };

  bool beat(c10d::Store& store);

  void look_at(c10d::Store& store, int rank);

  // Rank 0's store ends with rank 0, which therefore waits until the others have read the reason.
  void hear_out(c10d::Store& store);

  void decide(const std::string& what);

  const RankOptions options_;
  std::vector<Beat> beats_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string end_reason_, last_words_;
  std::chrono::steady_clock::time_point last_beat_ = std::chrono::steady_clock::now(), last_asked_ = last_beat_,
                                        patient_since_ = last_beat_;
  bool stop_ = false, told_ = false, ended_ = false;
};

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
