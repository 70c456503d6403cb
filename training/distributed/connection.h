// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/types.h>
#include <transmute/training/distributed/ranks.h>

#include <memory>
#include <string>

namespace transmute {
inline namespace v0 {
namespace distributed {

/// Separates the name of the rank that ended first from the reason that this rank gave.
constexpr const char* kEnded = " ended: ";

/// The part of c10d that a ProcessGroup of several ranks uses.
class Connection {
 public:
  virtual ~Connection() = default;
  void sum(const torch::Tensor& values) {
    start_sum(values);
    finish_sums();
  }
  virtual void start_sum(const torch::Tensor& values) = 0;
  virtual void finish_sums() = 0;
  virtual void broadcast(torch::Tensor& values) = 0;
  /// True if it accepts tensors on that device without a copy.
  virtual bool takes(torch::Device device) const = 0;
  virtual void fail(const std::string& why) = 0;
};

/// Waits for the other ranks.
/// @throws as ProcessGroup's constructor.
std::unique_ptr<Connection> connect_ranks(const RankOptions& options, torch::Device device);

}  // namespace distributed
}  // namespace v0
}  // namespace transmute
