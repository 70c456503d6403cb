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

/// Thrown where a rank ends only because another one ended, which has said why.
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
  /// Waits for the others. With several ranks the process ignores SIGPIPE from then on, unless it handles it.
  /// @throws std::runtime_error naming the ranks that did not come in time; std::invalid_argument for several ranks
  /// where this build's LibTorch has no c10d with Gloo.
  ProcessGroup(const RankOptions& options, torch::Device device);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }
  bool is_first() const { return options_.rank == 0; }

  // All that follow throw std::runtime_error naming the rank that is lost, or that ended and why.

  /// Sums `values` over all ranks, in place. In an order that depends on the number of ranks alone: all get the same
  /// bits, in every run.
  void sum(std::vector<double>& values);

  /// The same for a tensor (contiguous), but returns at once; `values` must not be touched before finish_sums(), which
  /// waits for all that were started.
  void start_sum(torch::Tensor& values);
  void finish_sums();

  /// Rank 0's values to all.
  void broadcast(torch::Tensor& values);
  std::string broadcast(const std::string& bytes);

  /// The values that the ranks give, by rank.
  std::vector<int64_t> gather(int64_t value);

  /// @throws std::runtime_error naming the ranks whose number is not rank 0's, on all ranks. `what`: what was compared
  /// and the remedy.
  void check_equal(uint64_t fingerprint, const std::string& what);

  void wait_for_all();

  /// Tells the other ranks why this one ends; they then end, too. To be called before an error leaves the training.
  void fail(const std::string& why);

 private:
  RankOptions options_;
  std::unique_ptr<distributed::Connection> connection_;  // null in a group of one
  // On the way: what the connection sums, and what it is a copy of, where the connection takes no such device.
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies_;
};

/// For a launcher: tells the ranks that meet at the address of `options` that one of them is lost.
void report_lost_rank(const RankOptions& options, const std::string& what);

}  // namespace v0
}  // namespace transmute
