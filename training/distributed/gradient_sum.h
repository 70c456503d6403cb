// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/training/distributed/process_group.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Sums gradients over this process's workers and over all ranks, a bucket of parameters at a time, while backward
/// still computes those of others (Li et al., "PyTorch Distributed", 2020, section 3.2.3).
///
/// Buckets follow the parameters from the last to the first, about the order in which backward completes them. They are
/// sent in this order even if they are completed in another one, so that all ranks make the same calls.
class GradientSum {
 public:
  /// Writes the sum of all workers' gradients of a parameter to `sum`: float32, of the parameter's shape.
  using AddShares = std::function<void(size_t parameter, torch::Tensor& sum)>;

  /// `group` outlives it.
  GradientSum(const std::vector<torch::Tensor>& parameters, int workers, ProcessGroup& group, AddShares add_shares);

  /// Starts the sum of a step. The last step's sum must be complete.
  void start();

  /// Reports that a worker's gradient of the parameter is complete. Called once for each worker and parameter, on any
  /// thread. The call that completes a bucket adds up its shares and sends it.
  void complete(size_t parameter);

  /// Waits for all sums. Returns them by parameter, valid until the next start().
  /// @throws as ProcessGroup::sum; std::logic_error if a gradient has not been completed.
  std::vector<torch::Tensor> finish();

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    torch::Tensor flat;        // sums of its parameters, concatenated
    int64_t missing = 0;       // number of gradients of workers still missing
    bool is_complete = false;  // and added up
  };

  ProcessGroup& group_;
  AddShares add_shares_;
  int64_t workers_;
  std::vector<torch::Tensor> sums_;  // by parameter, in flat
  std::vector<size_t> bucket_of_;    // by parameter
  std::vector<Bucket> buckets_;
  std::mutex mutex_;
  size_t next_ = 0;  // the first bucket that has not been sent
};

}  // namespace v0
}  // namespace transmute
