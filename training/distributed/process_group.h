// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/training/distributed/ranks.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace distributed {
class Connection;
}

/// Thrown if a rank ends only because another one ended, which has logged the reason.
class OtherRankEnded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The processes that train together, on LibTorch's c10d: Gloo for the CPU, NCCL for CUDA where the LibTorch has it.
/// All of them make the same calls in the same order. A group of one needs neither and does nothing.
///
/// A lost rank ends all of them. Each gives signs of life through rank 0's store; a rank that waits for another learns
/// within RankOptions::timeout_seconds which one is lost, or at once why it ended, if it could say so.
class ProcessGroup {
 public:
  /// Waits for the others. With several ranks, the process ignores SIGPIPE from then on, unless it handles it.
  /// @throws std::runtime_error naming the ranks that did not arrive in time; std::invalid_argument for several ranks
  /// if this build's LibTorch has no c10d with Gloo.
  ProcessGroup(const RankOptions& options, torch::Device device);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  bool is_first() const { return options_.rank == 0; }

  // All functions below throw std::runtime_error naming the rank that is lost, or that ended and why.

  /// Sums `values` over all ranks, in place. The order depends on the number of ranks alone: all ranks get the same
  /// bits, in every run.
  void sum(std::vector<double>& values);

  /// Does the same for a contiguous tensor, but returns at once. `values` must not be touched before finish_sums(),
  /// which waits for all sums that were started.
  void start_sum(torch::Tensor& values);
  void finish_sums();

  /// Copies rank 0's values to all ranks.
  void broadcast(torch::Tensor& values);
  std::string broadcast(const std::string& bytes);

  /// The values of all ranks, by rank.
  std::vector<int64_t> gather(int64_t value);

  /// @throws std::runtime_error on all ranks, naming those whose number differs from rank 0's. `what` says what was
  /// compared and gives the remedy.
  void check_equal(uint64_t fingerprint, const std::string& what);

  void wait_for_all();

  /// Tells the other ranks why this one ends; they then end, too. Call it before an error leaves the training.
  void fail(const std::string& why);

 private:
  RankOptions options_;
  std::unique_ptr<distributed::Connection> connection_;  // null in a group of one
  // Sums in flight: the tensor that the connection sums, and the one that it is a copy of, if the connection does not
  // accept that device.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies_;
};

/// For a launcher: tells the ranks at the rendezvous address of `options` that one of them is lost.
void report_lost_rank(const RankOptions& options, const std::string& what);

}  // namespace v0
}  // namespace transmute
